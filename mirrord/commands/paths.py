"""From what somebody wrote for a page to the path of its file: lenient where it is there, strict where it is to be."""

from mirrord.commands.failure import Failed, explained, invalid
from mirrord.commands.session import Session
from mirrord.domain.entry import Kind
from mirrord.domain.place import MAX_NAME_BYTES, clean, is_reserved, name_key, unportable
from mirrord.errors import Busy, Damaged, Refused
from mirrord.mirror.ignore import Ignore
from mirrord.mirror.layout import INDEX_FILE, SUFFIX, is_temporary, is_text, page_path, parent_of, spot_of_file
from mirrord.mirror.spelling import spelt
from mirrord.mirror.tree import Stat, Tree

_OTHERS = "Cannot access pages in another tenant"  # the words agents were promised
_MAX_PATH = 4_000  # bytes
_MAX_DEPTH = 100  # of what is made: whoever walks the tree of pages later takes a step of the stack for a level


def existing(session: Session, path: str, *, exactly: bool = False) -> str | None:
    """
    The path of the page's file that *path* means, with or without `.md`; None: there is no such page.

    exactly: not what only a reader takes for the same name. Raises Failed for a path that no page can have.
    """
    located = look(session, path, exactly=exactly)
    return located[0] if located is not None else None


def look(session: Session, path: str, *, exactly: bool = False) -> tuple[str, Stat] | None:
    """As existing(), and what is there; only who opens it knows whether it is a file."""
    candidates = spellings(path)
    with explained():
        for of_page in (_page_at,) if exactly else (_page_at, _twin):
            for one in candidates:
                if (found := of_page(session.tree, one)) is not None:
                    return found
    return None


def folder(session: Session, path: str, *, exactly: bool = False) -> str | None:
    """The directory that *path* means, as it is spelt; None: there is none. exactly: as existing()."""
    asked = checked(path)
    with explained():
        found = asked if exactly else spelt(session.tree, asked)
        stat = session.tree.stat(found) if found is not None else None
    return found if stat is not None and stat.is_directory else None


def fresh(session: Session, path: str) -> str:
    """
    The path of the file of a page that is to be made at *path*, where none is; its directory may lack.

    What is a directory already gets an index file. Raises Failed for a name that mirrord would not make.
    """
    asked = checked(path)
    is_index = asked.endswith("/" + INDEX_FILE)
    stem = parent_of(asked) if is_index else asked.removesuffix(SUFFIX)
    check_depth(stem)
    for name in stem.split("/"):
        check_name(name, path)
    with explained():
        stem = _above(session.tree, stem)
        found = session.tree.stat(stem)
        is_index = is_index or (found is not None and found.is_directory)
        result = page_path(parent_of(stem), stem.rpartition("/")[2], is_index)
        check_kept(session.tree, result)
    return result


def checked(path: str) -> str:
    """
    *path* without slashes at its end. Raises Failed for what cannot name a page.

    The opener refuses what leaves the tree, too; here it gets the sentence that people were promised.
    """
    asked = path.rstrip("/") if path != "/" else path
    if "\0" in asked or not is_text(asked) or len(asked.encode()) > _MAX_PATH:
        raise invalid("INVALID_PATH", "A path is text without NUL of at most 4,000 bytes.", "Use another path.")
    parts = asked.split("/")
    if asked.startswith("/") or ".." in parts:
        raise Failed("FORBIDDEN", "forbidden", _OTHERS, "Paths begin at the tenant's root, such as Projects/Alpha.md.")
    if not asked or any(part in ("", ".") for part in parts):
        raise invalid("INVALID_PATH", f"{path!r} is no path of a page.", "Use a path such as Projects/Alpha.md.")
    if any(part.startswith(".") or name_key(part) == "assets" for part in parts):
        raise Failed("FORBIDDEN", "forbidden", f"{path!r} is not a page: dot-names and assets are kept apart.", _LIST)
    return asked


_LIST = "Use list_pages to see which pages there are."


def check_depth(path: str) -> None:
    """Raises Failed for what would lie deeper than pages are made."""
    if path.count("/") >= _MAX_DEPTH:
        raise invalid("INVALID_PATH", f"Pages are made at most {_MAX_DEPTH} levels deep.", "Use a shorter path.")


def check_name(name: str, path: str) -> None:
    """Raises Failed unless mirrord would give a file this name itself; path: for the sentence."""
    if why := objection(name):
        raise invalid("INVALID_NAME", f"{path!r}: the name {name!r} {why}.", f"Use {clean(name, 'page')!r} instead.")


def objection(name: str) -> str | None:
    """Why mirrord would not give a page or folder this name, as half a sentence; None: it would."""
    if is_reserved(name) or is_temporary(name + SUFFIX):
        return "is kept for other things"
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"is longer than {MAX_NAME_BYTES} bytes"
    return unportable(name)


def spellings(path: str) -> tuple[str, str]:
    """
    Paths of files that *path* may mean; a page may have become a directory's since it was last seen, or a leaf.

    Raises Failed for what cannot name a page.
    """
    asked = checked(path)
    if asked.endswith("/" + INDEX_FILE):
        return asked, parent_of(asked) + SUFFIX
    if asked.endswith(SUFFIX):
        return asked, f"{asked.removesuffix(SUFFIX)}/{INDEX_FILE}"
    return f"{asked}/{INDEX_FILE}", asked + SUFFIX


def _page_at(tree: Tree, path: str) -> tuple[str, Stat] | None:
    """What is there, if it is no directory: what is no file is refused by who opens it."""
    spot = spot_of_file(path)
    found = tree.stat(path) if spot is not None and spot.kind is Kind.PAGE else None
    return (path, found) if found is not None and not found.is_directory else None


def _twin(tree: Tree, path: str) -> tuple[str, Stat] | None:
    """The page whose path is equal to *path* for a reader: another case, another composition of characters."""
    found = spelt(tree, path)
    return _page_at(tree, found) if found is not None and found != path else None


def _above(tree: Tree, path: str) -> str:
    """*path* below the directories that are there already, as they are spelt."""
    above, _, name = path.rpartition("/")
    if not above:
        return spelt(tree, name) or name
    above = _above(tree, above)
    return spelt(tree, f"{above}/{name}") or f"{above}/{name}"


def check_kept(tree: Tree, path: str) -> None:
    """Raises Failed for a new file that `.mirrorignore` keeps out."""
    try:
        ignore = Ignore.load(tree)
    except (Busy, Damaged, Refused):
        return
    parts = path.split("/")
    if any(ignore.matches("/".join(parts[:depth]), depth < len(parts)) for depth in range(1, len(parts) + 1)):
        raise invalid(
            "IGNORED", f"{path!r} is kept out by .mirrorignore and would never be synced.", "Use another path."
        )
