"""Which changes are told whole by what is there now, and which may be half of a rename or of a save."""

from mirrord.errors import Refused
from mirrord.mirror.ignore import Ignore
from mirrord.mirror.index import Index
from mirrord.mirror.layout import may_be_synced
from mirrord.mirror.tree import Stat, Tree


def is_told(tree: Tree, index: Index, ignore: Ignore, path: str) -> bool:
    """
    Whether nothing more is to come of a change at *path*: a file that was known has other content, or what is there
    means nothing. A name that went or is new may be going somewhere else or have come from there, an empty file may
    be about to be filled. A hint, as the change was; may be called in another thread than looks.
    """
    if not may_be_synced(path):
        return True
    try:
        stat = tree.stat(path)
    except (OSError, Refused):
        return False
    if path not in index:
        return stat is None or (not stat.is_directory and ignore.rules.leave_out(path))
    return stat is not None and stat.is_file and stat.size > 0 and not _is_of_another(index, path, stat)


def _is_of_another(index: Index, path: str, stat: Stat) -> bool:
    """Whether the file was last seen under another name."""
    known = index.path_of((stat.device, stat.inode))
    if known is None or known == path:
        return False
    seen = index.get(known)  # it may have got a new file since, and this one the number of its old one
    return seen is not None and (seen.device, seen.inode) == (stat.device, stat.inode)
