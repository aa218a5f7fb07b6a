"""`mirrord migrate`, `dsn` and `psql`: the database's schema and connections to it."""

import os
import shlex
from collections.abc import Sequence

import click

from mirrord import app
from mirrord.cli.options import find_tenant, run, tenant_option, with_config_options
from mirrord.config import Config
from mirrord.db import migrate as migrations
from mirrord.db.connect import app_dsn, daemon_dsn
from mirrord.db.embedded import EmbeddedPostgres
from mirrord.errors import Unavailable


@click.command()
@with_config_options
def migrate(config: Config) -> None:
    """Bring the database's schema up to date."""

    async def work() -> list[str]:
        postgres = app.Postgres(config)
        running = postgres.embedded is None or postgres.embedded.is_running
        await postgres.start()
        try:
            return await migrations.migrate(postgres.dsn)
        finally:
            if not running:
                await postgres.stop()

    applied = run(work())
    click.echo("\n".join(f"applied {name}" for name in applied) or "The schema is up to date.")


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
        return daemon_dsn(postgres.working_dsn)
    async with app.open_database(config) as database:
        _, tenant = await find_tenant(database, config, name)
    return app_dsn(postgres.dsn, tenant)
