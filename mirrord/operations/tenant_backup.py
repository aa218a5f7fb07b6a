"""Backups of a tenant: rows in one snapshot, then bytes no row has; verifying, expiring and restoring them."""

from collections.abc import AsyncIterator, Collection, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

import orjson

from mirrord.db import snapshot_rows
from mirrord.db.content import dialect_rows
from mirrord.db.database import Connection, Database
from mirrord.db.snapshot_rows import open_snapshot
from mirrord.domain.backup_format import Chunk, Chunker, Manifest, Table
from mirrord.domain.dialect import TenantDialect, dialect_called
from mirrord.domain.entry import Digest, TenantId
from mirrord.domain.long_work import Progress
from mirrord.errors import Damaged, Refused
from mirrord.mirror import tree_marker
from mirrord.mirror.backup import unsynced_files
from mirrord.mirror.backup.backup_directory import Backups, StoredBackup
from mirrord.mirror.backup.unsynced_files import COLUMNS, UnsyncedFile, decode_unsynced_file, store_unsynced
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import printable

BLOB_TABLE = "blob"  # the table whose bytes are stored as separate objects
_BLOB_COLUMNS = ("digest", "part", "object")


class ChunkContent(Enum):
    """The content of a chunk's lines: rows, or references to the bytes of attachments or files."""

    ROWS = auto()
    BLOBS = auto()
    FILES = auto()


@dataclass(frozen=True, slots=True)
class NewBackup:
    """A new backup. added_objects, added_bytes: number and size on disk of the objects that no earlier backup had."""

    manifest: Manifest
    added_objects: int
    added_bytes: int


async def create_backup(
    database: Database, backups: Backups, tenant: TenantId, tree: Tree | None, progress: Progress
) -> NewBackup:
    """
    Back up a tenant as it is now; call it inside `backups.writing()`. tree: its mirror on this host, or None.

    Files are read after the rows: a save in between is in neither or in both, never lost.
    """
    objects_before, bytes_before = backups.added, backups.added_bytes
    async with open_snapshot(database, tenant) as connection:
        facts = await snapshot_rows.load_snapshot(connection, tenant)
        tables = await _write_tables(connection, tenant, backups, progress)
        stored_digests = {Digest(digest) for digest in await snapshot_rows.load_live_digests(connection, tenant)}
    unread: list[str] = []
    manifest = Manifest(
        number=backups.next_number(facts.name),
        schema=facts.schema,
        tenant=facts.name,
        tenant_id=str(tenant),
        tenant_made_at=facts.tenant_created_at,
        made_at=facts.created_at,
        seq=facts.seq,
        tables=tables,
        files=_write_files(tree, stored_digests, backups, unread),
        unread=tuple(map(printable, unread)),
        dialect=facts.dialect,
    )
    backups.commit(manifest)
    return NewBackup(manifest, backups.added - objects_before, backups.added_bytes - bytes_before)


def prune_backups(backups: Backups, tenant: str, max_kept: int) -> list[StoredBackup]:
    """
    Remove all but the newest *max_kept* backups of a tenant, and every object that no backup names any more.

    Returns the removed backups. Raises Damaged if the objects of a backup are not known: then all objects stay.
    """
    removed = backups.list_backups(tenant)[:-max_kept]
    backups.remove(removed)
    named_objects: set[bytes] = set()
    for backup in backups.list_backups():
        if backup.manifest is None:
            raise Damaged(f"{backup.path} is damaged.")
        named_objects |= {bytes.fromhex(name) for name in objects_of(backup.manifest, backups)}
    backups.remove_unreferenced(named_objects)
    return removed


def objects_of(manifest: Manifest, backups: Backups) -> Iterator[str]:
    """The name of every object of a backup. Raises Damaged if a list of them cannot be read."""
    for chunk, content in chunks_of(manifest):
        yield chunk.name
        if content is not ChunkContent.ROWS:
            for line in backups.read_lines(chunk.name):
                yield from object_names_of(line, content)


def chunks_of(manifest: Manifest) -> Iterator[tuple[Chunk, ChunkContent]]:
    """Every chunk of a backup, with the content of its lines."""
    for name, table in manifest.tables.items():
        for chunk in table.chunks:
            yield chunk, ChunkContent.BLOBS if name == BLOB_TABLE else ChunkContent.ROWS
    for chunk in manifest.files.chunks:
        yield chunk, ChunkContent.FILES


