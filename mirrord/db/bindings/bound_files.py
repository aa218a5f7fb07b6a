"""Attachments that are files of an app, written as the app says."""

from collections.abc import Collection
from dataclasses import dataclass

from mirrord.db.bindings.binding_rows import BindingRow
from mirrord.db.bindings.page_state import PageState
from mirrord.db.database import Connection
from mirrord.domain.entry import Digest, EntryId, TenantId


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An attachment as its row in Postgres is. state: as of a page; its text is None."""

    state: PageState
    digest: Digest


@dataclass(frozen=True, slots=True)
class FileWrite:
    """What an attachment is to be. The bytes with *digest* are stored. name: None: it stays."""

    entry: EntryId
    parent: EntryId
    name: str | None
    digest: Digest
    size: int
    media_type: str | None


_FILES = """
SELECT id, version, deleted_at IS NOT NULL, parent_id, name, updated_by ->> 'kind', digest FROM mirrord.attachment
 WHERE tenant_id = %s AND id = ANY (%s)"""
_INSERT = """
INSERT INTO mirrord.attachment (tenant_id, id, parent_id, name, digest, size, media_type)
VALUES (%(tenant)s, %(entry)s, %(parent)s, %(name)s, %(digest)s, %(size)s, %(media_type)s) RETURNING version"""
_UPDATE = """
UPDATE mirrord.attachment
   SET digest = %(digest)s, size = %(size)s, media_type = %(media_type)s, deleted_at = NULL, parent_id = %(parent)s,
       name = coalesce(%(name)s, name),
       name_key = CASE WHEN %(name)s::text IS NULL AND parent_id IS NOT DISTINCT FROM %(parent)s AND deleted_at IS NULL
                       THEN name_key END
 WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(version)s RETURNING version"""
_DELETE = """
UPDATE mirrord.attachment SET deleted_at = clock_timestamp()
 WHERE tenant_id = %s AND id = %s AND version = %s AND deleted_at IS NULL RETURNING version"""
_OF_PAGES = """
SELECT e.external_id FROM mirrord.attachment AS a
  JOIN mirrord.binding_entry AS e ON (e.tenant_id, e.binding_id, e.entry_id) = (a.tenant_id, %(binding)s, a.id)
 WHERE a.tenant_id = %(tenant)s AND a.parent_id = ANY (%(entries)s)"""


async def load_files(
    connection: Connection, tenant: TenantId, entries: Collection[EntryId]
) -> dict[EntryId, StoredFile]:
    """The attachments with ids in *entries*, deleted ones too."""
    cursor = await connection.execute(_FILES, (tenant, list(entries)))
    return {
        EntryId(entry): StoredFile(PageState(entry, version, is_deleted, parent, name, None, author), Digest(digest))
        for entry, version, is_deleted, parent, name, author, digest in await cursor.fetchall()
    }


async def insert_file(connection: Connection, tenant: TenantId, write: FileWrite) -> int:
    """A new attachment, which gets a name that is free; returns its version."""
    row = await (await connection.execute(_INSERT, _values_of(tenant, write))).fetchone()
    assert row is not None
    return int(row[0])


async def update_file(connection: Connection, tenant: TenantId, write: FileWrite, version: int) -> int | None:
    """Write an attachment, which lives again if it was deleted; returns its version. None: it is not *version*."""
    cursor = await connection.execute(_UPDATE, {**_values_of(tenant, write), "version": version})
    row = await cursor.fetchone()
    return int(row[0]) if row is not None else None


def _values_of(tenant: TenantId, write: FileWrite) -> dict[str, object]:
    return {
        "tenant": tenant,
        "entry": write.entry,
        "parent": write.parent,
        "name": write.name,
        "digest": write.digest,
        "size": write.size,
        "media_type": write.media_type,
    }


async def delete_file(connection: Connection, tenant: TenantId, entry: EntryId, version: int) -> int | None:
    """Delete an attachment; returns its version. None: it is not *version*."""
    row = await (await connection.execute(_DELETE, (tenant, entry, version))).fetchone()
    return int(row[0]) if row is not None else None


async def load_files_of_pages(connection: Connection, binding: BindingRow, entries: Collection[EntryId]) -> set[str]:
    """The ids of bound files that are attachments of the pages *entries*."""
    values = {"tenant": binding.tenant, "binding": binding.id, "entries": list(entries)}
    return {external_id for (external_id,) in await (await connection.execute(_OF_PAGES, values)).fetchall()}


async def load_living_pages(
    connection: Connection, tenant: TenantId, entries: Collection[EntryId]
) -> frozenset[EntryId]:
    """Those of the pages *entries* that are not deleted."""
    cursor = await connection.execute(
        "SELECT id FROM mirrord.page WHERE tenant_id = %s AND id = ANY (%s) AND deleted_at IS NULL",
        (tenant, list(entries)),
    )
    return frozenset(EntryId(entry) for (entry,) in await cursor.fetchall())
