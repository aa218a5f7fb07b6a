"""`mirrord console`: the web console on its own, and sign-in links."""

import asyncio
import signal

import click

from mirrord import app
from mirrord.auth.roles import Role
from mirrord.auth.sign_in import INVITATION_SECONDS, Gate
from mirrord.cli.console import people_commands, sharing_commands
from mirrord.cli.console.console_address import console_url
from mirrord.cli.options import find_tenant, run, tenant_option, with_config_options
from mirrord.cli.output import current_person
from mirrord.config import Config
from mirrord.domain.entry import TenantId
from mirrord.errors import Unavailable, UserError
from mirrord.telemetry.process_reports import log_to
from mirrord.web.console_server import place_of, serve_console, sign_in_url


@click.group(invoke_without_command=True)
@with_config_options
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port on loopback; default: as configured; 0: any free port."
)
def console(config: Config, port: int | None) -> None:
    """Serve the console without a daemon, until Ctrl-C. Files are updated only by a running daemon."""
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        log_to(config.data / "console.log")
        asyncio.run(_serve_console(config, config.console.port if port is None else port))
    elif any(value is not None for value in context.params.values()):
        raise UserError(f"Put options after the subcommand: `mirrord console {context.invoked_subcommand} …`.")


for command in (
    sharing_commands.share_page,
    sharing_commands.publish_page,
    sharing_commands.list_shares,
    sharing_commands.revoke_share,
    people_commands.people,
):
    console.add_command(command)


@console.command("link")
@with_config_options
@tenant_option
@click.option("--name", help="Name of the person in the history; default: yours.")
@click.option(
    "--role", type=click.Choice([role.value for role in Role]), help="In the tenant of --tenant; default: writer."
)
def print_link(config: Config, tenant: str | None, name: str | None, role: str | None) -> None:
    """
    Print a link that signs one person in, once.

    The person can see and decide everything in all tenants; with --tenant only what --role allows in that one.
    """
    if role is not None and tenant is None:
        raise UserError("A role is one in a tenant: add --tenant, or leave --role out for an operator of all tenants.")
    gate = Gate(config.data)
    tenant_id = run(_find_tenant(config, tenant)) if tenant is not None else None
    token = gate.invite(name or current_person().name, tenant_id, role=Role(role or Role.WRITER))
    click.echo(sign_in_url(console_url(config), token))
    click.echo(f"It works once, within {INVITATION_SECONDS // 3600} hours.", err=True)


async def _find_tenant(config: Config, name: str) -> TenantId:
    async with app.open_database(config) as database:
        return (await find_tenant(database, config, name))[1]


async def _serve_console(config: Config, port: int) -> None:
    stop = asyncio.Event()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signal_number, stop.set)
    gate = Gate(config.data)

    def announce(url: str) -> None:
        click.echo(f"Console: {sign_in_url(url, gate.invite(current_person().name, None))}")

    async with app.running_postgres(config) as postgres:
        await app.bring_up_to_date(postgres)
        try:
            place = place_of(config, port)
            await serve_console(place, postgres.session_dsn, gate, stop, announce)
        except Unavailable as error:
            raise Unavailable(f"The console is not served: {error} Choose another port: `--port`.") from error
