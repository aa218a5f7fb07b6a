"""The commands of `mirrord`, each a few lines around what it calls."""

import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from mirrord import __version__, app
from mirrord.cli import halts as halting
from mirrord.cli import history, options, tokens
from mirrord.cli import links as linked
from mirrord.cli.approvals import approvals, notifications
from mirrord.cli.collections import categories, collections
from mirrord.cli.conflicts import conflicts
from mirrord.cli.folders import folders
from mirrord.cli.options import Group, configured, run, tenant_option, the_tenant
from mirrord.cli.sources import sources
from mirrord.codec.json_schema import json_schema
from mirrord.config import Config
from mirrord.db import migrate, tenants
from mirrord.db.connect import app_dsn, daemon_dsn
from mirrord.db.embedded import Embedded
from mirrord.errors import Unavailable
from mirrord.mirror.heartbeat import ask_flush
from mirrord.mirror.process import prepare_process
from mirrord.mirror.tree import Tree
from mirrord.sync.check import Finding, Verdict
from mirrord.sync.check import check as compare


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="`mirrord mcp` serves agents; `mirrord mcp --help` says how.",
)
@click.version_option(__version__, prog_name="mirrord")
def cli() -> None:
    """Keep a tree of Markdown files and Postgres in bidirectional sync."""
    prepare_process()


for topic in (conflicts, history.history, history.diff, history.restore, folders, sources, collections, categories):
    cli.add_command(topic)

for topic in (approvals, notifications):
    cli.add_command(topic)


@cli.command()
@configured
@click.option("--tenant", "tenants", multiple=True, help="Mirror only these; made if new. Default: all there are.")
@click.option(
    "--fill", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Copied into an empty tree."
)
@click.option("--plain", is_flag=True, help="No live view; log lines on standard error, as under a service manager.")
def up(config: Config, fill: Path | None, plain: bool) -> None:
    """Run the daemon in the foreground until Ctrl-C."""
    from mirrord.cli.up import serve  # noqa: PLC0415  (rich and watchfiles are for this command only)

    serve(config, fill, plain=plain or not sys.stderr.isatty())


@cli.command()
@configured
@click.argument("name")
def init(config: Config, name: str) -> None:
    """Make the tenant NAME and the directory of its tree."""

    async def work() -> Path:
        async with app.opened(config) as database:
            await tenants.add(database, name)
        return app.make_root(config, name)

    root = run(work())
    click.echo(f"Tenant {name} is ready. Put Markdown files into {root} and run `mirrord up`.")


@cli.group()
def tenant() -> None:
    """Tenants: add, list; tokens for their agents."""


for topic in (tokens.token, tokens.revoke):
    tenant.add_command(topic)


@tenant.command("add")
@configured
@click.argument("name")
def add_tenant(config: Config, name: str) -> None:
    """Make the tenant NAME."""

    async def work() -> None:
        async with app.opened(config) as database:
            await tenants.add(database, name)

    run(work())
    click.echo(f"Tenant {name} exists. A running daemon mirrors it after its next start.")


@tenant.command("list")
@configured
def list_tenants(config: Config) -> None:
    """Every tenant with its id."""

    async def work() -> dict[str, Any]:
        async with app.opened(config) as database:
            return dict(await tenants.names(database))

    for name, found in run(work()).items():
        click.echo(f"{name}\t{found}")


@cli.command("migrate")
@configured
def migrate_command(config: Config) -> None:
    """Bring the database's schema up to date."""

    async def work() -> list[str]:
        postgres = app.Postgres(config)
        running = postgres.embedded is None or postgres.embedded.running
        await postgres.start()
        try:
            return await migrate.migrate(postgres.dsn)
        finally:
            if not running:
                await postgres.stop()

    applied = run(work())
    click.echo("\n".join(f"applied {name}" for name in applied) or "The schema is up to date.")


@cli.command()
@configured
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def status(config: Config, as_json: bool) -> None:
    """What is in sync, what waits, what needs you."""
    from mirrord.cli.status import describe, gather  # noqa: PLC0415  (rich is for people's output only)

    found = run(gather(config))
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        describe(found)


@cli.command()
@configured
@click.option("--timeout", default=60.0, show_default=True, help="Seconds to wait.")
def flush(config: Config, timeout: float) -> None:
    """Return when every change known now is on both sides."""
    try:
        ask_flush(config.mirror, timeout)
    except TimeoutError:
        raise Unavailable(
            f"After {timeout:g} s not everything is on both sides yet; `mirrord status` says what waits."
        ) from None


