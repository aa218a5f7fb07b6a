"""Pages as a binding writes them: as an app, through the interface that every app has."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mirrord.db.database import APP_ROLE, DAEMON_ROLE, Connection
from mirrord.domain.entry import EntryId, TenantId


@dataclass(frozen=True, slots=True)
class PageRow:
    """
    A page.

    name, text: None: mirrord has not set them yet. author: the kind of the author of this version. creator: the name of
    the author of the first version; None: it has none, or that version is gone. is_ahead: an app wrote views of this
    version, and its text is not rendered yet. author_name: None: the author has none.
    """

    entry: EntryId
    version: int
    is_deleted: bool
    parent: EntryId | None
    name: str | None
    text: str | None
    author: str | None
    creator: str | None
    is_ahead: bool
    author_name: str | None


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


async def load_pages(connection: Connection, tenant: TenantId, entries: Collection[EntryId]) -> dict[EntryId, PageRow]:
    """The pages with ids in *entries*, deleted ones too."""
    cursor = await connection.execute(
        "SELECT id, version, deleted_at IS NOT NULL, parent_id, name, markdown, updated_by ->> 'kind', "
        "(SELECT r.actor ->> 'name' FROM mirrord.page_revision AS r "
        "WHERE (r.tenant_id, r.page_id) = (page.tenant_id, page.id) ORDER BY r.version LIMIT 1), "
        "ahead <> '{}' OR (kind = 'page' AND markdown IS NULL), updated_by ->> 'name' FROM mirrord.page "
        "WHERE tenant_id = %s AND id = ANY (%s)",
        (tenant, list(entries)),
    )
    return {EntryId(row[0]): PageRow(*row) for row in await cursor.fetchall()}


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
    """Act as *role* within a transaction of the daemon. After an error the transaction, or its savepoint, goes back."""
    await connection.execute(f'SET LOCAL ROLE "{role}"'.encode())
    yield
    await connection.execute(f"SET LOCAL ROLE {DAEMON_ROLE}".encode())


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


async def delete_page(connection: Connection, entry: EntryId, version: int) -> int | None:
    """Delete a page and what is below it; returns its version. None: it has another than *version*."""
    async with acting_as(connection, APP_ROLE):
        cursor = await connection.execute(
            "UPDATE mirrord.page SET deleted_at = now() WHERE id = %s AND version = %s AND deleted_at IS NULL "
            "RETURNING version",
            (entry, version),
        )
        row = await cursor.fetchone()
    return int(row[0]) if row else None


async def check_now(connection: Connection) -> None:
    """Make the checks that Postgres would make at the end of the transaction."""
    await connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
