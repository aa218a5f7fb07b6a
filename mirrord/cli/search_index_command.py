"""`mirrord rebuild-search`: index the words of every page again."""

import click

from mirrord.cli.options import tenant_option, with_config_options
from mirrord.cli.tenant_database import run_with_database
from mirrord.config import Config
from mirrord.db.content.search_index import index_batch, mark_all_due
from mirrord.db.database import Database
from mirrord.domain.entry import TenantId


@click.command("rebuild-search")
@with_config_options
@tenant_option
def rebuild_search(config: Config, tenant: str | None) -> None:
    """Index the words of every page again. Edits and searches go on meanwhile."""
    click.echo(f"{run_with_database(config, tenant, _rebuild_index)} pages indexed")


async def _rebuild_index(database: Database, tenant: TenantId) -> int:
    """Index all pages, a transaction a batch; returns their number."""
    async with database.transaction(tenant) as connection:
        pages = await mark_all_due(connection)
    remaining = None
    while True:
        async with database.transaction(tenant) as connection:
            due = await index_batch(connection, tenant)
        if due in (0, remaining):  # pages that others have locked are left to the daemon
            return pages - due
        remaining = due
