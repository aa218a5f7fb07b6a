"""Identify files at paths that the daemon has not recorded: they were moved or written since its last look, or while it
was down. Nothing is guessed from the path."""

from collections.abc import Iterable

from mirrord.domain.entry import EntryId
from mirrord.errors import Busy, Refused
from mirrord.mirror import copies
from mirrord.mirror.agreed import AgreedState
from mirrord.mirror.kernel import Stat
from mirrord.mirror.state import CachedStat
from mirrord.mirror.tree import Tree

MAX_READ_FILES = 200  # files whose bytes are read: a tree without a daemon is not read completely for its ids


def moved_entries(tree: Tree, agreed: AgreedState, paths: Iterable[str]) -> dict[str, EntryId]:
    """
    Entries by path: of files and directories that the daemon recorded at another path and that left it, and of files
    that a command wrote and labelled. Other files are unknown.
    """
    stats = {path: stat for path in paths if (stat := tree.stat(path)) is not None}
    records = agreed.by_inodes({(stat.device, stat.inode) for stat in stats.values()}) if stats else {}
    entries = {
        path: record.entry
        for path, stat in stats.items()
        for old_path, record in records.get((stat.device, stat.inode), ())
        if _was_moved(tree, path, stat, old_path, record)
    }
    unknown_paths = [path for path, stat in stats.items() if path not in entries and stat.is_file]
    return entries | _written_entries(tree, unknown_paths)


def _was_moved(tree: Tree, path: str, stat: Stat, old_path: str, record: CachedStat) -> bool:
    """Whether it is the recorded file or directory itself; a new one may have got its inode number."""
    old_stat = tree.stat(old_path)
    if old_stat is not None and (old_stat.device, old_stat.inode) == (stat.device, stat.inode):
        return False
    return tree.was_made_since(path, record.ctime_ns) is False


def _written_entries(tree: Tree, paths: list[str]) -> dict[str, EntryId]:
    """Entries of files whose bytes commands wrote; the daemon will record them later."""
    written = copies.entries_by_digest(tree) if 0 < len(paths) <= MAX_READ_FILES else {}
    entries = {}
    for path in paths if written else ():
        try:
            digest = tree.digest(path)[0]
        except (Busy, Refused, OSError):
            continue
        if digest in written:
            entries[path] = written[digest]
    return entries
