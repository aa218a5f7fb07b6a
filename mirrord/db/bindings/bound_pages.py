"""Pages as a binding writes them: as an app, through the interface that every app has."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import orjson

from mirrord.db.bindings.binding_rows import BindingRow
from mirrord.db.bindings.page_state import PageState
from mirrord.db.database import APP_ROLE, DAEMON_ROLE, Connection
from mirrord.db.transactions import joined_statements
from mirrord.domain.entry import Digest, EntryId, TenantId


@dataclass(frozen=True, slots=True)
class PageVersion:
    """A version of a page. text: None: its text is gone."""

    text: str | None
    name: str | None
    parent: EntryId | None


@dataclass(frozen=True, slots=True)
class PageWrite:
    """What a page is to be. name: None: it stays."""

    entry: EntryId
    parent: EntryId | None
    name: str | None
    text: str


PAGE_COLUMNS = """page.id, page.version, page.deleted_at IS NOT NULL, page.parent_id, page.name, page.markdown,
       page.updated_by ->> 'kind',
       (SELECT r.actor ->> 'name' FROM mirrord.page_revision AS r
         WHERE (r.tenant_id, r.page_id) = (page.tenant_id, page.id) ORDER BY r.version LIMIT 1),
       page.ahead <> '{}' OR (page.kind = 'page' AND page.markdown IS NULL), page.updated_by ->> 'name'"""  # PageState
_PAGE_STATES = f"SELECT {PAGE_COLUMNS} FROM mirrord.page WHERE tenant_id = %(tenant)s AND id = ANY (%(entries)s)"


async def load_pages(
    connection: Connection, tenant: TenantId, entries: Collection[EntryId]
) -> dict[EntryId, PageState]:
    """The pages with ids in *entries*, deleted ones too."""
    cursor = await connection.execute(_PAGE_STATES.encode(), {"tenant": tenant, "entries": list(entries)})
    return {EntryId(row[0]): PageState(*row) for row in await cursor.fetchall()}


async def load_version(connection: Connection, tenant: TenantId, entry: EntryId, version: int) -> PageVersion | None:
    """A version of a page; None: it is gone."""
    cursor = await connection.execute(
        "SELECT markdown, name, parent_id FROM mirrord.page_revision "
        "WHERE (tenant_id, page_id, version) = (%s, %s, %s)",
        (tenant, entry, version),
    )
    row = await cursor.fetchone()
    return PageVersion(*row) if row is not None else None


@asynccontextmanager
async def acting_as(connection: Connection, role: str) -> AsyncIterator[None]:
    """
    Act as *role* within a transaction of the daemon. After an error the transaction, or its savepoint, goes back.

    Statements of the block are sent together, and their answers are to be fetched after it, which saves round trips.
    """
    async with joined_statements(connection):
        await take_role(connection, role)
        yield
        await take_role(connection, DAEMON_ROLE)


async def take_role(connection: Connection, role: str) -> None:
    """Act as *role* until the end of the transaction, or until another one is taken."""
    await connection.execute(f'SET LOCAL ROLE "{role}"'.encode())


def setting_of_author(name: str) -> str:
    """The setting `mirrord.actor` of what a binding writes. name: of its author."""
    return orjson.dumps({"kind": "app", "name": name}).decode()


async def insert_pages(connection: Connection, writes: Sequence[PageWrite]) -> dict[EntryId, int]:
    """New pages, none of them below another; returns their versions."""
    rows = [(write.entry, write.parent, write.name, write.text) for write in writes]
    async with acting_as(connection, APP_ROLE):
        cursor = await connection.execute(
            "INSERT INTO mirrord.page (id, parent_id, name, markdown) "
            "SELECT * FROM unnest(%s::uuid[], %s::uuid[], %s::text[], %s::text[]) RETURNING id, version",
            [list(column) for column in zip(*rows, strict=True)],
        )
    return dict(await cursor.fetchall())


@dataclass(frozen=True, slots=True)
class CompletePage:
    """A new page with its text and the views of it. name_key: of its name. frontmatter: as JSON; None: it has none."""

    write: PageWrite
    name_key: str
    digest: Digest
    title: str | None
    icon: str | None
    position: str | None
    frontmatter: str | None


_INSERT_COMPLETE = """
INSERT INTO mirrord.page (tenant_id, id, parent_id, kind, name, name_key, title, icon, position, frontmatter, markdown,
                          digest)
SELECT DISTINCT ON (g.parent, g.name_key)
       %(tenant)s, g.id, g.parent, 'page', g.name, g.name_key, g.title, g.icon, g.position, g.frontmatter::jsonb,
       g.text, g.digest
  FROM unnest(%(ids)s::uuid[], %(parents)s::uuid[], %(names)s::text[], %(keys)s::text[], %(titles)s::text[],
              %(icons)s::text[], %(positions)s::text[], %(frontmatters)s::text[], %(texts)s::text[],
              %(digests)s::bytea[])
       WITH ORDINALITY AS g (id, parent, name, name_key, title, icon, position, frontmatter, text, digest, number)
 WHERE (g.parent IS NULL OR EXISTS (
           SELECT FROM mirrord.page AS p WHERE p.tenant_id = %(tenant)s AND p.id = g.parent AND p.deleted_at IS NULL))
   AND NOT EXISTS (
           SELECT FROM mirrord.page AS s
            WHERE s.tenant_id = %(tenant)s AND s.name_key = g.name_key
              AND s.parent_key = coalesce(g.parent, '00000000-0000-0000-0000-000000000000'))
 ORDER BY g.parent, g.name_key, g.number
