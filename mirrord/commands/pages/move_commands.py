"""Commands that move and rename pages."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from mirrord.commands.core import page_paths
from mirrord.commands.core.command_plan import Plan, command
from mirrord.commands.core.failure import Failed, invalid_argument, translating_errors
from mirrord.commands.core.page_paths import own_attachments
from mirrord.commands.core.session import Session
from mirrord.commands.pages import move_plan, page_writes
from mirrord.commands.pages.move_plan import RelocationOutcome, TreeChange, apply_change, count_links
from mirrord.commands.pages.plain_folders import NO_TEXT, folder_to_change, id_of_folder
from mirrord.domain.approval import ABSENT_DIGEST, MAX_PREVIEW_LINES, Preview
from mirrord.domain.entry import Kind
from mirrord.domain.event import EventType
from mirrord.domain.place import ASSETS, name_key, numbered_attachment, numbered_names
from mirrord.mirror.tree.scoped_tree import check_owned, may_write
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import (
    INDEX_FILE,
    SUFFIX,
    attachment_path,
    directory_of,
    page_path,
    parent_of,
    spot_of_file,
)
from mirrord.mirror.write.journal import Journal
from mirrord.research.sources.source_listing import is_folder_of_sources


@dataclass(frozen=True, slots=True)
class MovedPage:
    """
    A moved page.

    moved: new path of every moved page by its old path. links_rewritten: number of rewritten links in all pages.
    left: pages whose links could not be rewritten because another program was writing them.
    """

    page_id: str
    new_path: str
    digest: str
    moved: dict[str, str]
    links_rewritten: int
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Move(Plan[MovedPage]):
    """
    A move of a page or of a folder without a page file.

    page: None for a folder. path: of the page file or folder. target: new path of the page file; a folder has none.
    change: without renames, nothing moves.
    """

    page: page_writes.Page | None
    path: str
    target: str
    change: TreeChange

    def preview(self, session: Session) -> Preview:
        bases = {self.page.path: self.page.digest.hex()} if self.page is not None else {}
        if self.page is not None and not self.change.renames:
            return Preview(f"{self.path} would stay where it is.", {"new_path": self.target}, (), bases)
        new_path, new_paths = self.change.path_after(self.path), self._new_paths(session)
        facts = {"path": self.path, "new_path": new_path, "moved_pages_count": len(new_paths)}
        facts["links_rewritten_count"] = count_links(session, self.change)
        lines = tuple(f"{path} -> {new}" for path, new in list(new_paths.items())[:MAX_PREVIEW_LINES])
        sentence = f"The {'page' if self.page is not None else 'folder'} {self.path} would move to {new_path}."
        return Preview(sentence, facts, lines, {**bases, self.target: ABSENT_DIGEST})

    def carry_out(self, session: Session, journal: Journal) -> MovedPage:
        new_paths, new_path = self._new_paths(session), self.change.path_after(self.path)
        nothing = RelocationOutcome(0, ())
        outcome = apply_change(session, journal, self.change) if self.change.renames else nothing
        moved = page_writes.read_page_file(session, new_path) if self.page is not None else None
        entry = str(page_writes.id_of_page(session, moved)) if moved is not None else id_of_folder(session, new_path)
        digest = moved.digest if moved is not None else NO_TEXT
        return MovedPage(entry, new_path, digest.hex(), new_paths, outcome.links_count, outcome.skipped_pages)

    def _new_paths(self, session: Session) -> dict[str, str]:
        paths = session.catalogue.snapshot().pages
        return {path: new for path in paths if (new := self.change.path_after(path)) != path}


@command("move_page")
def move_page(
    session: Session,
    source_path: str,
    destination_path: str,
    expected_digest: str | None = None,
    *,
    rewrite_links: bool = True,
) -> Plan[MovedPage]:
    """
    Move or rename a page, with the pages below it and the attachments that only it uses.

    destination_path: the page's new path; if it ends in `/`, or is a folder or a page with pages below it, the page
        goes below it under its own name. Missing folders are created; a leaf that gets its first child becomes the
        page of a folder, and a folder page that loses its last child becomes a leaf.
    rewrite_links: keep the targets of links to the page and of its own links.
    """
    page = page_writes.look_up_page(session, source_path)
    if page is None:
        folder = folder_to_change(session, source_path, expected_digest).path
        with translating_errors():
            check_owned(session.tree, folder)
        target = _choose_target(session, _index_of(folder), destination_path)
        return _Move(None, folder, target, _change_of_folder(session, folder, target, links=rewrite_links))
    with translating_errors():
        check_owned(session.tree, page.path)
    page_writes.check_unchanged(session, page, expected_digest)
    target = _choose_target(session, page.path, destination_path)
    is_moved = target != page.path
    change = change_for_move(session, page, target, links=rewrite_links) if is_moved else TreeChange([], {}, {})
    return _Move(page, page.path, target, change)


def _change_of_folder(session: Session, folder: str, target: str, *, links: bool) -> TreeChange:
    """As change_of() for a folder; target: the path of its page file, if it had one."""
    if target == _index_of(folder):
        return TreeChange([], {}, {})
    promoted = move_plan.promotion_renames(session.tree, target)
    parent = parent_of(folder)
    demoted = _demoted_index(session, parent, {folder}, target)
    emptied = [f"{parent}/{ASSETS}", parent] if demoted else []
    return TreeChange(
        renames=[*promoted, (folder, _stem_of(target)), *demoted.items()],
        pages={**dict(promoted), **demoted},
        titles={},
        emptied=emptied,
        links=links,
        folders={folder: _stem_of(target)},
    )


def _index_of(folder: str) -> str:
    return f"{folder}/{INDEX_FILE}"


def _choose_target(session: Session, source: str, destination: str) -> str:
    """New path of the page file. Raises Failed if the path is taken, or lies below the page itself."""
    stem, wanted_stem = _stem_of(source), _target_stem(session, source, destination)
    if wanted_stem.startswith(stem + "/"):
        raise invalid_argument("CYCLE", f"{stem} cannot go below itself.", "Choose a place outside of it.")
    if name_key(wanted_stem) == name_key(stem):  # the same name, or another spelling of it
        name = wanted_stem.rpartition("/")[2]
        page_paths.check_name(name, destination)
        return page_path(parent_of(stem), name, source.endswith("/" + INDEX_FILE))
    if (existing_path := page_paths.find_page_path(session, wanted_stem + SUFFIX)) is not None:
        raise _path_taken(existing_path)
    target = page_paths.new_page_path(session, wanted_stem + SUFFIX)
    with translating_errors():
        check_owned(session.tree, target)
    if not target.endswith("/" + INDEX_FILE):
        return f"{_stem_of(target)}/{INDEX_FILE}" if source.endswith("/" + INDEX_FILE) else target
    if children_directory_of(session.tree, source) is not None:
        raise _path_taken(parent_of(target))
    return target


def _target_stem(session: Session, source: str, destination: str) -> str:
    """The target path without `.md`."""
    name = _stem_of(source).rpartition("/")[2]
    if not destination.strip("/"):
        return name
    existing_path = page_paths.find_page_path(session, destination)
    is_place = not destination.endswith(SUFFIX)
    if is_place and existing_path is not None and existing_path != source:
        directory = children_directory_of(session.tree, existing_path)
        if directory is None and not destination.endswith("/"):
            raise _path_taken(existing_path)
        return f"{_stem_of(existing_path)}/{name}"
    folder = page_paths.find_directory(session, destination) if is_place and existing_path is None else None
    if folder is not None and (folder != _stem_of(source) or destination.endswith("/")):
        return f"{folder}/{name}"
    checked_path = page_paths.validate_path(destination)
    return f"{checked_path}/{name}" if destination.endswith("/") else _stem_of(checked_path)


def change_for_move(session: Session, page: page_writes.Page, target: str, *, links: bool = True) -> TreeChange:
    """The change that moves *page*, with its children and attachments, to the free path *target*."""
    tree, source = session.tree, page.path
    promoted = move_plan.promotion_renames(tree, target)
    children_directory, renames = children_directory_of(tree, source), list(promoted)
    if children_directory is None or not source.endswith("/" + INDEX_FILE):
        renames.append((source, target))
    if children_directory is not None:
        renames.append((children_directory, _stem_of(target)))
    attachments = (
        {}
        if children_directory is not None and source.endswith("/" + INDEX_FILE)
        else _attachment_targets(session, page, target)
    )
    renames += attachments.items()
    parent = parent_of(_stem_of(source))
    demoted = _demoted_index(session, parent, {source, children_directory, *attachments}, target)
    renames += demoted.items()
    pages = {source: target} | dict(promoted) | demoted
    attachments_directory = f"{parent_of(source)}/{ASSETS}".lstrip("/")
    emptied = ([attachments_directory] if attachments else []) + ([f"{parent}/{ASSETS}", parent] if demoted else [])
    return TreeChange(renames, pages, _title_changes(page, target), emptied, links, attachments=attachments)


def change_for_renaming(
    session: Session, page: page_writes.Page, target: str, name: str, event: tuple[EventType, Mapping[str, object]]
) -> TreeChange:
    """As change_for_move(), with *name* for the title that the page has, and its own event."""
    titles = {page.path: name} if page.head.title not in (None, name) else {}
    return replace(change_for_move(session, page, target), titles=titles, called={page.path: event})


def children_directory_of(tree: Tree, path: str) -> str | None:
    """Directory of the pages below the page at *path*, or None."""
    stem = _stem_of(path)
    stat = tree.stat(stem)
    if stat is None or not stat.is_directory:
        return None
    index = f"{stem}/{INDEX_FILE}"
    return stem if path == index or tree.stat(index) is None else None


def _attachment_targets(session: Session, page: page_writes.Page, target: str) -> dict[str, str]:
    """New paths of the attachments that only this leaf uses, by their old paths."""
    if parent_of(page.path) == parent_of(target):
        return {}
    targets, snapshot = {}, session.catalogue.snapshot()
    for path in own_attachments(session, page.path):
        spot = spot_of_file(path)
        name = spot.name if spot is not None else path
        if not snapshot.would_attach(attachment_path(parent_of(target), name)):
            continue  # there it would not be synced
        if not may_write(session.tree, path) or not may_write(session.tree, attachment_path(parent_of(target), name)):
            continue
        names = numbered_names(name, numbered_attachment)
        places = (attachment_path(parent_of(target), candidate) for candidate in names)
        targets[path] = next(place for place in places if session.tree.stat(place) is None)
    return targets


def _demoted_index(session: Session, directory: str, leaving: Set[str | None], target: str) -> dict[str, str]:
    """Rename that turns the page of an emptied directory into a leaf; folders of sources stay folders."""
    tree, index = session.tree, f"{directory}/{INDEX_FILE}"
    if not directory or target.startswith(directory + "/") or tree.stat(index) is None:
        return {}
    if is_folder_of_sources(session, directory) or not may_write(tree, directory):
        return {}
    remaining = {f"{directory}/{name}" for name in tree.list_stats(directory)} - leaving - {index}
    assets = f"{directory}/{ASSETS}"
    if assets in remaining and {f"{assets}/{name}" for name in tree.list_stats(assets)} <= leaving:
        remaining.remove(assets)
    return {index: directory + SUFFIX} if not remaining and tree.stat(directory + SUFFIX) is None else {}


def _title_changes(page: page_writes.Page, target: str) -> dict[str, str]:
    """The new title of the page if its title was the file name."""
    old, new = (_stem_of(path).rpartition("/")[2] for path in (page.path, target))
    return {page.path: new} if old != new and page.head.title == old else {}


def _stem_of(path: str) -> str:
    return directory_of(path, Kind.PAGE)


def _path_taken(path: str) -> Failed:
    return Failed(
        "EXISTS",
        "conflict",
        f"There is a page or folder at {path} already.",
        f"Choose another path; to move below it, end the path in a slash: {_stem_of(path)}/",
        {"path": path},
    )