def object_names_of(line: bytes, content: ChunkContent) -> Collection[str]:
    """The names of the objects that a line refers to."""
    if content is ChunkContent.ROWS:
        return ()
    return (str(orjson.loads(line)["object"]),) if content is ChunkContent.BLOBS else decode_unsynced_file(line).parts


async def _write_tables(
    connection: Connection, tenant: TenantId, backups: Backups, progress: Progress
) -> dict[str, Table]:
    names = await snapshot_rows.load_table_names(connection)
    total = sum([await snapshot_rows.count_rows(connection, tenant, name) for name in names])
    written, tables = 0, {}
    for name in names:
        columns = await snapshot_rows.load_columns(connection, name) if name != BLOB_TABLE else _BLOB_COLUMNS
        lines = (
            _blob_lines(connection, tenant, backups)
            if name == BLOB_TABLE
            else snapshot_rows.dump_rows(connection, tenant, name, columns)
        )
        chunks: list[Chunk] = []
        async for chunk in _write_chunks(lines, backups):
            chunks.append(chunk)
            written += chunk.rows
            progress(written, total)
        tables[name] = Table(tuple(columns), tuple(chunks))
    return tables


async def _blob_lines(connection: Connection, tenant: TenantId, backups: Backups) -> AsyncIterator[tuple[str, bytes]]:
    async for digest, part, data in snapshot_rows.dump_blobs(connection, tenant):
        line = orjson.dumps({"digest": digest.hex(), "part": part, "object": backups.add_bytes(data)})
        yield f"{digest.hex()}/{part}", line


async def _write_chunks(lines: AsyncIterator[tuple[str, bytes]], backups: Backups) -> AsyncIterator[Chunk]:
    cutter = Chunker()
    async for key, line in lines:
        if (full_lines := cutter.add(key, line)) is not None:
            yield _write_chunk(full_lines, backups)
    if last_lines := cutter.flush():
        yield _write_chunk(last_lines, backups)


def _write_files(tree: Tree | None, stored_digests: Collection[Digest], backups: Backups, unread: list[str]) -> Table:
    cutter, chunks = Chunker(), []
    for stray in store_unsynced(tree, stored_digests, backups, unread) if tree is not None else ():
        if (full_lines := cutter.add(stray.path, stray.encode())) is not None:
            chunks.append(_write_chunk(full_lines, backups))
    if last_lines := cutter.flush():
        chunks.append(_write_chunk(last_lines, backups))
    return Table(COLUMNS, tuple(chunks))


def _write_chunk(lines: list[bytes], backups: Backups) -> Chunk:
    return Chunk(backups.add_lines(lines), len(lines))


@dataclass(frozen=True, slots=True)
class CheckedBackup:
    """One backup and its damages, as sentences; an intact backup has none."""

    backup: StoredBackup
    damages: tuple[str, ...]


class BackupChecker:
    """Reads backups of one directory; an object that several backups share is read once."""

    def __init__(self, backups: Backups) -> None:
        self._backups = backups
        self._intact: set[str] = set()
        self._damaged: dict[str, str] = {}

    def check(self, backup: StoredBackup, progress: Progress) -> CheckedBackup:
        """Read all of one backup."""
        if backup.manifest is None:
            return CheckedBackup(backup, (f"{backup.path} is damaged: its content is not what its name says.",))
        return CheckedBackup(backup, tuple(dict.fromkeys(self._find_damages(backup.manifest, progress))))

    def _find_damages(self, manifest: Manifest, progress: Progress) -> Iterator[str]:
        chunks = list(chunks_of(manifest))
        for number, (chunk, content) in enumerate(chunks, 1):
            if chunk.name not in self._intact:
                yield from self._check_chunk(chunk, content)
            progress(number, len(chunks))

    def _check_chunk(self, chunk: Chunk, content: ChunkContent) -> list[str]:
        if chunk.name in self._damaged:
            return [self._damaged[chunk.name]]
        try:
            lines = self._backups.read_lines(chunk.name)
            if len(lines) != chunk.rows:
                raise Damaged(f"The object {chunk.name} has {len(lines)} rows instead of {chunk.rows}.")
        except Damaged as error:
            self._damaged[chunk.name] = str(error)
            return [str(error)]
        damages = [self._check_object(name) for line in lines for name in object_names_of(line, content)]
        if not any(damages):
            self._intact.add(chunk.name)
        return list(filter(None, damages))

    def _check_object(self, name: str) -> str | None:
        if name not in self._intact and name not in self._damaged:
            try:
                self._backups.read_bytes(name)
                self._intact.add(name)
            except Damaged as error:
                self._damaged[name] = str(error)
        return self._damaged.get(name)


