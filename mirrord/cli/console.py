"""`mirrord console`: the console by itself, against a database; and links that let people in."""

import asyncio
import signal

import click

from mirrord import app
from mirrord.cli.options import configured, run, tenant_option, the_tenant
from mirrord.cli.output import the_person
from mirrord.config import Config
from mirrord.domain.entry import TenantId
from mirrord.errors import Unavailable, UserError
from mirrord.telemetry.logs import log_to
from mirrord.web.gate import INVITATION, Gate
from mirrord.web.serving import Place, last_url, link, serve_console, url_of


@click.group(invoke_without_command=True)
@configured
@click.option("--port", type=click.IntRange(0, 65535), help="On loopback; default: as configured; 0: any free one.")
def console(config: Config, port: int | None) -> None:
    """Serve the console by itself, until Ctrl-C. Files follow what is written while a daemon runs somewhere."""
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        log_to(config.data / "console.log")
        asyncio.run(_serve(config, config.console.port if port is None else port))
    elif any(value is not None for value in context.params.values()):
        raise UserError(f"Put options after the subcommand: `mirrord console {context.invoked_subcommand} …`.")


@console.command("link")
@configured
@tenant_option
@click.option("--name", help="What they are called in the history; default: you.")
def print_link(config: Config, tenant: str | None, name: str | None) -> None:
    """
    Print a link that lets somebody in, once.

    Whoever follows it sees all tenants and decides about them; with --tenant only that one, as if there were no other.
    """
    gate = Gate(config.data)
    token = gate.invite(name or the_person().name, run(_tenant(config, tenant)) if tenant is not None else None)
    click.echo(link(last_url(config.data) or url_of(config.console.port), token))
    click.echo(f"It works once, within {INVITATION // 3600} hours.", err=True)


async def _tenant(config: Config, name: str) -> TenantId:
    async with app.opened(config) as database:
        return (await the_tenant(database, config, name))[1]


async def _serve(config: Config, port: int) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    gate = Gate(config.data)

    def told(url: str) -> None:
        click.echo(f"Console: {link(url, gate.invite(the_person().name, None))}")

    async with app.served(config) as postgres:
        await app.bring_up_to_date(postgres)
        try:
            await serve_console(Place(port, config.data, config.console.hosts), postgres.working_dsn, gate, stop, told)
        except Unavailable as error:
            raise Unavailable(f"The console is not served: {error} Choose another port: `--port`.") from error
