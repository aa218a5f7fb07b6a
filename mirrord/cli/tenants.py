"""`mirrord init` and `mirrord tenant`: manage tenants, and tokens for their agents."""

from pathlib import Path
from typing import Any

import click

from mirrord import app
from mirrord.cli.options import Group, run, with_config_options
from mirrord.config import Config
from mirrord.db import tenants

_TOKENS = {"token": "mirrord.cli.tokens:token", "revoke": "mirrord.cli.tokens:revoke"}


@click.command()
@with_config_options
@click.argument("name")
def init(config: Config, name: str) -> None:
    """Create the tenant NAME and the directory of its tree."""

    async def work() -> Path:
        async with app.open_database(config) as database:
            await tenants.ensure_tenant(database, name)
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
            await tenants.ensure_tenant(database, name)

    run(work())
    click.echo(f"Tenant {name} exists. A running daemon mirrors it after its next start.")


@tenant.command("list")
@with_config_options
def list_tenants(config: Config) -> None:
    """List the tenants with their ids."""

    async def work() -> dict[str, Any]:
        async with app.open_database(config) as database:
            return dict(await tenants.load_tenants(database))

    for name, tenant_id in run(work()).items():
        click.echo(f"{name}\t{tenant_id}")
