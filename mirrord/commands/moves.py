"""The agent moves and renames pages."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from itertools import count

from mirrord.commands import paths, promotion, writing
from mirrord.commands.belongings import own_attachments
from mirrord.commands.failure import Failed, invalid
from mirrord.commands.holdings import is_folder_of_sources
from mirrord.commands.plain_folders import NO_TEXT, folder_to_change, id_of_folder
from mirrord.commands.relocating import Change, links_of, relocate
from mirrord.commands.session import Session
from mirrord.domain.approval import ABSENT, MOST_LINES, Preview
from mirrord.domain.entry import Kind
from mirrord.domain.place import ASSETS, name_key, numbered_attachment
from mirrord.mirror.journal import Journal
from mirrord.mirror.layout import INDEX_FILE, SUFFIX, attachment_path, directory_of, page_path, parent_of, spot_of_file
from mirrord.mirror.tree import Tree


@dataclass(frozen=True, slots=True)
class Moved:
    """
    A page that has another path.

    moved: every page whose path is another now, by its path before. links_rewritten: in how many links of all pages
    paths or names were changed; left: pages whose links could not be, because somebody was writing them.
    """

    page_id: str
    new_path: str
    digest: str
    moved: dict[str, str]
    links_rewritten: int
    left: tuple[str, ...]


def move_page(
    session: Session,
    source_path: str,
    destination_path: str,
    expected_digest: str | None = None,
    *,
    rewrite_links: bool = True,
) -> Moved:
    """
    Move a page, with the pages below it and the attachments only it uses, to another path; or rename it.

    destination_path: the page's new path, or, if it ends in `/` or is a folder, or a page with pages below it, where
        it goes under its name. Missing folders are made; a leaf that gets its first child becomes the page of a
        folder, and one that loses its last a leaf again.
    rewrite_links: whether links, of other pages to it and of its own, go on meaning what they meant.
    """
    with session.writing() as journal:
        page = writing.there(session, source_path)
        if page is None:
            folder = folder_to_change(session, source_path, expected_digest).path
            return _move_folder(session, journal, folder, destination_path, links=rewrite_links)
        writing.check_unchanged(session, page, expected_digest)
        target = _target(session, page.path, destination_path)
        if target == page.path:
            entry = str(writing.page_id(session, page))
            return Moved(entry, page.path, page.digest.hex(), {}, 0, ())
        change = change_of(session, page, target, links=rewrite_links)
        known = list(session.catalogue.look().pages)
        done = relocate(session, journal, change)
        now = writing.read(session, change.moved(page.path))
        moved = {path: new for path in known if (new := change.moved(path)) != path}
        entry = str(writing.page_id(session, now))
        return Moved(entry, now.path, now.digest.hex(), moved, done.links, done.left)


def preview_move_page(
    session: Session,
    source_path: str,
    destination_path: str,
    expected_digest: str | None = None,
    *,
    rewrite_links: bool = True,
) -> Preview:
    """What move_page would do."""
    page = writing.there(session, source_path)
    if page is None:
        folder = folder_to_change(session, source_path, expected_digest).path
        target = _target(session, _index(folder), destination_path)
        change = _change_of_folder(session, folder, target, links=rewrite_links)
        return _preview_of(session, f"folder {folder}", change, folder, {target: ABSENT})
    writing.check_unchanged(session, page, expected_digest)
    target, bases = _target(session, page.path, destination_path), {page.path: page.digest.hex()}
    if target == page.path:
        return Preview(f"{page.path} would stay where it is.", {"new_path": target}, (), bases)
    change = change_of(session, page, target, links=rewrite_links)
    return _preview_of(session, f"page {page.path}", change, page.path, {**bases, target: ABSENT})


def _preview_of(session: Session, what: str, change: Change, path: str, bases: Mapping[str, str]) -> Preview:
    moved = {path: new for path in session.catalogue.look().pages if (new := change.moved(path)) != path}
    facts = {
        "path": path,
        "new_path": change.moved(path),
        "moved_pages_count": len(moved),
        "links_rewritten_count": links_of(session, change),
    }
    lines = tuple(f"{path} -> {new}" for path, new in list(moved.items())[:MOST_LINES])
    return Preview(f"The {what} would move to {facts['new_path']}.", facts, lines, bases)


def _move_folder(session: Session, journal: Journal, folder: str, destination: str, *, links: bool) -> Moved:
    """Move a folder without a page file, inside `writing()`."""
    target = _target(session, _index(folder), destination)
    if target == _index(folder):
        return Moved(id_of_folder(session, folder), folder, NO_TEXT.hex(), {}, 0, ())
    change = _change_of_folder(session, folder, target, links=links)
    known = list(session.catalogue.look().pages)
    done = relocate(session, journal, change)
    moved = {path: new for path in known if (new := change.moved(path)) != path}
    new_path = change.moved(folder)
    return Moved(id_of_folder(session, new_path), new_path, NO_TEXT.hex(), moved, done.links, done.left)


def _change_of_folder(session: Session, folder: str, target: str, *, links: bool) -> Change:
    """As change_of(); target: where its page's file would be."""
    if target == _index(folder):
        return Change([], {}, {})
    promoted = promotion.renames(session.tree, target)
    above = parent_of(folder)
    demoted = _demoted(session, above, {folder}, target)
    emptied = [f"{above}/{ASSETS}", above] if demoted else []
    return Change(
        renames=[*promoted, (folder, _stem(target)), *demoted.items()],
        pages={**dict(promoted), **demoted},
        titles={},
        emptied=emptied,
        links=links,
        folders={folder: _stem(target)},
    )


