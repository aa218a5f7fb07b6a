"""Tables of entries: which kind is where, the SQL that records a base, taken names, locked rows."""

from collections.abc import Sequence

from mirrord.db.database import Connection, Database
from mirrord.domain.entry import EntryId, Kind, TenantId

_UPSERT_BASE = """
INSERT INTO mirrord.mirror_base AS b
    (tenant_id, mirror_id, entry_id, kind, path, parent_id, name, index, version, digest, claimed, saved)
SELECT %(tenant)s, %(mirror)s, %(entry)s, %(kind)s, %(path)s, %(base_parent)s, %(base_name)s, %(base_index)s,
       written.version, %(base_digest)s, %(claimed)s, {saved}
FROM written
ON CONFLICT (tenant_id, mirror_id, entry_id) DO UPDATE SET
    kind = EXCLUDED.kind, path = EXCLUDED.path, parent_id = EXCLUDED.parent_id, name = EXCLUDED.name,
    index = EXCLUDED.index, version = EXCLUDED.version, digest = EXCLUDED.digest, claimed = EXCLUDED.claimed,
    saved = coalesce(EXCLUDED.saved, b.saved)
RETURNING b.version
"""
UPSERT_SAVED = _UPSERT_BASE.format(saved="written.version")  # the version is that of the file's content
UPSERT_MOVED = _UPSERT_BASE.format(saved="NULL::bigint")  # no new text
UPSERT_AGREED = _UPSERT_BASE.format(saved="%(saved)s::bigint")  # NULL: keep the version saved in the file before
WHERE_EXPECTED = "WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(expected)s RETURNING version"

TABLES = ("page", "attachment", "record")


def table_of(kind: Kind) -> str:
    """The table of entries of *kind*; folders are pages without a text."""
    return {Kind.ATTACHMENT: "attachment", Kind.RECORD: "record"}.get(kind, "page")


def position_sql(text_position: str = "%(position)s", row: str = "page") -> str:
    """
    SQL: a page's position, given *text_position* in its text (NULL: none). A position that no text ever set is kept.
    """
    row_position = f"coalesce({text_position}, {row}.position)"
    return f"CASE WHEN {row}.frontmatter ? 'position' THEN {text_position} ELSE {row_position} END"


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


_FREE = "SELECT id FROM mirrord.{} WHERE tenant_id = %s AND id = ANY (%s) FOR NO KEY UPDATE SKIP LOCKED"


async def load_locked_rows(database: Database, tenant: TenantId, entries: Sequence[EntryId]) -> set[EntryId]:
    """The entries among *entries* whose row another transaction has locked."""
    async with database.transaction(tenant) as connection:
        existing, free = set[EntryId](), set[EntryId]()
        for table in TABLES:
            rows = await connection.execute(
                f"SELECT id FROM mirrord.{table} WHERE tenant_id = %s AND id = ANY (%s)", (tenant, list(entries))
            )
            unlocked = await connection.execute(_FREE.format(table), (tenant, list(entries)))
            existing |= {row[0] for row in await rows.fetchall()}
            free |= {row[0] for row in await unlocked.fetchall()}
    return existing - free
