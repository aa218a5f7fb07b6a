"""From what a caller wrote for a page to its file, free names for new pages, and attachments only one page uses."""

from posixpath import normpath, relpath

from mirrord.commands.core.failure import Failed, invalid_argument, page_not_found, translating_errors
from mirrord.commands.core.session import Session
from mirrord.domain.entry import Kind
from mirrord.domain.place import (
    MAX_NAME_BYTES,
    clean_name,
    find_portability_fault,
    is_reserved,
    name_key,
    unused_name,
)
from mirrord.errors import Busy, Damaged, Refused
from mirrord.mirror.read.page_catalogue import Snapshot
from mirrord.mirror.read.page_summary import PageSummary
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.path_spelling import spelling_in_tree
from mirrord.mirror.tree.scoped_tree import check_writable
from mirrord.mirror.tree.tenant_tree import Stat, Tree
from mirrord.mirror.tree.tree_layout import (
    INDEX_FILE,
    SUFFIX,
    is_temporary,
    is_text,
    page_path,
    parent_of,
    spot_of_file,
)

_OTHER_TENANT = "Cannot access pages in another tenant"  # the words agents were promised
_MAX_PATH_BYTES = 4_000  # bytes
_MAX_LEVELS = 100  # of new pages: recursive walks of the tree take a stack frame per level


def find_page_path(session: Session, path: str, *, exactly: bool = False) -> str | None:
    """
    Path of the file of the page at *path*, with or without `.md`, or None.

    exactly: exclude names that differ in case or composition. Raises Failed for an invalid path.
    """
    located = find_page_with_stat(session, path, exactly=exactly)
    return located[0] if located is not None else None


def find_page_with_stat(session: Session, path: str, *, exactly: bool = False) -> tuple[str, Stat] | None:
    """As find_page_path(), with its stat; it may be something other than a regular file."""
    candidates = possible_files(path)
    with translating_errors():
        for find_page in (_find_page_file,) if exactly else (_find_page_file, _similar_page):
            for candidate in candidates:
                if (location := find_page(session.tree, candidate)) is not None:
                    return location
    return None


def find_directory(session: Session, path: str, *, exactly: bool = False) -> str | None:
    """The directory at *path* in the spelling of the tree, or None. exactly: as find_page_path()."""
    checked_path = validate_path(path)
    with translating_errors():
        spelling = checked_path if exactly else spelling_in_tree(session.tree, checked_path)
        stat = session.tree.stat(spelling) if spelling is not None else None
    return spelling if stat is not None and stat.is_directory else None


def new_page_path(session: Session, path: str) -> str:
    """
    Path of the file of a new page at *path*; its directory may be missing.

    An existing directory gets an index file. Raises Failed for a name that mirrord does not create.
    """
    checked_path = validate_path(path)
    is_index = checked_path.endswith("/" + INDEX_FILE)
    stem = parent_of(checked_path) if is_index else checked_path.removesuffix(SUFFIX)
    with translating_errors():
        check_writable(session.tree, stem + SUFFIX)
    check_depth(stem)
    for name in stem.split("/"):
        check_name(name, path)
    with translating_errors():
        stem = _spell_parents(session.tree, stem)
        stat = session.tree.stat(stem)
        is_index = is_index or (stat is not None and stat.is_directory)
        result = page_path(parent_of(stem), stem.rpartition("/")[2], is_index)
        check_not_ignored(session.tree, result)
    return result


