"""Create backups of a tenant (its rows in one snapshot, then files whose bytes no row has), and remove old ones."""

from collections.abc import AsyncIterator, Collection, Iterator
from dataclasses import dataclass
from enum import Enum, auto

import orjson

from mirrord.db import backups as backup_rows
from mirrord.db.connect import Connection, Database
from mirrord.db.snapshot import snapshot
from mirrord.domain.backup import Chunk, Cutter, Manifest, Table
from mirrord.domain.entry import Digest, TenantId
from mirrord.domain.progress import Progress
from mirrord.errors import Damaged
from mirrord.mirror.backups import Backups, Listed
from mirrord.mirror.layout import printable
from mirrord.mirror.strays import COLUMNS, keep, stray_of
from mirrord.mirror.tree import Tree

BLOB = "blob"  # the table whose bytes are stored as separate objects
_BLOB_COLUMNS = ("digest", "part", "object")


class Holds(Enum):
    """The content of a chunk's lines: rows, or references to the bytes of attachments or files."""

    ROWS = auto()
    BLOBS = auto()
    FILES = auto()


@dataclass(frozen=True, slots=True)
class Made:
    """A new backup. added, added_bytes: number and size on disk of the objects that no earlier backup had."""

    manifest: Manifest
    added: int
    added_bytes: int


async def create(database: Database, backups: Backups, tenant: TenantId, tree: Tree | None, progress: Progress) -> Made:
    """
    Back up a tenant as it is now; call it inside `backups.writing()`. tree: its mirror on this host, or None.

    Files are read after the rows: a save in between is in neither or in both, never lost.
    """
    objects_before, bytes_before = backups.added, backups.added_bytes
    async with snapshot(database, tenant) as connection:
        facts = await backup_rows.look(connection, tenant)
        tables = await _write_tables(connection, tenant, backups, progress)
        stored_digests = {Digest(digest) for digest in await backup_rows.digests(connection, tenant)}
    unread: list[str] = []
    manifest = Manifest(
        number=backups.next_number(facts.name),
        schema=facts.schema,
        tenant=facts.name,
        tenant_id=str(tenant),
        tenant_made_at=facts.tenant_made_at,
        made_at=facts.made_at,
        seq=facts.seq,
        tables=tables,
        files=_write_files(tree, stored_digests, backups, unread),
        unread=tuple(map(printable, unread)),
    )
    backups.commit(manifest)
    return Made(manifest, backups.added - objects_before, backups.added_bytes - bytes_before)


def prune(backups: Backups, tenant: str, most: int) -> list[Listed]:
    """
    Remove all but the newest *most* backups of a tenant, and every object that no backup names any more.

    Returns the removed backups. Raises Damaged if the objects of a backup are not known: then all objects stay.
    """
    removed = backups.listed(tenant)[:-most]
    backups.remove(removed)
    named_objects: set[bytes] = set()
    for backup in backups.listed():
        if backup.manifest is None:
            raise Damaged(f"{backup.path} is damaged.")
        named_objects |= {bytes.fromhex(name) for name in objects_of(backup.manifest, backups)}
    backups.remove_unnamed(named_objects)
    return removed


def objects_of(manifest: Manifest, backups: Backups) -> Iterator[str]:
    """The name of every object of a backup. Raises Damaged if a list of them cannot be read."""
    for chunk, content in chunks_of(manifest):
        yield chunk.name
        if content is not Holds.ROWS:
            for line in backups.lines(chunk.name):
                yield from parts_of(line, content)


def chunks_of(manifest: Manifest) -> Iterator[tuple[Chunk, Holds]]:
    """Every chunk of a backup, with the content of its lines."""
    for name, table in manifest.tables.items():
        for chunk in table.chunks:
            yield chunk, Holds.BLOBS if name == BLOB else Holds.ROWS
    for chunk in manifest.files.chunks:
        yield chunk, Holds.FILES


def parts_of(line: bytes, content: Holds) -> Collection[str]:
    """The names of the objects that a line refers to."""
    if content is Holds.ROWS:
        return ()
    return (str(orjson.loads(line)["object"]),) if content is Holds.BLOBS else stray_of(line).parts


async def _write_tables(
    connection: Connection, tenant: TenantId, backups: Backups, progress: Progress
) -> dict[str, Table]:
    names = await backup_rows.kept_tables(connection)
    total = sum([await backup_rows.count(connection, tenant, name) for name in names])
    written, tables = 0, {}
    for name in names:
        columns = await backup_rows.columns_of(connection, name) if name != BLOB else _BLOB_COLUMNS
        lines = (
            _blob_lines(connection, tenant, backups)
            if name == BLOB
            else backup_rows.rows(connection, tenant, name, columns)
        )
        chunks: list[Chunk] = []
        async for chunk in _write_chunks(lines, backups):
            chunks.append(chunk)
            written += chunk.rows
            progress(written, total)
        tables[name] = Table(tuple(columns), tuple(chunks))
    return tables


async def _blob_lines(connection: Connection, tenant: TenantId, backups: Backups) -> AsyncIterator[tuple[str, bytes]]:
    async for digest, part, data in backup_rows.blobs(connection, tenant):
        line = orjson.dumps({"digest": digest.hex(), "part": part, "object": backups.add(data)})
        yield f"{digest.hex()}/{part}", line


async def _write_chunks(lines: AsyncIterator[tuple[str, bytes]], backups: Backups) -> AsyncIterator[Chunk]:
    cutter = Cutter()
    async for key, line in lines:
        if (full_lines := cutter.add(key, line)) is not None:
            yield _write_chunk(full_lines, backups)
    if last_lines := cutter.rest():
        yield _write_chunk(last_lines, backups)


def _write_files(tree: Tree | None, stored_digests: Collection[Digest], backups: Backups, unread: list[str]) -> Table:
    cutter, chunks = Cutter(), []
    for stray in keep(tree, stored_digests, backups, unread) if tree is not None else ():
        if (full_lines := cutter.add(stray.path, stray.spelled())) is not None:
            chunks.append(_write_chunk(full_lines, backups))
    if last_lines := cutter.rest():
        chunks.append(_write_chunk(last_lines, backups))
    return Table(COLUMNS, tuple(chunks))


def _write_chunk(lines: list[bytes], backups: Backups) -> Chunk:
    return Chunk(backups.add_lines(lines), len(lines))
