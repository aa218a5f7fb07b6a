"""Is a change complete, or possibly half of a rename or of a save?"""

from mirrord.errors import Refused
from mirrord.mirror.ignore import Ignore
from mirrord.mirror.index import Index
from mirrord.mirror.layout import may_be_synced
from mirrord.mirror.tree import Stat, Tree


def is_complete(tree: Tree, index: Index, ignore: Ignore, path: str) -> bool:
    """
    Whether a change at *path* is complete: a known file has other content, or the path is not synced.

    A missing or new name may be half of a rename, an empty file may be about to be filled. The answer is a hint, as
    the change is; it may be asked in another thread than that of the scans.
    """
    if not may_be_synced(path):
        return True
    try:
        stat = tree.stat(path)
    except (OSError, Refused):
        return False
    if path not in index:
        return stat is None or (not stat.is_directory and ignore.rules.excludes(path))
    return stat is not None and stat.is_file and stat.size > 0 and not _is_renamed(index, path, stat)


def _is_renamed(index: Index, path: str, stat: Stat) -> bool:
    """Whether the file was last seen under another name."""
    last_path = index.path_of((stat.device, stat.inode))
    if last_path is None or last_path == path:
        return False
    record = index.get(last_path)  # a new file may be there, and this one may have the inode number of its old one
    return record is not None and (record.device, record.inode) == (stat.device, stat.inode)