RETURNING id, version"""


async def insert_complete_pages(
    connection: Connection, tenant: TenantId, pages: Sequence[CompletePage]
) -> dict[EntryId, int]:
    """
    New pages that need nothing more from the engine than their files; returns their versions.

    Those without a free name or a living parent are left out: insert_pages() takes them as from an app.
    """
    writes = [page.write for page in pages]
    values = {
        "tenant": tenant,
        "ids": [write.entry for write in writes],
        "parents": [write.parent for write in writes],
        "names": [write.name for write in writes],
        "keys": [page.name_key for page in pages],
        "titles": [page.title for page in pages],
        "icons": [page.icon for page in pages],
        "positions": [page.position for page in pages],
        "frontmatters": [page.frontmatter for page in pages],
        "texts": [write.text for write in writes],
        "digests": [page.digest for page in pages],
    }
    cursor = await connection.execute(_INSERT_COMPLETE, values)
    return dict(await cursor.fetchall())


async def update_page(connection: Connection, write: PageWrite, version: int) -> int | None:
    """Write a page, which lives again if it was deleted; returns its version. None: it has another than *version*."""
    async with acting_as(connection, APP_ROLE):
        cursor = await connection.execute(
            "UPDATE mirrord.page SET parent_id = %(parent)s, name = coalesce(%(name)s, name), markdown = %(text)s, "
            "deleted_at = NULL WHERE id = %(entry)s AND version = %(version)s RETURNING version",
            {
                "parent": write.parent,
                "name": write.name,
                "text": write.text,
                "entry": write.entry,
                "version": version,
            },
        )
    row = await cursor.fetchone()
    return int(row[0]) if row else None


async def rewrite_page(connection: Connection, sql: str, values: Mapping[str, Any]) -> tuple[int | None, bool]:
    """
    Run the statement that writes a text with its views into a page that lives and stays where it is.

    Returns the version of the page, None if it has another than expected; and whether a trigger of an app altered it.
    """
    row = await (await connection.execute(sql.encode(), values)).fetchone()
    return (None, False) if row is None else (int(row[0]), row[1] is not None)


async def delete_page(connection: Connection, entry: EntryId, version: int) -> int | None:
    """
    Delete a page and what is below it; returns its version. None: it has another than *version*.

    Its time is its own, not that of the transaction: a page that lives again takes along what was deleted with it.
    """
    async with acting_as(connection, APP_ROLE):
        cursor = await connection.execute(
            "UPDATE mirrord.page SET deleted_at = clock_timestamp() "
            "WHERE id = %s AND version = %s AND deleted_at IS NULL RETURNING version",
            (entry, version),
        )
    row = await cursor.fetchone()
    return int(row[0]) if row else None


_LIFT = """
UPDATE mirrord.page AS p SET parent_id = NULL
 WHERE p.parent_id = ANY (%(entries)s) AND p.deleted_at IS NULL AND p.id <> ALL (%(bound)s)"""


async def lift_unbound_pages(connection: Connection, binding: BindingRow, entries: Collection[EntryId]) -> None:
    """Move what is directly below *entries* and no page of *binding* to the top."""
    cursor = await connection.execute(
        "SELECT entry_id FROM mirrord.binding_entry AS e JOIN mirrord.page AS p "
        "ON (p.tenant_id, p.id) = (e.tenant_id, e.entry_id) "
        "WHERE e.tenant_id = %s AND e.binding_id = %s AND p.parent_id = ANY (%s)",
        (binding.tenant, binding.id, list(entries)),
    )
    bound = [entry for (entry,) in await cursor.fetchall()]
    async with acting_as(connection, APP_ROLE):
        await connection.execute(_LIFT, {"entries": list(entries), "bound": bound})


# Attachments that are bound go with their pages; others are of people. What only pages show that go, goes with them.
_LIFT_ATTACHMENTS = """
UPDATE mirrord.attachment AS a SET parent_id = NULL, name_key = NULL
 WHERE a.tenant_id = %(tenant)s AND a.parent_id = ANY (%(entries)s) AND a.deleted_at IS NULL
   AND NOT EXISTS (SELECT FROM mirrord.binding_entry AS e WHERE (e.tenant_id, e.entry_id) = (a.tenant_id, a.id))
   AND (NOT EXISTS (SELECT FROM mirrord.page_link AS l WHERE (l.tenant_id, l.target_id) = (a.tenant_id, a.id))
        OR EXISTS (SELECT FROM mirrord.page_link AS l
                     JOIN mirrord.page AS p ON (p.tenant_id, p.id) = (l.tenant_id, l.source_id)
                    WHERE (l.tenant_id, l.target_id) = (a.tenant_id, a.id)
                      AND p.deleted_at IS NULL AND p.id <> ALL (%(entries)s)))"""


async def lift_attachments(connection: Connection, binding: BindingRow, entries: Collection[EntryId]) -> None:
    """Move the attachments directly below *entries* to the top, but for those that only *entries* show."""
    await connection.execute(_LIFT_ATTACHMENTS, {"tenant": binding.tenant, "entries": list(entries)})


async def check_now(connection: Connection) -> None:
    """Make the checks that Postgres would make at the end of the transaction."""
    await connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
