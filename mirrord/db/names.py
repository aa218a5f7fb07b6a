"""Names in use below a page or folder."""

from collections.abc import Sequence

from mirrord.db.connect import Connection
from mirrord.domain.entry import EntryId, TenantId

_PAGES = """
SELECT name_key FROM mirrord.page
 WHERE tenant_id = %s AND parent_key = coalesce(%s, '00000000-0000-0000-0000-000000000000'::uuid)
   AND name_key = ANY (%s) AND id <> %s"""
_ATTACHMENTS = _PAGES.replace("mirrord.page", "mirrord.attachment")


async def load_names_in_use(
    connection: Connection,
    tenant: TenantId,
    entry: EntryId,
    parent: EntryId | None,
    keys: Sequence[str],
    *,
    attachment: bool,
) -> set[str]:
    """The keys among *keys* used by entries other than *entry* below *parent* (None: the root)."""
    cursor = await connection.execute(_ATTACHMENTS if attachment else _PAGES, (tenant, parent, list(keys), entry))
    return {key for (key,) in await cursor.fetchall()}
