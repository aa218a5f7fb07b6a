"""Whose files are at paths that the daemon has not noted: they were moved or written since it last looked, or while it
is down. Nothing is guessed from the path."""

from collections.abc import Iterable

from mirrord.domain.entry import EntryId
from mirrord.errors import Busy, Refused
from mirrord.mirror import copies
from mirrord.mirror.agreed import Agreed
from mirrord.mirror.kernel import Stat
from mirrord.mirror.state import Seen
from mirrord.mirror.tree import Tree

MOST_READ = 200  # files whose bytes are looked at: a tree that no daemon has seen is not read whole for its ids


def moved_entries(tree: Tree, agreed: Agreed, paths: Iterable[str]) -> dict[str, EntryId]:
    """
    By path the entry of each file or directory that the daemon noted at another path, where it is not any more, or that
    a command wrote and said whose it is. Of others nothing is known.
    """
    stats = {path: stat for path in paths if (stat := tree.stat(path)) is not None}
    noted = agreed.at_inodes({(stat.device, stat.inode) for stat in stats.values()}) if stats else {}
    found = {
        path: seen.entry
        for path, stat in stats.items()
        for old_path, seen in noted.get((stat.device, stat.inode), ())
        if _was_moved(tree, path, stat, old_path, seen)
    }
    left = [path for path, stat in stats.items() if path not in found and stat.is_file]
    return found | _written(tree, left)


def _was_moved(tree: Tree, path: str, stat: Stat, old_path: str, seen: Seen) -> bool:
    """Whether it is the very file or directory that was noted; its number may have been given to a new one."""
    there = tree.stat(old_path)
    if there is not None and (there.device, there.inode) == (stat.device, stat.inode):
        return False
    return tree.was_made_since(path, seen.ctime_ns) is False


def _written(tree: Tree, paths: list[str]) -> dict[str, EntryId]:
    """What commands said of the bytes they wrote; the daemon takes that in when it comes."""
    written = copies.written(tree) if 0 < len(paths) <= MOST_READ else {}
    found = {}
    for path in paths if written else ():
        try:
            digest = tree.digest(path)[0]
        except (Busy, Refused, OSError):
            continue
        if digest in written:
            found[path] = written[digest]
    return found
