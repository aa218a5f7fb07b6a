"""What a scan passes over without a word, counted by what it is: for people who wonder where their files are."""

import os
from collections import Counter
from collections.abc import Iterator

from mirrord.domain.place import ASSETS, RECORDS
from mirrord.errors import Refused
from mirrord.mirror.layout import SUFFIX, is_temporary, printable
from mirrord.mirror.scan import Scan
from mirrord.mirror.tree import Tree

HIDDEN, UNFINISHED, IGNORED, PLAIN = "hidden", "unfinished", "ignored", "without ending"


def passed_over(tree: Tree, found: Scan) -> Counter[str]:
    """
    How many names a scan of the whole *tree* did not list, by HIDDEN, UNFINISHED, IGNORED, PLAIN or an ending.

    A hidden or ignored directory counts once, with all that is in it.
    """
    counted = Counter(kind for path in ("", *found.directories) for kind in _in_directory(tree, path))
    ignored = [path for path in found.ignored if path.rpartition("/")[0] not in found.ignored]
    return counted + Counter({IGNORED: len(ignored)})


def _in_directory(tree: Tree, path: str) -> Iterator[str]:
    in_assets = ASSETS in path.split("/")
    if path.startswith(RECORDS):
        return
    try:
        with tree.directory(path) as directory, os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    yield from () if entry.name == RECORDS and not path else (HIDDEN,)
                elif entry.is_file(follow_symlinks=False):
                    yield from _of_file(entry.name, in_assets=in_assets)
    except (OSError, Refused):
        return  # the scan's own list says why


def _of_file(name: str, *, in_assets: bool) -> Iterator[str]:
    if is_temporary(name):
        yield UNFINISHED
    elif not (in_assets or name.endswith(SUFFIX)):
        yield printable(os.path.splitext(name)[1].lower()) or PLAIN
