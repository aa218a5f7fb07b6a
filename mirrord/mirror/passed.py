"""Count the files that a scan skips silently, by kind: for users who miss files."""

import os
from collections import Counter
from collections.abc import Iterator

from mirrord.domain.place import RECORDS
from mirrord.errors import Refused
from mirrord.mirror.layout import is_temporary, printable
from mirrord.mirror.scan import Scan
from mirrord.mirror.tree import Tree

HIDDEN, UNFINISHED, IGNORED, NO_ENDING = "hidden", "unfinished", "ignored", "without ending"


def count_skipped(tree: Tree, scan: Scan) -> Counter[str]:
    """
    Number of names that a scan of the whole *tree* did not list, by HIDDEN, UNFINISHED, IGNORED, or sort_of().

    A hidden or ignored directory counts once, with all its content.
    """
    counts = Counter(kind for path in ("", *scan.directories) for kind in _kinds_in_directory(tree, path))
    ignored = [path for path in scan.ignored if path.rpartition("/")[0] not in scan.ignored]
    return counts + Counter({IGNORED: len(ignored)}) + Counter(map(file_sort, scan.strangers))


def file_sort(path: str) -> str:
    """The kind of a file that is neither a page nor an attachment: its ending, or PLAIN."""
    return printable(os.path.splitext(path)[1].lower()) or NO_ENDING


def _kinds_in_directory(tree: Tree, path: str) -> Iterator[str]:
    if path.startswith(RECORDS):
        return
    try:
        with tree.open_directory(path) as directory, os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    yield from () if entry.name == RECORDS and not path else (HIDDEN,)
                elif entry.is_file(follow_symlinks=False) and is_temporary(entry.name):
                    yield UNFINISHED
    except (OSError, Refused):
        return  # the scan reports the reason
