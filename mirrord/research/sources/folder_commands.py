"""Commands that create, rename and delete folders of sources."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from mirrord.commands.core import command_events
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.list_cursor import cursor_of, start_index
from mirrord.commands.core.session import Session
from mirrord.commands.core.text_diff import diff_lines
from mirrord.commands.pages import page_discard, page_writes
from mirrord.commands.pages.move_commands import change_for_move
from mirrord.commands.pages.move_plan import apply_change
from mirrord.commands.pages.page_batch import building_load, create_files
from mirrord.domain.approval import ABSENT_DIGEST, Preview
from mirrord.domain.entry import EntryId, Kind, digest_of
from mirrord.domain.event import EventType
from mirrord.domain.place import name_key
from mirrord.markdown.frontmatter.page_properties import new_head
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.tree_layout import INDEX_FILE, SUFFIX, page_path, parent_of, spot_of_file
from mirrord.mirror.tree.tree_scan import scan
from mirrord.mirror.write import written_copies
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import Label
from mirrord.research.sources import source_listing
from mirrord.research.sources.integer_ids import number_of
from mirrord.research.sources.source_kinds import CREATED
from mirrord.research.sources.source_listing import (
    Folder,
    Holdings,
    Reference,
    is_top_level,
    read_holdings,
    sources_root,
)

_NOT_CREATED, _NOT_RENAMED, _NOT_DELETED = "FOLDER_NOT_CREATED", "FOLDER_NOT_RENAMED", "FOLDER_NOT_DELETED"
_MAX_LISTED = 500  # folders in one answer


@dataclass(frozen=True, slots=True)
class ListedFolder:
    """
    A folder in a list.

    parent_id: None at the top level. created_at: from its page; None if the page lacks it or is missing.
    path: of the directory.
    """

    id: int
    name: str
    parent_id: int | None
    created_at: str | None
    path: str


@dataclass(frozen=True, slots=True)
class FolderList:
    """Folders, parents before children. total_count: of all parts. next_cursor: None after the last part."""

    folders: list[ListedFolder]
    total_count: int
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class CreatedFolder:
    """A new folder. path: of its page."""

    folder_id: int
    name: str
    parent_id: int | None
    path: str


@dataclass(frozen=True, slots=True)
class RenamedFolder:
    """A renamed folder. links_rewritten: number of rewritten links in all pages."""

    folder_id: int
    old_name: str
    name: str
    links_rewritten: int = 0


@dataclass(frozen=True, slots=True)
class DeletedFolder:
    """A deleted folder."""

    folder_id: int
    name: str


def list_folders(session: Session, cursor: str | None = None, limit: int | None = _MAX_LISTED) -> FolderList:
    """List the folders of sources, at most *limit*; None: all."""
    folders = read_holdings(session).folders
    start = start_index([folder.path for folder in folders], cursor, "folders")
    page = folders[start : None if limit is None else start + limit]
    has_more = start + len(page) < len(folders)
    listed = [
        ListedFolder(folder.number, folder.name, _number_of(folder.parent), folder.created, folder.path)
        for folder in page
    ]
    return FolderList(
        listed, len(folders), cursor_of("folders", page[-1].path, start + len(page)) if has_more else None
    )


def create_folder(session: Session, name: str, parent_id: Reference = None) -> CreatedFolder:
    """
    Create a folder with a page of its own, so that its id survives renames.

    parent_id: the parent folder; None: the top level.
    """
    with session.writing() as journal:
        name, parent, path = _check_creation(session, name, parent_id)
        entry = session.new_page_id(path)
        data = _render_page(entry, name).encode()
        digest, number = digest_of(data), number_of(entry)
        facts = {"folder_id": number, "name": name, "parent_id": _number_of(parent), "page_id": str(entry)}
        event = (EventType.FOLDER_CREATED, {**facts, "path": path, "digest": digest.hex()})
        label = Label(entry, None, digest)
        with (
            building_load(session, journal, parent_of(path)) as load,
            written_copies.copy_during_write(journal, label, data),
        ):
            load.add_directory(parent_of(path), {INDEX_FILE: data})
            create_files(session, journal, load, [event])
        session.note_shown(path, digest)
        return CreatedFolder(number, name, _number_of(parent), path)


def preview_create_folder(session: Session, name: str, parent_id: Reference = None) -> Preview:
    """Preview create_folder."""
    name, parent, path = _check_creation(session, name, parent_id)
    facts = {"name": name, "parent_id": _number_of(parent), "path": path}
    return Preview(
        f"The folder {name!r} would be made {source_listing.folder_phrase(parent)}.", facts, (), {path: ABSENT_DIGEST}
    )


def rename_folder(session: Session, folder_id: Reference, new_name: str) -> RenamedFolder:
    """Rename a folder; links to it and to its contents keep their targets."""
    with session.writing() as journal:
        folder, name = _check_renaming(session, folder_id, new_name)
        if name == folder.name:
            return RenamedFolder(folder.number, name, name)
        page = _ensure_page(session, journal, folder)
        is_index = page.path != folder.path + SUFFIX
        target = page_path(parent_of(folder.path), name, is_index)
        facts = {
            "folder_id": folder.number,
            "name": name,
            "old_name": folder.name,
            "parent_id": _number_of(folder.parent),
        }
        change = replace(
            change_for_move(session, page, target),
            titles={page.path: name} if page.head.title not in (None, name) else {},
            called={page.path: (EventType.FOLDER_RENAMED, facts)},
        )
        return RenamedFolder(folder.number, folder.name, name, apply_change(session, journal, change).links_count)


def preview_rename_folder(session: Session, folder_id: Reference, new_name: str) -> Preview:
    """Preview rename_folder."""
    folder, name = _check_renaming(session, folder_id, new_name)
    facts = {"folder_id": folder.number, "old_name": folder.name, "name": name}
    return Preview(
        f"The folder {folder.name!r} {source_listing.folder_phrase(folder.parent)} would be called {name!r}.", facts
    )


def delete_folder(session: Session, folder_id: Reference) -> DeletedFolder:
    """Delete an empty folder; its own page goes to the trash."""
    with session.writing() as journal:
        folder = _check_deletion(session, folder_id)
        facts = {"folder_id": folder.number, "name": folder.name, "parent_id": _number_of(folder.parent)}
        facts |= {"page_id": str(folder.entry), "path": folder.page or folder.path}
        if folder.page is not None:
            facts["trash_id"] = page_discard.trash_page(
                session, journal, page_writes.read_page_file(session, folder.page)
            )[1]
        page_discard.remove_empty_directories(session.tree, page_path("", folder.path, index=True))
        if session.tree.stat(folder.path) is not None:  # filled by another program just now
            if folder.page is not None:
                command_events.record_event(session, EventType.PAGE_DELETED, facts)
            raise _not_empty(folder, _count_contents(session, read_holdings(session), folder))
        command_events.record_event(session, EventType.FOLDER_DELETED, facts)
        return DeletedFolder(folder.number, folder.name)


def preview_delete_folder(session: Session, folder_id: Reference) -> Preview:
    """Preview delete_folder."""
    folder = _check_deletion(session, folder_id)
    facts = {"folder_id": folder.number, "name": folder.name}
    sentence = (
        f"The folder {folder.name!r} {source_listing.folder_phrase(folder.parent)} would be deleted; nothing is in it."
    )
    if folder.page is None:
        return Preview(sentence, facts)
    page = page_writes.read_page_file(session, folder.page)
    lines = diff_lines(page.path, page.text, "") if page.content.body.strip() else ()
    return Preview(sentence, facts, lines, {page.path: page.digest.hex()})


def _check_creation(session: Session, name: str, parent_id: Reference) -> tuple[str, Folder | None, str]:
    """Name, parent folder and page path of a new folder."""
    name = source_listing.validate_name(name, _NOT_CREATED)
    parent = None if is_top_level(parent_id) else read_holdings(session).find_folder(parent_id)
    if parent is None and not is_top_level(parent_id):
        raise _not_found(f"{_NOT_CREATED}/PARENT_NOT_FOUND", parent_id)
    directory = parent.path if parent is not None else sources_root(session)
    source_listing.check_free(session, directory, name, _NOT_CREATED, parent)
    path = page_path(directory, name, index=True)
    source_listing.check_place(session, path, name, _NOT_CREATED)
    return name, parent, path


def _check_renaming(session: Session, folder_id: Reference, new_name: str) -> tuple[Folder, str]:
    folder = read_holdings(session).find_folder(folder_id)
    if folder is None:
        raise _not_found(f"{_NOT_RENAMED}/NOT_FOUND", folder_id)
    name = source_listing.validate_name(new_name, _NOT_RENAMED)
    above = parent_of(folder.path)
    if name_key(name) != name_key(folder.name):
        source_listing.check_free(session, above, name, _NOT_RENAMED, folder.parent)
    source_listing.check_place(session, page_path(above, name, index=True), name, _NOT_RENAMED)
    return folder, name


def _check_deletion(session: Session, folder_id: Reference) -> Folder:
    all_holdings = read_holdings(session)
    folder = all_holdings.find_folder(folder_id)
    if folder is None:
        raise _not_found(f"{_NOT_DELETED}/NOT_FOUND", folder_id)
    contents = _count_contents(session, all_holdings, folder)
    if any(contents.values()):
        raise _not_empty(folder, contents)
    return folder


def _ensure_page(session: Session, journal: Journal, folder: Folder) -> page_writes.Page:
    """The page of a folder, created if missing so that the folder keeps its id."""
    if folder.page is None:
        path = page_path("", folder.path, index=True)
        text = new_head({"id": str(folder.entry), "title": folder.name})
        digest = page_writes.create_page_file(session, journal, path, text, folder.entry)
        facts = {"page_id": str(folder.entry), "path": path, "digest": digest.hex()}
        command_events.record_event(session, EventType.PAGE_CREATED, facts)
        return page_writes.read_page_file(session, path)
    return page_writes.read_page_file(session, folder.page)


def _count_contents(session: Session, all_holdings: Holdings, folder: Folder) -> Mapping[str, int]:
    """Number of items of each kind in a folder at any depth, without its own page."""
    prefix = folder.path + "/"
    sources = {holding.path for holding in all_holdings.sources if holding.path.startswith(prefix)}
    folders = [holding for holding in all_holdings.folders if holding.path.startswith(prefix)]
    tree_scan = scan(session.tree, Ignore(), folder.path)
    other_files = tree_scan.files.keys() - sources - {holding.page for holding in (folder, *folders)}
    pages = {path for path in other_files if (spot := spot_of_file(path)) is not None and spot.kind is Kind.PAGE}
    hidden = sum(name.startswith(".") for name in session.tree.list_stats(folder.path))
    files = len(other_files - pages) + tree_scan.others + len(tree_scan.troubles) + hidden
    return {"sources": len(sources), "folders": len(folders), "pages": len(pages), "files": files}


def _render_page(entry: EntryId, name: str) -> str:
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return new_head({"id": str(entry), "title": name, CREATED: created})


def _number_of(folder: Folder | None) -> int | None:
    return folder.number if folder is not None else None


def _not_found(code: str, reference: Reference) -> Failed:
    return Failed(
        code, "not_found", f"There is no folder with the id {reference}.", "Use an id that list_folders shows."
    )


def _not_empty(folder: Folder, contents: Mapping[str, int]) -> Failed:
    counts = [f"{number} {kind if number != 1 else kind[:-1]}" for kind, number in contents.items() if number]
    contents_text = " and ".join(filter(None, (", ".join(counts[:-1]), *counts[-1:]))) or "something"
    return Failed(
        f"{_NOT_DELETED}/NOT_EMPTY",
        "conflict",
        f"The folder {folder.name!r} is not empty: it holds {contents_text}.",
        "Move its sources elsewhere with move_source_to_folder, and delete the folders in it, then try again.",
        dict(contents),
    )
