"""What a share shows: whether entries are inside its page, and where the links of a page lead."""

from collections.abc import Collection
from uuid import UUID

from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId

# Links are few, and so are their targets: each is followed up to the shared page, or to the root.
_INSIDE = """
WITH RECURSIVE up (id, above) AS (
    SELECT id, id FROM mirrord.page
     WHERE tenant_id = mirrord.current_tenant() AND id = ANY (%(pages)s) AND deleted_at IS NULL
    UNION
    SELECT up.id, p.parent_id FROM up
      JOIN mirrord.page AS p ON p.tenant_id = mirrord.current_tenant() AND p.id = up.above AND p.deleted_at IS NULL
     WHERE up.above <> %(root)s AND p.parent_id IS NOT NULL)
SELECT id FROM up WHERE above = %(root)s"""
_FILES = """
SELECT DISTINCT l.kind, l.target, a.id FROM mirrord.page_link AS l
  JOIN mirrord.attachment AS a ON a.tenant_id = l.tenant_id AND a.id = l.target_id
 WHERE l.tenant_id = mirrord.current_tenant() AND l.source_id = %s AND a.deleted_at IS NULL"""
_PAGES = """
SELECT DISTINCT l.kind, l.target, l.target_id FROM mirrord.page_link AS l
  JOIN mirrord.page AS p ON p.tenant_id = l.tenant_id AND p.id = l.target_id
 WHERE l.tenant_id = mirrord.current_tenant() AND l.source_id = %s AND p.deleted_at IS NULL"""

LinkTarget = tuple[str, str, EntryId]  # kind and target as written, and the entry that is meant


async def load_inside(connection: Connection, root: UUID, pages: Collection[UUID]) -> set[EntryId]:
    """Those of *pages* that are the page *root* or below it."""
    values = {"root": root, "pages": list(pages)}
    return {row[0] for row in await (await connection.execute(_INSIDE, values)).fetchall()}


async def load_linked_pages(connection: Connection, page: UUID) -> list[LinkTarget]:
    """The pages that the text of *page* links to."""
    return await (await connection.execute(_PAGES, (page,))).fetchall()


async def load_linked_files(connection: Connection, page: UUID) -> list[LinkTarget]:
    """The attachments that the text of *page* shows or links to."""
    return await (await connection.execute(_FILES, (page,))).fetchall()
