"""
Completes the record of files and directories that this mirror made: their bases are in `state.db`, not in Postgres.

The daemon died in between, or lost its connection.
"""

import asyncio
from collections.abc import Iterable, Mapping

from mirrord.db.content import entry_states
from mirrord.db.content.entry_writes import run_statements
from mirrord.domain.entry import Base, EntryId, Kind, Row
from mirrord.mirror.state_file import CachedStat
from mirrord.mirror.tree.tree_scan import Scan
from mirrord.sync.observation.mirror_handles import Sides


async def store_unrecorded_bases(sides: Sides, scanned: Scan) -> None:
    """Store the noted bases of files that *scanned* shows; forget the notes that have nothing to add."""
    written_files = dict(sides.unrecorded_files.written_files)
    if not written_files or sides.lease is None:
        return
    present_bases = select_present(written_files.values(), scanned)
    keys = entry_states.BaseKeys([base.path for base in present_bases if base.path], list(written_files))
    async with sides.database.transaction(sides.tenant, sides.fence) as connection:
        bases, rows = await entry_states.load_bases_and_rows(
            connection, sides.tenant, sides.mirror, keys, list(written_files)
        )
        missing_bases = select_missing(present_bases, bases, rows)
        await run_statements(connection, [sides.writer.store_base(base) for base in missing_bases])
    _index_inodes(sides, missing_bases)
    recorded = {base.entry for base in [*bases, *missing_bases]}
    waiting = {entry for entry, row in rows.items() if not row.deleted and entry not in recorded}
    await asyncio.to_thread(sides.unrecorded_files.forget, sides.state, written_files.keys() - waiting)


def _index_inodes(sides: Sides, bases: Iterable[Base]) -> None:
    """Enter the files of *bases* into the index as they were written, so that they are known under new names."""
    for base in bases:
        _, cached = sides.unrecorded_files.written_files[base.entry]
        if base.path is not None and cached is not None and base.path not in sides.looker.index:
            sides.looker.index.record(base.path, cached)


def select_present(written_files: Iterable[tuple[Base, CachedStat | None]], scanned: Scan) -> list[Base]:
    """
    The bases of those of *written_files* that are in the tree, at their paths or, of files, renamed.

    A file that is gone stays without a base, so that it is written again: a note may be old, and no proof that a
    person deleted the page.
    """
    inodes = {(stat.device, stat.inode) for stat in scanned.files.values()}

    def is_present(base: Base, cached: CachedStat | None) -> bool:
        if base.kind is Kind.FOLDER:
            return base.path in scanned.directories
        is_renamed = cached is not None and (cached.device, cached.inode) in inodes
        return is_renamed or base.path in scanned.files or base.path in scanned.unchanged

    return [base for base, cached in written_files if base.path is not None and is_present(base, cached)]


def select_missing(noted_bases: Iterable[Base], bases: Iterable[Base], rows: Mapping[EntryId, Row]) -> list[Base]:
    """
    Those of *noted_bases* that Postgres does not have, though it has their rows.

    bases: all bases in Postgres of the noted entries and paths. A row that is older than the note was restored from a
    backup: it is compared with its file as an unknown one.
    """
    based_entries, based_paths = set[EntryId](), set[str | None]()
    for base in bases:
        based_entries.add(base.entry)
        based_paths.add(base.path)

    def is_missing(base: Base, row: Row | None) -> bool:
        if row is None or row.purged or base.entry in based_entries or base.path in based_paths:
            return False
        return row.kind is base.kind and (row.version > base.version or row.digest == base.digest)

    return [base for base in noted_bases if is_missing(base, rows.get(base.entry))]
