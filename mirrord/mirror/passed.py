"""What a scan passes over without a word, counted by what it is: for people who wonder where their files are."""

import os
from collections import Counter
from collections.abc import Iterator

from mirrord.domain.place import RECORDS
from mirrord.errors import Refused
from mirrord.mirror.layout import is_temporary, printable
from mirrord.mirror.scan import Scan
from mirrord.mirror.tree import Tree

HIDDEN, UNFINISHED, IGNORED, PLAIN = "hidden", "unfinished", "ignored", "without ending"


def passed_over(tree: Tree, found: Scan) -> Counter[str]:
    """
    How many names a scan of the whole *tree* did not list, by HIDDEN, UNFINISHED, IGNORED, or as sort_of() has it.

    A hidden or ignored directory counts once, with all that is in it.
    """
    counted = Counter(kind for path in ("", *found.directories) for kind in _in_directory(tree, path))
    ignored = [path for path in found.ignored if path.rpartition("/")[0] not in found.ignored]
    return counted + Counter({IGNORED: len(ignored)}) + Counter(map(sort_of, found.strangers))


def sort_of(path: str) -> str:
    """What a file is counted as that is neither a page nor an attachment: its ending, or PLAIN."""
    return printable(os.path.splitext(path)[1].lower()) or PLAIN


def _in_directory(tree: Tree, path: str) -> Iterator[str]:
    if path.startswith(RECORDS):
        return
    try:
        with tree.directory(path) as directory, os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    yield from () if entry.name == RECORDS and not path else (HIDDEN,)
                elif entry.is_file(follow_symlinks=False) and is_temporary(entry.name):
                    yield UNFINISHED
    except (OSError, Refused):
        return  # the scan's own list says why
