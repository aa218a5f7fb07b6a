"""Rows as an app sees them."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import class_row

Connection = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Page:
    """A page's row. content: None while it is being derived."""

    id: UUID
    parent_id: UUID | None
    kind: str
    name: str
    markdown: str | None
    content: dict[str, Any] | None
    ahead: list[str]
    version: int
    deleted: bool


_COLUMNS = "id, parent_id, kind, name, markdown, content, ahead, version, deleted_at IS NOT NULL AS deleted"

WALK_SQL = f"""
WITH RECURSIVE walk (id, depth) AS (
    SELECT NULL::uuid, 0
    UNION ALL
    SELECT page.id, walk.depth + 1
      FROM walk JOIN mirrord.page ON page.parent_id IS NOT DISTINCT FROM walk.id
     WHERE page.name = (%(names)s::text[])[walk.depth + 1] AND page.deleted_at IS NULL)
SELECT {_COLUMNS} FROM mirrord.page
 WHERE id = (SELECT id FROM walk WHERE depth = cardinality(%(names)s::text[]))
"""


# Whether links and searches know everything that the tenant has by now.
_ARE_FOLLOWED = """
SELECT NOT EXISTS (SELECT FROM mirrord.entry_feed AS f JOIN mirrord.link_cursor AS c USING (tenant_id)
                    WHERE (f.seq, f.entry_id) > (c.seq, c.entry_id))
   AND NOT EXISTS (SELECT FROM mirrord.page_link WHERE due)
   AND NOT EXISTS (SELECT FROM mirrord.search_due)"""


def are_rows_followed(app: Connection) -> bool:
    """Whether links and searches know all rows of the app's tenant; they follow a moment after the rows."""
    row = app.execute(_ARE_FOLLOWED).fetchone()
    return row is not None and bool(row[0])


def page_at(connection: Connection, path: str) -> Page | None:
    """The living page at *path* in the tree, `.md` and `/_index.md` optional; None: there is none."""
    names = path.removesuffix(".md").removesuffix("/_index").split("/")
    with connection.cursor(row_factory=class_row(Page)) as cursor:
        return cursor.execute(WALK_SQL, {"names": names}).fetchone()


def page_of(connection: Connection, page: UUID) -> Page | None:
    """The page with that id, deleted ones too; None: there is none."""
    with connection.transaction(), connection.cursor(row_factory=class_row(Page)) as cursor:
        return cursor.execute(f"SELECT {_COLUMNS} FROM mirrord.page WHERE id = %s", [page]).fetchone()
