"""
PURE: which path of a tree is which entry.

Paths are relative to the tenant's root, parts joined by "/", no slash at either end; "" is the root.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mirrord.domain.entry import Kind
from mirrord.domain.place import ASSETS, BESIDE_PREFIX, INDEX, RECORD_DIRECTORIES, RECORDS, name_key, name_of_record

STATE_DIRECTORY = ".mirrord"
PAUSE_FILE = "PAUSE"  # while a file of that name is in the root, sync pauses
PARKED_PREFIX, BUILDING_PREFIX = (
    "m.",
    "n.",
)  # prefixes of the names of parked files, and of building directories, in a journal
SUFFIX = ".md"
INDEX_FILE = INDEX + SUFFIX

_HIDDEN_PART = re.compile(r"(?:^|/)(?:[./]|\Z)")  # a part that is a dot-name, or empty
_TEMPORARY_SUFFIXES = ("~", ".swp", ".swo", ".swx", ".tmp", ".part", ".crdownload", "___jb_tmp___", "___jb_old___")


@dataclass(frozen=True, slots=True)
class Spot:
    """
    The kind of a path and its position in the tree of pages.

    folder: path of its directory in the tree of pages: `Projects` for `Projects/Alpha.md`,
        for `Projects/assets/a/b.png` and for the directory `Projects/Work`; "" for `Projects/_index.md`.
    name: without `.md`; of an attachment the part after `assets/`, or `./` and its file's name if it lies beside
        the pages; of a record `category/NAME` and so on.
    index: the page is the `_index.md` of the directory called *name*.
    """

    kind: Kind
    folder: str
    name: str
    index: bool = False


def spot_of_file(path: str) -> Spot | None:
    """
    The spot of the file at *path*; None if it cannot be an entry.

    A file beside the pages may be an attachment; `Ignore.leaves_out` decides about new ones.
    """
    parts = path.split("/")
    if parts[0] == RECORDS:
        name = name_of_record(path)
        return Spot(Kind.RECORD, "", name) if name is not None else None
    if not _is_visible_path(path) or is_temporary(parts[-1]):
        return None
    if ASSETS in parts[:-1]:
        at = parts.index(ASSETS)
        return Spot(Kind.ATTACHMENT, "/".join(parts[:at]), "/".join(parts[at + 1 :]))
    if not parts[-1].endswith(SUFFIX):
        return Spot(Kind.ATTACHMENT, "/".join(parts[:-1]), BESIDE_PREFIX + parts[-1]) if may_be_beside(path) else None
    if parts[-1] == INDEX_FILE and len(parts) > 1:
        return Spot(Kind.PAGE, "/".join(parts[:-2]), parts[-2], index=True)
    return Spot(Kind.PAGE, "/".join(parts[:-1]), parts[-1].removesuffix(SUFFIX))


def spot_of_directory(path: str) -> Spot | None:
    """The folder at *path*; None for the root, dot-names, `assets` and everything below it."""
    parts = path.split("/")
    if ASSETS in parts or not _is_visible_path(path):
        return None
    return Spot(Kind.FOLDER, "/".join(parts[:-1]), parts[-1])


def page_path(folder: str, name: str, index: bool = False) -> str:
    """The file of the page *name* in the directory *folder*."""
    return _join_parts(folder, name, INDEX_FILE) if index else _join_parts(folder, name + SUFFIX)


def attachment_path(folder: str, name: str) -> str:
    """The file of the attachment *name* of the directory *folder*."""
    return (
        _join_parts(folder, name.removeprefix(BESIDE_PREFIX))
        if name.startswith(BESIDE_PREFIX)
        else _join_parts(folder, ASSETS, name)
    )


def may_be_beside(path: str) -> bool:
    """Whether a file beside the pages may be an attachment; `.MD` is a page's suffix if case is ignored."""
    return path[-len(SUFFIX) :].lower() != SUFFIX


def is_beside(spot: Spot) -> bool:
    """Whether *spot* is of an attachment that lies beside the pages."""
    return spot.kind is Kind.ATTACHMENT and spot.name.startswith(BESIDE_PREFIX)


def directory_of(path: str, kind: Kind) -> str:
    """The directory of the children of the page or folder at *path*, whether it exists or not."""
    if kind is Kind.FOLDER:
        return path
    if path.endswith("/" + INDEX_FILE):
        return path.removesuffix("/" + INDEX_FILE)
    return path.removesuffix(SUFFIX)


def renamed_path(path: str, old: str, new: str) -> str:
    """*path* after the rename of *old*, itself or a parent directory, to *new*."""
    return new + path[len(old) :] if path == old or path.startswith(f"{old}/") else path


def parent_of(path: str) -> str:
    """The parent directory in the file system."""
    return path.rpartition("/")[0]


def name_of(path: str) -> str:
    """The last name in *path*."""
    return path.rpartition("/")[2]


def lineage(path: str) -> Iterator[str]:
    """*path* and its parent directories without the root, innermost first."""
    while path:
        yield path
        path = parent_of(path)


def by_depth(path: str) -> tuple[int, str, bool]:
    """A sort key: parents before children; a page before the directory of its children, where it stands."""
    directory = path.removesuffix(f"/{INDEX_FILE}") if path.endswith(f"/{INDEX_FILE}") else path.removesuffix(".md")
    return directory.count("/"), directory, path == directory


def may_be_synced(path: str) -> bool:
    """Whether *path* may be synced: UTF-8 without dot-names, or a record, or above one."""
    if path.startswith(RECORDS):
        above = parent_of(path)
        return (
            path == RECORDS
            or path in RECORD_DIRECTORIES
            or (above in RECORD_DIRECTORIES and is_visible(path[len(above) + 1 :]))
        )
    return _is_visible_path(path)


def is_visible(name: str) -> bool:
    """Whether a part of a page's path may be synced: no dot-name, and UTF-8."""
    return name != "" and name[0] != "." and is_text(name)


def _is_visible_path(path: str) -> bool:
    """Whether every part of *path* is visible."""
    return not _HIDDEN_PART.search(path) and (path.isascii() or is_text(path))


def is_temporary(name: str) -> bool:
    """Whether editors and browsers give such a name to unfinished files."""
    if name.endswith(_TEMPORARY_SUFFIXES) or name.startswith("~$"):
        return True
    return name == "4913" or (name[0] == "#" and name[-1] == "#")  # vim's trial file; emacs' own copies


def is_text(name: str) -> bool:
    """Whether the bytes of a name are UTF-8; Python decodes other bytes as lone surrogates."""
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_own_state(path: str) -> bool:
    """Whether *path* belongs to mirrord's own state, also on file systems that ignore case."""
    return name_key(path.partition("/")[0]) == STATE_DIRECTORY


def is_in_journal_directory(path: str) -> bool:
    """Whether *path* is in a directory of a journal: `m.…` parked, `n.…` under construction."""
    parts = path.split("/")
    return (
        parts[:2] == [STATE_DIRECTORY, "tmp"]
        and len(parts) > 4
        and parts[3].startswith((PARKED_PREFIX, BUILDING_PREFIX))
    )


def printable(path: str) -> str:
    r"""*path* as text for any log or database: bytes that are not UTF-8 appear as `\xNN`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _join_parts(*parts: str) -> str:
    return "/".join(filter(None, parts))
