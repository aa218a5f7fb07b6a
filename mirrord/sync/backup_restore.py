"""A tenant comes back from a backup: all rows in one transaction, and the files that no row has before it ends."""

from dataclasses import dataclass
from pathlib import Path

import orjson

from mirrord.db import backups as rows_of
from mirrord.db.connect import Connection, Database
from mirrord.domain.backup import Manifest
from mirrord.domain.entry import TenantId
from mirrord.domain.progress import Progress
from mirrord.errors import Damaged, Refused
from mirrord.mirror import marker, strays
from mirrord.mirror.backups import Backups
from mirrord.mirror.layout import printable
from mirrord.mirror.strays import Stray
from mirrord.mirror.tree import Tree
from mirrord.sync.backup import BLOB


@dataclass(frozen=True, slots=True)
class Places:
    """Where files go: into the root of the tree, if nothing else is in it, or beside. mode: of a root that is made."""

    root: Path
    beside: Path
    mode: int


@dataclass(frozen=True, slots=True)
class Restored:
    """What came back. files: paths of those that no row has; into: the directory they are in, None: there are none."""

    rows: int
    files: tuple[str, ...]
    into: Path | None


async def restore(
    database: Database,
    backups: Backups,
    manifest: Manifest,
    tenant: TenantId,
    name: str,
    places: Places,
    progress: Progress,
) -> Restored:
    """
    Store a whole backup in a tenant that has nothing, made under *name* if it is missing; call it inside `reading()`.

    A kill leaves an empty tenant, and maybe some of the files: the same call goes on from there.

    Raises:
        Refused: the tenant has pages, the name is another's, or this mirrord does not know what the backup holds.
        Damaged: an object is not what it was; nothing was stored.
    """
    await rows_of.make_tenant(database, name, tenant, manifest.tenant_made_at)
    async with rows_of.filling(database, tenant, name) as connection:
        await _check_known(connection, manifest)
        done = 0
        for table, kept in manifest.tables.items():
            for chunk in kept.chunks:
                lines = backups.lines(chunk.name)
                if table == BLOB:
                    stored = await _store_blobs(connection, tenant, lines, backups)
                else:
                    stored = await rows_of.store_rows(connection, table, kept.columns, lines)
                if stored != chunk.rows:
                    raise Damaged(f"{stored} rows of {table} were stored instead of {chunk.rows}; all is undone.")
                done += stored
                progress(done, manifest.rows)
        files = [strays.stray_of(line) for chunk in manifest.files.chunks for line in backups.lines(chunk.name)]
        into = _put(files, backups, places) if files else None
        await rows_of.finish(connection, manifest.seq)
    return Restored(done, tuple(printable(one.path) for one in files), into)


async def _check_known(connection: Connection, manifest: Manifest) -> None:
    known = set(await rows_of.kept_tables(connection))
    for table, kept in manifest.tables.items():
        columns = kept.columns if table == BLOB else await rows_of.columns_of(connection, table)
        if table not in known or set(kept.columns) - set(columns):
            raise Refused(
                f"The backup was made with schema {manifest.schema}, and its table {table} is not known here as it was "
                "then. Restore it with the mirrord it was made with, then upgrade; nothing was restored."
            )


async def _store_blobs(connection: Connection, tenant: TenantId, lines: list[bytes], backups: Backups) -> int:
    for line in lines:
        facts = orjson.loads(line)
        data = backups.content(facts["object"])
        await rows_of.store_blob(connection, tenant, bytes.fromhex(facts["digest"]), facts["part"], data)
    return len(lines)


def _put(files: list[Stray], backups: Backups, places: Places) -> Path:
    """Write files durably; the directory they are in. A tree that has others keeps to its own."""
    into = places.root
    marker.make_root(into, places.mode)
    if not _may_take(into, files):
        into = places.beside
        marker.make_root(into)
    tree = Tree(into)
    try:
        for stray in files:
            strays.put(tree, stray, backups)
    finally:
        tree.close()
    return into


def _may_take(root: Path, files: list[Stray]) -> bool:
    tree = Tree(root)
    try:
        return strays.holds_only(tree, files)
    finally:
        tree.close()
