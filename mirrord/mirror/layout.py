"""
PURE: which path of a tree is which entry.

Paths are relative to the tenant's root, parts joined by "/", no slash at either end; "" is the root.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mirrord.domain.entry import Kind
from mirrord.domain.place import ASSETS, BESIDE, INDEX, RECORDS, name_key
from mirrord.domain.record import DIRECTORIES, name_of_record

MACHINE = ".mirrord"
PARKED, ARRIVING = "m.", "n."  # how names of what is parked, or being built, in a journal begin
SUFFIX = ".md"
INDEX_FILE = INDEX + SUFFIX

_HIDDEN = re.compile(r"(?:^|/)(?:[./]|\Z)")  # a part that is a dot-name, or empty
_TEMPORARY = ("~", ".swp", ".swo", ".swx", ".tmp", ".part", ".crdownload", "___jb_tmp___", "___jb_old___")


@dataclass(frozen=True, slots=True)
class Spot:
    """
    What a path is and where it hangs.

    folder: path of the directory that holds it in the tree of pages: `Projects` for `Projects/Alpha.md`,
        for `Projects/assets/a/b.png` and for the directory `Projects/Work`; "" for `Projects/_index.md`.
    name: without `.md`; an attachment's is what follows `assets/`, or `./` and its file's name where it lies beside
        the pages; a record's is `category/NAME` and so on.
    index: the page is the `_index.md` of the directory called *name*.
    """

    kind: Kind
    folder: str
    name: str
    index: bool = False


def spot_of_file(path: str) -> Spot | None:
    """
    What the file at *path* is; None if it can be nothing.

    A file beside the pages may be an attachment; whether it is taken in while it is new, `Ignore.leaves_out` says.
    """
    parts = path.split("/")
    if parts[0] == RECORDS:
        name = name_of_record(path)
        return Spot(Kind.RECORD, "", name) if name is not None else None
    if not _is_visible(path) or is_temporary(parts[-1]):
        return None
    if ASSETS in parts[:-1]:
        at = parts.index(ASSETS)
        return Spot(Kind.ATTACHMENT, "/".join(parts[:at]), "/".join(parts[at + 1 :]))
    if not parts[-1].endswith(SUFFIX):
        return Spot(Kind.ATTACHMENT, "/".join(parts[:-1]), BESIDE + parts[-1]) if may_be_beside(path) else None
    if parts[-1] == INDEX_FILE and len(parts) > 1:
        return Spot(Kind.PAGE, "/".join(parts[:-2]), parts[-2], index=True)
    return Spot(Kind.PAGE, "/".join(parts[:-1]), parts[-1].removesuffix(SUFFIX))


def spot_of_directory(path: str) -> Spot | None:
    """The folder at *path*; None for the root, dot-names, `assets` and whatever is in it."""
    parts = path.split("/")
    if ASSETS in parts or not _is_visible(path):
        return None
    return Spot(Kind.FOLDER, "/".join(parts[:-1]), parts[-1])


def page_path(folder: str, name: str, index: bool = False) -> str:
    """The file of the page *name* in the directory *folder*."""
    return _join(folder, name, INDEX_FILE) if index else _join(folder, name + SUFFIX)


def attachment_path(folder: str, name: str) -> str:
    """The file of the attachment *name* of the directory *folder*."""
    return _join(folder, name.removeprefix(BESIDE)) if name.startswith(BESIDE) else _join(folder, ASSETS, name)


def may_be_beside(path: str) -> bool:
    """Whether a file beside the pages may be an attachment; `.MD` is a page's ending where case means nothing."""
    return path[-len(SUFFIX) :].lower() != SUFFIX


def is_beside(spot: Spot) -> bool:
    """Whether *spot* is of an attachment that lies beside the pages."""
    return spot.kind is Kind.ATTACHMENT and spot.name.startswith(BESIDE)


def directory_of(path: str, kind: Kind) -> str:
    """The directory where the children of the page or folder at *path* live, whether it exists or not."""
    if kind is Kind.FOLDER:
        return path
    if path.endswith("/" + INDEX_FILE):
        return path.removesuffix("/" + INDEX_FILE)
    return path.removesuffix(SUFFIX)


def carried(path: str, old: str, new: str) -> str:
    """Where what was at *path* is after *old*, it or a directory above it, was renamed to *new*."""
    return new + path[len(old) :] if path == old or path.startswith(f"{old}/") else path


def parent_of(path: str) -> str:
    """The directory a file or directory lies in, as the file system has it."""
    return path.rpartition("/")[0]


def lineage(path: str) -> Iterator[str]:
    """*path* and the directories above it, but for the root, from below."""
    while path:
        yield path
        path = parent_of(path)


def may_be_synced(path: str) -> bool:
    """Whether *path* is of those that are looked at: without dot-names and all UTF-8, or a record's, or above one."""
    if path.startswith(RECORDS):
        above = parent_of(path)
        return path == RECORDS or path in DIRECTORIES or (above in DIRECTORIES and is_visible(path[len(above) + 1 :]))
    return _is_visible(path)


def is_visible(name: str) -> bool:
    """Whether a part of a page's path may be synced: no dot-name, and UTF-8."""
    return name != "" and name[0] != "." and is_text(name)


def _is_visible(path: str) -> bool:
    """Whether every part of *path* is."""
    return not _HIDDEN.search(path) and is_text(path)


def is_temporary(name: str) -> bool:
    """Whether a file's name is one that editors and browsers give to what they have not finished."""
    if name.endswith(_TEMPORARY) or name.startswith("~$"):
        return True
    return name == "4913" or (name[0] == "#" and name[-1] == "#")  # vim's trial file; emacs' own copies


def is_text(name: str) -> bool:
    """Whether the bytes of a name are UTF-8; Python shows others as lone surrogates."""
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_machine(path: str) -> bool:
    """Whether *path* belongs to mirrord's own state, also where a file system ignores case."""
    return name_key(path.partition("/")[0]) == MACHINE


def is_waiting(path: str) -> bool:
    """Whether *path* is in a directory that waits in a journal: `m.…` of the tree, `n.…` on its way into it."""
    parts = path.split("/")
    return parts[:2] == [MACHINE, "tmp"] and len(parts) > 4 and parts[3].startswith((PARKED, ARRIVING))


def printable(path: str) -> str:
    """*path* as text that any log or database takes: bytes that are not UTF-8 appear as `\\xNN`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _join(*parts: str) -> str:
    return "/".join(filter(None, parts))
