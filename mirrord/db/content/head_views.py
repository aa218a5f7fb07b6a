"""
The title and properties of pages in whose front matter an earlier version saw none.

Every other page gets them with its text.
"""

from collections.abc import Sequence

from psycopg.types.json import Jsonb

from mirrord.db.content.entry_tables import position_sql
from mirrord.db.content.entry_writes import PageValues
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, TenantId

_STORE_VIEWS = f"""
UPDATE mirrord.page SET title = coalesce(%(title)s, name), icon = %(icon)s, position = {position_sql()},
       frontmatter = %(frontmatter)s
 WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(version)s AND ahead = '{{}}'
   AND frontmatter IS DISTINCT FROM %(frontmatter)s"""


async def store_views(
    connection: Connection, tenant: TenantId, pages: Sequence[tuple[EntryId, int, PageValues]]
) -> None:
    """Store what the texts of pages say, as (entry, version, values), under their versions; others are skipped."""
    for entry, version, values in pages:
        row = {
            "tenant": tenant,
            "entry": entry,
            "version": version,
            "title": values.title,
            "icon": values.icon,
            "position": values.position,
            "frontmatter": Jsonb(values.frontmatter) if values.frontmatter is not None else None,
        }
        await connection.execute(_STORE_VIEWS, row)
