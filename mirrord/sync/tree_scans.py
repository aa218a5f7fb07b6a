"""Scans of a whole tree, and the comparison of everything with what the scan shows."""

from contextlib import suppress

from mirrord.db.content import entry_comparison
from mirrord.domain.entry import EntryId
from mirrord.errors import Busy, Damaged, Refused
from mirrord.mirror.tree import ignore_rules
from mirrord.mirror.tree.tree_scan import Scan, scan
from mirrord.sync.activity import ScanProgress
from mirrord.sync.observation.file_look import LookResult
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.problem_list import ProblemList


def scan_tree(sides: Sides, problems: ProblemList, scanning: ScanProgress) -> tuple[Scan, set[str], LookResult]:
    """Scan the whole tree without reading files: the scan, the paths that differ from the index, the problems."""
    looker, look = sides.looker, LookResult()
    with suppress(Busy, Refused):
        try:
            looker.ignore = ignore_rules.Ignore.load(sides.tree)
        except Damaged as error:
            look.troubles.append((ignore_rules.IGNORE_PATH, "damaged", str(error)))
    look.looked_paths.add(ignore_rules.IGNORE_PATH)
    scanned = scan(sides.tree, looker.ignore, report_count=scanning.set_count, stored_path=looker.index.unchanged_path)
    look.add_scan_troubles(scanned)
    # an unreadable path is in no index: only the problem list shows that it is gone
    look.gone_paths.update(path for path in problems.paths_seen_in_tree() if scanned.proves_absent(path))
    looker.index.forget_lost_inodes()
    return scanned, looker.find_differing(scanned) | problems.find_readable_again(scanned), look


async def find_differing(sides: Sides, scanned: Scan) -> tuple[set[str], list[EntryId]]:
    """
    The paths and the entries whose base, file and row are not equal. Only paths that *scanned* shows are compared.
    """
    index = sides.looker.index
    differing_paths, absent_entries = set(index.paths()), list[EntryId]()
    async with sides.database.transaction(sides.tenant) as connection:
        async for bases in entry_comparison.load_base_batches(connection, sides.tenant, sides.mirror):
            differing_paths.difference_update(
                path for _, path, digest in bases if path and index.has_digest(path, digest)
            )
            absent_entries += [entry for entry, path, _ in bases if path is None or scanned.proves_absent(path)]
            differing_paths |= sides.looker.reclaim_forgotten(
                scanned, (path for _, path, _ in bases if path is not None)
            )
        entries = await entry_comparison.load_differing(connection, sides.tenant, sides.mirror)
    return differing_paths, [*entries, *absent_entries]