def validate_path(path: str) -> str:
    """
    *path* without trailing slashes. Raises Failed for a path that cannot name a page.

    The opener also refuses paths outside the tree; here they get the documented sentence.
    """
    trimmed = path.rstrip("/") if path != "/" else path
    if "\0" in trimmed or not is_text(trimmed) or len(trimmed.encode()) > _MAX_PATH_BYTES:
        raise invalid_argument(
            "INVALID_PATH", "A path is text without NUL of at most 4,000 bytes.", "Use another path."
        )
    check_inside(trimmed)
    parts = trimmed.split("/")
    if not trimmed or any(part in ("", ".") for part in parts):
        raise invalid_argument(
            "INVALID_PATH", f"{path!r} is no path of a page.", "Use a path such as Projects/Alpha.md."
        )
    if any(part.startswith(".") or name_key(part) == "assets" for part in parts):
        raise Failed(
            "FORBIDDEN", "forbidden", f"{path!r} is not a page: dot-names and assets are kept apart.", _LIST_PAGES
        )
    return trimmed


def check_inside(path: str) -> None:
    """Raises Failed for a path that leads out of the tenant's tree."""
    if path.startswith("/") or ".." in path.split("/"):
        raise Failed(
            "FORBIDDEN", "forbidden", _OTHER_TENANT, "Paths begin at the tenant's root, such as Projects/Alpha.md."
        )


_LIST_PAGES = "Use list_pages to see which pages there are."


def check_depth(path: str) -> None:
    """Raises Failed for a path deeper than new pages may be."""
    if path.count("/") >= _MAX_LEVELS:
        raise invalid_argument(
            "INVALID_PATH", f"Pages are made at most {_MAX_LEVELS} levels deep.", "Use a shorter path."
        )


def check_name(name: str, path: str) -> None:
    """Raises Failed unless mirrord itself could create a file of this name; path: for the sentence."""
    if reason := name_objection(name):
        raise invalid_argument(
            "INVALID_NAME", f"{path!r}: the name {name!r} {reason}.", f"Use {clean_name(name, 'page')!r} instead."
        )


def name_objection(name: str) -> str | None:
    """Why mirrord does not create a page or folder of this name, as half a sentence; None: it does."""
    if is_reserved(name) or is_temporary(name + SUFFIX):
        return "is kept for other things"
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"is longer than {MAX_NAME_BYTES} bytes"
    return find_portability_fault(name)


def possible_files(path: str) -> tuple[str, str]:
    """
    Possible file paths of the page *path*: as a leaf and as the page of a directory, which may have changed.

    Raises Failed for a path that cannot name a page.
    """
    checked_path = validate_path(path)
    if checked_path.endswith("/" + INDEX_FILE):
        return checked_path, parent_of(checked_path) + SUFFIX
    if checked_path.endswith(SUFFIX):
        return checked_path, f"{checked_path.removesuffix(SUFFIX)}/{INDEX_FILE}"
    return f"{checked_path}/{INDEX_FILE}", checked_path + SUFFIX


def _find_page_file(tree: Tree, path: str) -> tuple[str, Stat] | None:
    """The page file at *path*, unless it is a directory; other non-files are refused when opened."""
    spot = spot_of_file(path)
    stat = tree.stat(path) if spot is not None and spot.kind is Kind.PAGE else None
    return (path, stat) if stat is not None and not stat.is_directory else None


def _similar_page(tree: Tree, path: str) -> tuple[str, Stat] | None:
    """The page whose path differs from *path* only in case or in the composition of characters."""
    spelling = spelling_in_tree(tree, path)
    return _find_page_file(tree, spelling) if spelling is not None and spelling != path else None


def _spell_parents(tree: Tree, path: str) -> str:
    """*path* with existing parent directories in their actual spelling."""
    parent, _, name = path.rpartition("/")
    if not parent:
        return spelling_in_tree(tree, name) or name
    parent = _spell_parents(tree, parent)
    return spelling_in_tree(tree, f"{parent}/{name}") or f"{parent}/{name}"


def check_not_ignored(tree: Tree, path: str) -> None:
    """Raises Failed for a new file that `.mirrorignore` excludes."""
    try:
        ignore = Ignore.load(tree)
    except (Busy, Damaged, Refused):
        return
    parts = path.split("/")
    if any(ignore.matches("/".join(parts[:depth]), depth < len(parts)) for depth in range(1, len(parts) + 1)):
        raise invalid_argument(
            "IGNORED", f"{path!r} is kept out by .mirrorignore and would never be synced.", "Use another path."
        )