@dataclass(frozen=True, slots=True)
class RestoreTarget:
    """
    The tenant that gets a backup, and the directory of its files.

    root: of its tree, which gets the files if nothing else is in it, else *beside* does. mode: of a new root.
    """

    tenant: TenantId
    name: str
    root: Path
    beside: Path
    mode: int


@dataclass(frozen=True, slots=True)
class RestoredBackup:
    """The outcome of a restore. files: paths of the files that no row has; into: their directory, or None."""

    rows: int
    files: tuple[str, ...]
    files_directory: Path | None


async def restore_backup(
    database: Database, backups: Backups, manifest: Manifest, target: RestoreTarget, progress: Progress
) -> RestoredBackup:
    """
    Store a whole backup in an empty tenant, created if it is missing; call it inside `reading()`.

    A kill leaves an empty tenant, and maybe some of the files; the same call continues from there.

    Raises:
        Refused: the tenant has pages, another tenant has the name, or the schema here lacks a table or column.
        Damaged: an object has changed; nothing was stored.
    """
    tenant, name = target.tenant, target.name
    await snapshot_rows.create_tenant(database, name, tenant, manifest.tenant_made_at)
    async with snapshot_rows.restore_transaction(database, tenant, name) as connection:
        await _check_known_tables(connection, manifest)
        stored_rows = 0
        for table_name, table in manifest.tables.items():
            for chunk in table.chunks:
                lines = backups.read_lines(chunk.name)
                if table_name == BLOB_TABLE:
                    stored = await _restore_blobs(connection, tenant, lines, backups)
                else:
                    stored = await snapshot_rows.store_rows(connection, tenant, table_name, table.columns, lines)
                if stored != chunk.rows:
                    raise Damaged(f"{stored} rows of {table_name} were stored instead of {chunk.rows}; all is undone.")
                stored_rows += stored
                progress(stored_rows, manifest.rows)
        files = [
            unsynced_files.decode_unsynced_file(line)
            for chunk in manifest.files.chunks
            for line in backups.read_lines(chunk.name)
        ]
        into = _restore_files(files, backups, target) if files else None
        if manifest.dialect is not None:
            await dialect_rows.store_dialect(connection, tenant, TenantDialect(dialect_called(manifest.dialect)))
        await snapshot_rows.finish_restore(connection, tenant, manifest.seq)
    return RestoredBackup(stored_rows, tuple(printable(stray.path) for stray in files), into)


async def _check_known_tables(connection: Connection, manifest: Manifest) -> None:
    known_tables = set(await snapshot_rows.load_table_names(connection))
    for table_name, table in manifest.tables.items():
        columns = (
            table.columns if table_name == BLOB_TABLE else await snapshot_rows.load_columns(connection, table_name)
        )
        if table_name not in known_tables or set(table.columns) - set(columns):
            raise Refused(
                f"The backup was made with schema {manifest.schema}, and its table {table_name} is not known here as "
                "it was then. Restore it with the mirrord it was made with, then upgrade; nothing was restored."
            )


async def _restore_blobs(connection: Connection, tenant: TenantId, lines: list[bytes], backups: Backups) -> int:
    for line in lines:
        facts = orjson.loads(line)
        data = backups.read_bytes(facts["object"])
        await snapshot_rows.store_blob(connection, tenant, bytes.fromhex(facts["digest"]), facts["part"], data)
    return len(lines)


def _restore_files(files: list[UnsyncedFile], backups: Backups, target: RestoreTarget) -> Path:
    """Write files durably; return their directory. A tree with other files in it is left alone."""
    into = target.root
    tree_marker.make_root(into, target.mode)
    if not _holds_only(into, files):
        into = target.beside
        tree_marker.make_root(into)
    tree = Tree(into)
    try:
        for stray in files:
            unsynced_files.write_file(tree, stray, backups)
    finally:
        tree.close()
    return into


def _holds_only(root: Path, files: list[UnsyncedFile]) -> bool:
    tree = Tree(root)
    try:
        return unsynced_files.has_only(tree, files)
    finally:
        tree.close()
