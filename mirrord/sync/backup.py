"""Backups of a tenant: its rows in one snapshot, then the files whose bytes no row has; and letting old ones go."""

from collections.abc import AsyncIterator, Collection, Iterator
from dataclasses import dataclass
from enum import Enum, auto

import orjson

from mirrord.db import backups as rows_of
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

BLOB = "blob"  # the table whose bytes are objects of their own
_BLOB_COLUMNS = ("digest", "part", "object")


class Holds(Enum):
    """What the lines of a chunk are: rows as they are, or what says where bytes are, of attachments or of files."""

    ROWS = auto()
    BLOBS = auto()
    FILES = auto()


@dataclass(frozen=True, slots=True)
class Made:
    """One new backup. added, added_bytes: the objects that no earlier backup had, and what they take on disk."""

    manifest: Manifest
    added: int
    added_bytes: int


async def create(database: Database, backups: Backups, tenant: TenantId, tree: Tree | None, progress: Progress) -> Made:
    """
    Keep a tenant as it is now; call it inside `backups.writing()`. tree: its mirror on this host; None: there is none.

    Files are looked at after the rows: what is saved meanwhile is in neither or in both, never lost.
    """
    before, bytes_before = backups.added, backups.added_bytes
    async with snapshot(database, tenant) as connection:
        seen = await rows_of.look(connection, tenant)
        tables = await _tables(connection, tenant, backups, progress)
        known = {Digest(digest) for digest in await rows_of.digests(connection, tenant)}
    unread: list[str] = []
    manifest = Manifest(
        number=backups.next_number(seen.name),
        schema=seen.schema,
        tenant=seen.name,
        tenant_id=str(tenant),
        tenant_made_at=seen.tenant_made_at,
        made_at=seen.made_at,
        seq=seen.seq,
        tables=tables,
        files=_files(tree, known, backups, unread),
        unread=tuple(map(printable, unread)),
    )
    backups.commit(manifest)
    return Made(manifest, backups.added - before, backups.added_bytes - bytes_before)


def prune(backups: Backups, tenant: str, most: int) -> list[Listed]:
    """
    Let all but the newest *most* backups of a tenant go, and every object that no backup names any more.

    Raises Damaged where nobody knows which objects a backup names: then all objects stay.
    """
    gone = backups.listed(tenant)[:-most]
    backups.remove(gone)
    named: set[bytes] = set()
    for one in backups.listed():
        if one.manifest is None:
            raise Damaged(f"{one.path} is damaged.")
        named |= {bytes.fromhex(name) for name in objects_of(one.manifest, backups)}
    backups.remove_unnamed(named)
    return gone


def objects_of(manifest: Manifest, backups: Backups) -> Iterator[str]:
    """The name of every object of a backup. Raises Damaged where a list of them cannot be read."""
    for chunk, holds in chunks_of(manifest):
        yield chunk.name
        if holds is not Holds.ROWS:
            for line in backups.lines(chunk.name):
                yield from parts_of(line, holds)


def chunks_of(manifest: Manifest) -> Iterator[tuple[Chunk, Holds]]:
    """Every chunk of a backup, and what its lines are."""
    for name, table in manifest.tables.items():
        for chunk in table.chunks:
            yield chunk, Holds.BLOBS if name == BLOB else Holds.ROWS
    for chunk in manifest.files.chunks:
        yield chunk, Holds.FILES


def parts_of(line: bytes, holds: Holds) -> Collection[str]:
    """The names of the objects whose bytes a line is about."""
    if holds is Holds.ROWS:
        return ()
    return (str(orjson.loads(line)["object"]),) if holds is Holds.BLOBS else stray_of(line).parts


async def _tables(connection: Connection, tenant: TenantId, backups: Backups, progress: Progress) -> dict[str, Table]:
    names = await rows_of.kept_tables(connection)
    of = sum([await rows_of.count(connection, tenant, name) for name in names])
    done, tables = 0, {}
    for name in names:
        columns = await rows_of.columns_of(connection, name) if name != BLOB else _BLOB_COLUMNS
        lines = _blobs(connection, tenant, backups) if name == BLOB else rows_of.rows(connection, tenant, name, columns)
        chunks: list[Chunk] = []
        async for chunk in _chunks(lines, backups):
            chunks.append(chunk)
            done += chunk.rows
            progress(done, of)
        tables[name] = Table(tuple(columns), tuple(chunks))
    return tables


async def _blobs(connection: Connection, tenant: TenantId, backups: Backups) -> AsyncIterator[tuple[str, bytes]]:
    async for digest, part, data in rows_of.blobs(connection, tenant):
        line = orjson.dumps({"digest": digest.hex(), "part": part, "object": backups.add(data)})
        yield f"{digest.hex()}/{part}", line


async def _chunks(lines: AsyncIterator[tuple[str, bytes]], backups: Backups) -> AsyncIterator[Chunk]:
    cutter = Cutter()
    async for key, line in lines:
        if (full := cutter.add(key, line)) is not None:
            yield _chunk(full, backups)
    if rest := cutter.rest():
        yield _chunk(rest, backups)


def _files(tree: Tree | None, known: Collection[Digest], backups: Backups, unread: list[str]) -> Table:
    cutter, chunks = Cutter(), []
    for stray in keep(tree, known, backups, unread) if tree is not None else ():
        if (full := cutter.add(stray.path, stray.spelled())) is not None:
            chunks.append(_chunk(full, backups))
    if rest := cutter.rest():
        chunks.append(_chunk(rest, backups))
    return Table(COLUMNS, tuple(chunks))


def _chunk(lines: list[bytes], backups: Backups) -> Chunk:
    return Chunk(backups.add_lines(lines), len(lines))