def free_name(tree: Tree, directory: str, base_name: str, fallback: str) -> str:
    """
    A name like *base_name*, without `.md`, that no page or folder in *directory* has, ignoring case.

    fallback: the name if cleaning removes all of *base_name*.
    """
    return unused_name(clean_name(base_name, fallback), taken_keys(tree, directory))


def taken_keys(tree: Tree, directory: str) -> set[str]:
    """The keys of all names in *directory*, without `.md`."""
    try:
        return {name_key(name.removesuffix(SUFFIX)) for name in tree.list_names(directory)}
    except (FileNotFoundError, NotADirectoryError):
        return set()


def path_of_title(session: Session, directory: str, title: str, fallback: str) -> str | None:
    """The file of the page in *directory* that has the name made of *title*; None: there is none."""
    name = clean_name(title, fallback)
    return find_page_path(session, f"{directory}/{name}" if directory else name)


def free_path(tree: Tree, directory: str, base_name: str, fallback: str) -> str:
    """Path of the file of a new page in *directory*."""
    return page_path(directory, free_name(tree, directory, base_name, fallback))


_ROOT_PATHS = ("", "/", ".")


def find_directory_card(session: Session, snapshot: Snapshot, path: str | None) -> PageSummary | None:
    """The page or folder at *path*; None for the root. Raises Failed if it is missing."""
    return None if path is None or path in _ROOT_PATHS else find_card(session, snapshot, path)


def find_card(session: Session, snapshot: Snapshot, path: str) -> PageSummary:
    """The page or folder at *path*, with or without `.md`. Raises Failed if it is missing."""
    card = _find_card(session, snapshot, path, exactly=True) or _find_card(session, snapshot, path, exactly=False)
    if card is None:
        raise page_not_found(path, snapshot.similar_pages(path))
    return card


def _find_card(session: Session, snapshot: Snapshot, path: str, *, exactly: bool) -> PageSummary | None:
    if (page := find_page_path(session, path, exactly=exactly)) and (card := snapshot.exact_page(page)):
        return card
    folder = find_directory(session, path, exactly=exactly)
    return snapshot.find(folder) if folder else None


def original_of(card: PageSummary) -> str | None:
    """Path of the attachment named by a page as its original, which need not exist, or None."""
    if card.original is None or card.original.startswith("/") or "://" in card.original:
        return None
    path = normpath(f"{parent_of(card.path)}/{card.original}".lstrip("/"))
    spot = spot_of_file(path)
    return path if spot is not None and spot.kind is Kind.ATTACHMENT else None


def original_link(page: str, path: str) -> str:
    """Link of the page at *page* to its original at *path*."""
    link = relpath(path, parent_of(page) or ".")
    return link if link.startswith("../") else f"./{link}"


def own_attachments(session: Session, path: str) -> list[str]:
    """Attachments in the folder of the page at *path* that it, and no other page, links to or was made from."""
    snapshot = session.catalogue.snapshot()
    folder = parent_of(path)
    linked_paths = {target.path for target in session.linkage.outgoing(snapshot, path)}
    origins = {
        page: origin for page, card in snapshot.summaries_by_path.items() if (origin := original_of(card)) is not None
    }
    original, other_originals = origins.pop(path, None), set(origins.values())
    candidates = [
        attachment
        for attachment in snapshot.attachments
        if (attachment in linked_paths or attachment == original) and _folder_of_attachment(attachment) == folder
    ]
    return [
        attachment
        for attachment in candidates
        if attachment not in other_originals and {*session.linkage.incoming(snapshot, attachment)} <= {path}
    ]


def _folder_of_attachment(attachment: str) -> str | None:
    spot = spot_of_file(attachment)
    return spot.folder if spot is not None else None
