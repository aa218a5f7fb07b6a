"""`mirrord migrate`, `dsn`, `psql`, `init` and `tenant`: the database and its tenants."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from mirrord import app
from mirrord.cli.options import Group, find_tenant, run, tenant_option, with_config_options
from mirrord.config import Config
from mirrord.db import migrate as migrations
from mirrord.db import tenant_rows
from mirrord.db.database import app_dsn, daemon_dsn
from mirrord.db.server.embedded_server import EmbeddedPostgres
from mirrord.errors import Unavailable


@click.command()
@with_config_options
@click.option("--policies", is_flag=True, help="Also restore the policies that keep tenants apart.")
@click.option("--citus", is_flag=True, help="Spread the tables over the nodes of a Citus cluster; again for new nodes.")
def migrate(config: Config, policies: bool, citus: bool) -> None:
    """Bring the database's schema up to date."""

    async def work() -> list[str]:
        postgres = app.Postgres(config)
        running = postgres.embedded is None or postgres.embedded.is_running
        await postgres.start()
        try:
            applied = await migrations.migrate(postgres.dsn, onto_cluster=citus)
            if policies:
                await migrations.restore_policies(postgres.dsn)
            return applied
        finally:
            if not running:
                await postgres.stop()

    applied = run(work())
    click.echo("\n".join(f"applied {name}" for name in applied) or "The schema is up to date.")
    if policies:
        click.echo("The policies are restored.")


@click.command()
@with_config_options
@tenant_option
@click.option("--daemon", is_flag=True, help="Use the daemon's role instead of the app's.")
def dsn(config: Config, tenant: str | None, daemon: bool) -> None:
    """Print the libpq connection string for an app."""
    click.echo(run(_find_dsn(config, tenant, daemon=daemon)))


@click.command(context_settings={"ignore_unknown_options": True})
@with_config_options
@tenant_option
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def psql(config: Config, tenant: str | None, arguments: Sequence[str]) -> None:
    """Open psql as an app of the tenant. ARGUMENTS are passed to psql."""
    target = run(_find_dsn(config, tenant, daemon=False))
    program = str(EmbeddedPostgres.program_path("psql")) if config.dsn is None else "psql"
    try:
        os.execvp(program, [program, target, *arguments])
    except OSError as error:
        raise Unavailable(
            f"psql cannot be run: {error.strerror}. The connection string is: {shlex.quote(target)}"
        ) from error


async def _find_dsn(config: Config, name: str | None, *, daemon: bool) -> str:
    """The connection string. Raises Unavailable while Postgres is stopped."""
    postgres = app.Postgres(config)
    if postgres.embedded is not None and not postgres.embedded.is_running:
        raise Unavailable("The embedded Postgres runs only while the daemon does. Start it with `mirrord up`.")
    if daemon:
        await postgres.log_in()
        return daemon_dsn(postgres.session_dsn)
    async with app.open_database(config) as database:
        _, tenant = await find_tenant(database, config, name)
    return app_dsn(postgres.dsn, tenant)


_TOKENS = {
    "token": "mirrord.cli.host.token_commands:token",
    "tokens": "mirrord.cli.host.token_commands:tokens",
    "revoke": "mirrord.cli.host.token_commands:revoke",
    "clients": "mirrord.cli.host.delegation_command:clients",
}


@click.command()
@with_config_options
@click.argument("name")
def init(config: Config, name: str) -> None:
    """Create the tenant NAME and the directory of its tree."""

    async def work() -> Path:
        async with app.open_database(config) as database:
            await tenant_rows.ensure_tenant(database, name)
        return app.make_root(config, name)

    root = run(work())
    click.echo(f"Tenant {name} is ready. Put Markdown files into {root} and run `mirrord up`.")


@click.group(cls=Group, elsewhere=_TOKENS)
def tenant() -> None:
    """Manage tenants and tokens for their agents."""


@tenant.command("add")
@with_config_options
@click.argument("name")
def add_tenant(config: Config, name: str) -> None:
    """Add the tenant NAME."""

    async def work() -> None:
        async with app.open_database(config) as database:
            await tenant_rows.ensure_tenant(database, name)

    run(work())
    click.echo(f"Tenant {name} exists. A running daemon mirrors it after its next start.")


@tenant.command("list")
@with_config_options
def list_tenants(config: Config) -> None:
    """List the tenants with their ids."""

    async def work() -> dict[str, Any]:
        async with app.open_database(config) as database:
            return dict(await tenant_rows.load_tenants(database))

    for name, tenant_id in run(work()).items():
        click.echo(f"{name}\t{tenant_id}")