@cli.command()
@configured
@tenant_option
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("--all", "everything", is_flag=True, help="Also what is equal.")
def check(config: Config, tenant: str | None, as_json: bool, everything: bool) -> int:
    """Compare every file with its row, byte for byte. Exit code 1 if anything differs."""

    async def work() -> dict[str, list[Finding]]:
        async with app.opened(config) as database:
            known = await tenants.names(database)
            chosen = dict([await the_tenant(database, config, tenant)]) if tenant or config.tenants else known
            found = {}
            for name, one in chosen.items():
                if not tenant and not (config.mirror / name).is_dir():
                    click.echo(f"{name}: no tree below {config.mirror}", err=True)
                    continue
                tree = Tree(config.mirror / name)
                try:
                    found[name] = await compare(database, one, tree)
                finally:
                    tree.close()
            return found

    return _report(run(work()), as_json=as_json, everything=everything)


def _report(found: dict[str, list[Finding]], *, as_json: bool, everything: bool) -> int:
    odd = {name: [one for one in findings if one.verdict is not Verdict.OK] for name, findings in found.items()}
    shown = found if everything else odd
    if as_json:
        listed = {name: [{"path": one.path, "verdict": one.verdict} for one in shown[name]] for name in shown}
        click.echo(json.dumps(listed, indent=2))
    else:
        for name, findings in shown.items():
            for one in findings:
                click.echo(f"{one.verdict:8} {name}/{one.path}")
        for name, findings in found.items():
            click.echo(f"{name}: {len(findings) - len(odd[name])} of {len(findings)} equal", err=True)
    return options.DIFFERENT if any(odd.values()) else 0


@cli.command()
@configured
@tenant_option
@click.argument("page", required=False)
@click.option("--unresolved", is_flag=True, help="Only links that mean nothing, or several pages equally well.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def links(config: Config, tenant: str | None, page: str | None, unresolved: bool, as_json: bool) -> None:
    """The links in PAGE (a path, a title or an id) and those that lead to it; without PAGE, all links."""

    async def work() -> linked.Links:
        async with app.opened(config) as database:
            _, one = await the_tenant(database, config, tenant)
            async with database.transaction(one) as connection:
                return await linked.gather(connection, one, page, unresolved=unresolved)

    found = run(work())
    if as_json:
        click.echo(json.dumps(linked.as_json(found), indent=2))
    else:
        linked.describe(found)


for command in (halting.halts, halting.resume, halting.adopt, halting.restore_all):
    cli.add_command(command)


@cli.command()
@configured
@tenant_option
@click.option("--daemon", is_flag=True, help="As the daemon's role instead of the app's.")
def dsn(config: Config, tenant: str | None, daemon: bool) -> None:
    """Print the libpq string for an app of the tenant."""
    click.echo(run(_dsn(config, tenant, daemon=daemon)))


@cli.command(context_settings={"ignore_unknown_options": True})
@configured
@tenant_option
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def psql(config: Config, tenant: str | None, arguments: Sequence[str]) -> None:
    """Open psql as an app of the tenant; further ARGUMENTS go to psql."""
    target = run(_dsn(config, tenant, daemon=False))
    program = str(Embedded.binary("psql")) if config.dsn is None else "psql"
    try:
        os.execvp(program, [program, target, *arguments])
    except OSError as error:
        raise Unavailable(f"psql cannot be run: {error.strerror}. The string is: {shlex.quote(target)}") from error


@cli.command()
def schema() -> None:
    """Print the JSON Schema of `page.content`, the document an editor reads and writes."""
    click.echo(json.dumps(json_schema(), indent=2))


async def _dsn(config: Config, name: str | None, *, daemon: bool) -> str:
    """The string is of use only while Postgres runs."""
    postgres = app.Postgres(config)
    if postgres.embedded is not None and not postgres.embedded.running:
        raise Unavailable("The embedded Postgres runs only while the daemon does. Start it with `mirrord up`.")
    if daemon:
        return daemon_dsn(postgres.embedded.dsn("mirrord_daemon") if postgres.embedded else postgres.dsn)
    async with app.opened(config) as database:
        _, tenant = await the_tenant(database, config, name)
    return app_dsn(postgres.dsn, tenant)