def _index(folder: str) -> str:
    return f"{folder}/{INDEX_FILE}"


def _target(session: Session, source: str, destination: str) -> str:
    """The path of the page's file afterwards. Raises Failed if something is there, or it would be below itself."""
    stem, wanted = _stem(source), _wanted(session, source, destination)
    if wanted.startswith(stem + "/"):
        raise invalid("CYCLE", f"{stem} cannot go below itself.", "Choose a place outside of it.")
    if name_key(wanted) == name_key(stem):  # the same name, or another spelling of it
        name = wanted.rpartition("/")[2]
        paths.check_name(name, destination)
        return page_path(parent_of(stem), name, source.endswith("/" + INDEX_FILE))
    if (found := paths.existing(session, wanted + SUFFIX)) is not None:
        raise _taken(found)
    target = paths.fresh(session, wanted + SUFFIX)
    if not target.endswith("/" + INDEX_FILE):
        return f"{_stem(target)}/{INDEX_FILE}" if source.endswith("/" + INDEX_FILE) else target
    if own_directory(session.tree, source) is not None:
        raise _taken(parent_of(target))
    return target


def _wanted(session: Session, source: str, destination: str) -> str:
    """Its path without `.md`."""
    name = _stem(source).rpartition("/")[2]
    if not destination.strip("/"):
        return name
    found = paths.existing(session, destination)
    is_place = not destination.endswith(SUFFIX)
    if is_place and found is not None and found != source:
        directory = own_directory(session.tree, found)
        if directory is None and not destination.endswith("/"):
            raise _taken(found)
        return f"{_stem(found)}/{name}"
    folder = paths.folder(session, destination) if is_place and found is None else None
    if folder is not None and (folder != _stem(source) or destination.endswith("/")):
        return f"{folder}/{name}"
    asked = paths.checked(destination)
    return f"{asked}/{name}" if destination.endswith("/") else _stem(asked)


def change_of(session: Session, page: writing.Page, target: str, *, links: bool = True) -> Change:
    """What it takes that the file of *page* is at *target*, where nothing is, with all that is the page's."""
    tree, source = session.tree, page.path
    promoted = promotion.renames(tree, target)
    own, renames = own_directory(tree, source), list(promoted)
    if own is None or not source.endswith("/" + INDEX_FILE):
        renames.append((source, target))
    if own is not None:
        renames.append((own, _stem(target)))
    attachments = {} if own is not None and source.endswith("/" + INDEX_FILE) else _attachments(session, page, target)
    renames += attachments.items()
    above = parent_of(_stem(source))
    demoted = _demoted(session, above, {source, own, *attachments}, target)
    renames += demoted.items()
    pages = {source: target} | dict(promoted) | demoted
    beside = f"{parent_of(source)}/{ASSETS}".lstrip("/")
    emptied = ([beside] if attachments else []) + ([f"{above}/{ASSETS}", above] if demoted else [])
    return Change(renames, pages, _titles(page, target), emptied, links)


def own_directory(tree: Tree, path: str) -> str | None:
    """The directory where the pages below the page at *path* are; None: there is none."""
    stem = _stem(path)
    found = tree.stat(stem)
    if found is None or not found.is_directory:
        return None
    index = f"{stem}/{INDEX_FILE}"
    return stem if path == index or tree.stat(index) is None else None


def _attachments(session: Session, page: writing.Page, target: str) -> dict[str, str]:
    """Where the attachments go that only a leaf uses."""
    if parent_of(page.path) == parent_of(target):
        return {}
    found, snapshot = {}, session.catalogue.look()
    for path in own_attachments(session, page.path):
        spot = spot_of_file(path)
        name = spot.name if spot is not None else path
        if not snapshot.would_attach(attachment_path(parent_of(target), name)):
            continue  # there it would not be synced
        numbers = (name if number == 1 else numbered_attachment(name, number) for number in count(1))
        places = (attachment_path(parent_of(target), one) for one in numbers)
        found[path] = next(place for place in places if session.tree.stat(place) is None)
    return found


def _demoted(session: Session, directory: str, leaving: Set[str | None], target: str) -> dict[str, str]:
    """The page of a directory that loses its last page, as a leaf; a folder of sources stays one without any."""
    tree, index = session.tree, f"{directory}/{INDEX_FILE}"
    if not directory or target.startswith(directory + "/") or tree.stat(index) is None:
        return {}
    if is_folder_of_sources(session, directory):
        return {}
    left = {f"{directory}/{name}" for name in tree.names(directory)} - leaving - {index}
    assets = f"{directory}/{ASSETS}"
    if assets in left and {f"{assets}/{name}" for name in tree.names(assets)} <= leaving:
        left.remove(assets)
    return {index: directory + SUFFIX} if not left and tree.stat(directory + SUFFIX) is None else {}


def _titles(page: writing.Page, target: str) -> dict[str, str]:
    """A title that was the file's name stays so."""
    old, new = (_stem(path).rpartition("/")[2] for path in (page.path, target))
    return {page.path: new} if old != new and page.head.title == old else {}


def _stem(path: str) -> str:
    return directory_of(path, Kind.PAGE)


def _taken(path: str) -> Failed:
    return Failed(
        "EXISTS",
        "conflict",
        f"There is a page or folder at {path} already.",
        f"Choose another path; to move below it, end the path in a slash: {_stem(path)}/",
        {"path": path},
    )
