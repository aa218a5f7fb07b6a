"""Restores a tenant from a backup: all rows in one transaction, and the files that no row has."""

from dataclasses import dataclass
from pathlib import Path

import orjson

from mirrord.db import snapshot_rows
from mirrord.db.database import Connection, Database
from mirrord.domain.backup_format import Manifest
from mirrord.domain.entry import TenantId
from mirrord.domain.long_work import Progress
from mirrord.errors import Damaged, Refused
from mirrord.mirror import tree_marker
from mirrord.mirror.backup import unsynced_files
from mirrord.mirror.backup.backup_directory import Backups
from mirrord.mirror.backup.unsynced_files import UnsyncedFile
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import printable
from mirrord.operations.tenant_backup import BLOB_TABLE


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
        await _check_tables(connection, manifest)
        stored_rows = 0
        for table_name, table in manifest.tables.items():
            for chunk in table.chunks:
                lines = backups.read_lines(chunk.name)
                if table_name == BLOB_TABLE:
                    stored = await _store_blobs(connection, tenant, lines, backups)
                else:
                    stored = await snapshot_rows.store_rows(connection, table_name, table.columns, lines)
                if stored != chunk.rows:
                    raise Damaged(f"{stored} rows of {table_name} were stored instead of {chunk.rows}; all is undone.")
                stored_rows += stored
                progress(stored_rows, manifest.rows)
        files = [
            unsynced_files.decode_unsynced_file(line)
            for chunk in manifest.files.chunks
            for line in backups.read_lines(chunk.name)
        ]
        into = _write_files(files, backups, target) if files else None
        await snapshot_rows.finish_restore(connection, manifest.seq)
    return RestoredBackup(stored_rows, tuple(printable(stray.path) for stray in files), into)


async def _check_tables(connection: Connection, manifest: Manifest) -> None:
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


async def _store_blobs(connection: Connection, tenant: TenantId, lines: list[bytes], backups: Backups) -> int:
    for line in lines:
        facts = orjson.loads(line)
        data = backups.read_bytes(facts["object"])
        await snapshot_rows.store_blob(connection, tenant, bytes.fromhex(facts["digest"]), facts["part"], data)
    return len(lines)


def _write_files(files: list[UnsyncedFile], backups: Backups, target: RestoreTarget) -> Path:
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
