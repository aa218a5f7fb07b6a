"""Completes the record of files that an earlier daemon wrote: their bases are in `state.db`, and not in Postgres."""

import asyncio
from collections.abc import Iterable, Mapping

from mirrord.db.content import entry_states
from mirrord.db.content.entry_writes import run_statements
from mirrord.domain.entry import Base, EntryId, Row
from mirrord.mirror.seen_files import Index
from mirrord.mirror.tree.tree_scan import Scan
from mirrord.sync.observation.mirror_handles import Sides


async def store_unrecorded_bases(sides: Sides, scanned: Scan) -> None:
    """Store the noted bases of files that *scanned* shows; forget the notes that have nothing to add."""
    noted_bases = dict(sides.unrecorded_files.bases)
    if not noted_bases or sides.lease is None:
        return
    present_bases = select_present(noted_bases.values(), scanned, sides.looker.index)
    keys = entry_states.BaseKeys([base.path for base in present_bases if base.path], list(noted_bases))
    async with sides.database.transaction(sides.tenant, sides.fence) as connection:
        bases, rows = await entry_states.load_bases_and_rows(
            connection, sides.tenant, sides.mirror, keys, list(noted_bases)
        )
        missing_bases = select_missing(present_bases, bases, rows)
        await run_statements(connection, [sides.writer.store_base(base) for base in missing_bases])
    recorded = {base.entry for base in [*bases, *missing_bases]}
    waiting = {entry for entry, row in rows.items() if not row.deleted and entry not in recorded}
    await asyncio.to_thread(sides.unrecorded_files.forget, sides.state, noted_bases.keys() - waiting)


def select_present(noted_bases: Iterable[Base], scanned: Scan, index: Index) -> list[Base]:
    """
    Those of *noted_bases* whose file is in the tree, at its path or renamed.

    A file that is gone stays without a base, so that it is written again: a note may be old, and no proof that a
    person deleted the page.
    """
    inodes = {(stat.device, stat.inode) for stat in scanned.files.values()}

    def is_present(path: str) -> bool:
        cached = index.get(path)
        is_renamed = cached is not None and (cached.device, cached.inode) in inodes
        return is_renamed or path in scanned.files or path in scanned.unchanged

    return [base for base in noted_bases if base.path is not None and is_present(base.path)]


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
