"""Commands that create, rename and delete folders of sources."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from mirrord.commands.core import command_events
from mirrord.commands.core.answer_budget import take_rows
from mirrord.commands.core.command_plan import Plan, command, diff_lines
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.list_cursor import cursor_of, start_index
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_trash, page_writes
from mirrord.commands.pages.move_commands import change_for_renaming
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
from mirrord.research.sources.source_kinds import CREATED, number_of
from mirrord.research.sources.source_listing import (
    Folder,
    Holdings,
    Reference,
    is_top_level,
    number_of_folder,
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
    """List the folders of sources, at most *limit* and what fits in 8 KB; None: all."""
    folders = read_holdings(session).folders
    start = start_index([folder.path for folder in folders], cursor, "folders")
    rows = (
        ListedFolder(folder.number, folder.name, number_of_folder(folder.parent), folder.created, folder.path)
        for folder in folders[start:]
    )
    listed = take_rows(rows, limit)
    end = start + len(listed)
    return FolderList(
        listed, len(folders), cursor_of("folders", folders[end - 1].path, end) if end < len(folders) else None
    )


@dataclass(frozen=True, slots=True)
class _NewFolder(Plan[CreatedFolder]):
    """A folder with a page of its own at *path*."""

    name: str
    parent: Folder | None
    path: str
    entry: EntryId
    data: bytes

    def preview(self, session: Session) -> Preview:
        sentence = f"The folder {self.name!r} would be made {source_listing.folder_phrase(self.parent)}."
        facts = {"name": self.name, "parent_id": number_of_folder(self.parent), "path": self.path}
        return Preview(sentence, facts, (), {self.path: ABSENT_DIGEST})

    def carry_out(self, session: Session, journal: Journal) -> CreatedFolder:
        path, directory, digest = self.path, parent_of(self.path), digest_of(self.data)
        created = CreatedFolder(number_of(self.entry), self.name, number_of_folder(self.parent), path)
        facts = {"folder_id": created.folder_id, "name": self.name, "parent_id": created.parent_id, "path": path}
        event = (EventType.FOLDER_CREATED, {**facts, "page_id": str(self.entry), "digest": digest.hex()})
        with (
            building_load(session, journal, directory) as load,
            written_copies.copy_during_write(journal, Label(self.entry, None, digest), self.data),
        ):
            load.add_directory(directory, {INDEX_FILE: self.data})
            create_files(session, journal, load, [event])
        session.note_shown(path, digest)
        return created


@command("create_folder")
def create_folder(session: Session, name: str, parent_id: Reference = None) -> Plan[CreatedFolder]:
    """
    Create a folder with a page of its own, so that its id survives renames.

    parent_id: the parent folder; None: the top level.
    """
    name = source_listing.validate_name(name, _NOT_CREATED)
    code = f"{_NOT_CREATED}/PARENT_NOT_FOUND"
    parent = None if is_top_level(parent_id) else read_holdings(session).find_folder(parent_id, code)
    directory = parent.path if parent is not None else sources_root(session)
    source_listing.check_free(session, directory, name, _NOT_CREATED, parent)
    path = page_path(directory, name, index=True)
    source_listing.check_place(session, path, name, _NOT_CREATED)
    entry = session.new_page_id(path)
    return _NewFolder(name, parent, path, entry, _render_page(entry, name).encode())


@dataclass(frozen=True, slots=True)
class _FolderRenaming(Plan[RenamedFolder]):
    """Another name for a folder. page: its own; None: it gets one. target: path of its page then."""

    folder: Folder
    page: page_writes.Page | None
    name: str
    target: str

    def preview(self, session: Session) -> Preview:
        folder, place = self.folder, source_listing.folder_phrase(self.folder.parent)
        facts = {"folder_id": folder.number, "old_name": folder.name, "name": self.name}
        sentence = f"The folder {folder.name!r} {place} would be called {self.name!r}."
        return Preview(sentence, facts, (), self._bases())

    def _bases(self) -> Mapping[str, str]:
        page = self.page
        bases = {page.path: page.digest.hex()} if page is not None else {_index_of(self.folder): ABSENT_DIGEST}
        is_new_place = name_key(self.name) != name_key(self.folder.name)
        return bases | ({self.target: ABSENT_DIGEST} if is_new_place else {})

    def carry_out(self, session: Session, journal: Journal) -> RenamedFolder:
        folder, name = self.folder, self.name
        if name == folder.name:
            return RenamedFolder(folder.number, name, name)
        page = self.page or _create_page(session, journal, folder)
        facts = {"folder_id": folder.number, "name": name, "old_name": folder.name}
        facts["parent_id"] = number_of_folder(folder.parent)
        change = change_for_renaming(session, page, self.target, name, (EventType.FOLDER_RENAMED, facts))
        return RenamedFolder(folder.number, folder.name, name, apply_change(session, journal, change).links_count)


@command("rename_folder")
def rename_folder(session: Session, folder_id: Reference, new_name: str) -> Plan[RenamedFolder]:
    """Rename a folder; links to it and to its contents keep their targets."""
    folder = read_holdings(session).find_folder(folder_id, f"{_NOT_RENAMED}/NOT_FOUND")
    name = source_listing.validate_name(new_name, _NOT_RENAMED)
    above = parent_of(folder.path)
    source_listing.check_rights(session, folder.path, page_path(above, name, index=True))
    if name_key(name) != name_key(folder.name):
        source_listing.check_free(session, above, name, _NOT_RENAMED, folder.parent)
    source_listing.check_place(session, page_path(above, name, index=True), name, _NOT_RENAMED)
    page = page_writes.read_page_file(session, folder.page) if folder.page is not None else None
    return _FolderRenaming(folder, page, name, page_path(above, name, folder.page != folder.path + SUFFIX))


@dataclass(frozen=True, slots=True)
class _FolderRemoval(Plan[DeletedFolder]):
    """An empty folder to remove. page: its own, for the trash."""

    folder: Folder
    page: page_writes.Page | None

    def preview(self, session: Session) -> Preview:
        folder, page, place = self.folder, self.page, source_listing.folder_phrase(self.folder.parent)
        facts = {"folder_id": folder.number, "name": folder.name}
        sentence = f"The folder {folder.name!r} {place} would be deleted; nothing is in it."
        if page is None:
            return Preview(sentence, facts)
        lines = diff_lines(page.path, page.text, "") if page.content.body.strip() else ()
        return Preview(sentence, facts, lines, {page.path: page.digest.hex()})

    def carry_out(self, session: Session, journal: Journal) -> DeletedFolder:
        folder, page = self.folder, self.page
        facts = {"folder_id": folder.number, "name": folder.name, "parent_id": number_of_folder(folder.parent)}
        facts |= {"page_id": str(folder.entry), "path": folder.page or folder.path}
        if page is not None:
            facts["trash_id"] = page_trash.trash_page(session, journal, page)[1]
        page_trash.remove_empty_directories(session.tree, _index_of(folder))
        if session.tree.stat(folder.path) is not None:  # filled by another program just now
            if page is not None:
                command_events.record_event(session, EventType.PAGE_DELETED, facts)
            raise _not_empty(folder, _count_contents(session, read_holdings(session), folder))
        command_events.record_event(session, EventType.FOLDER_DELETED, facts)
        return DeletedFolder(folder.number, folder.name)


@command("delete_folder")
def delete_folder(session: Session, folder_id: Reference) -> Plan[DeletedFolder]:
    """Delete an empty folder; its own page goes to the trash."""
    all_holdings = read_holdings(session)
    folder = all_holdings.find_folder(folder_id, f"{_NOT_DELETED}/NOT_FOUND")
    source_listing.check_rights(session, folder.path)
    contents = _count_contents(session, all_holdings, folder)
    if any(contents.values()):
        raise _not_empty(folder, contents)
    page = page_writes.read_page_file(session, folder.page) if folder.page is not None else None
    return _FolderRemoval(folder, page)


def _create_page(session: Session, journal: Journal, folder: Folder) -> page_writes.Page:
    """Create the page of a folder that lacks one, so that it keeps its id."""
    path = _index_of(folder)
    text = new_head({"id": str(folder.entry), "title": folder.name})
    digest = page_writes.create_page_file(session, journal, path, text.encode(), folder.entry)
    facts = {"page_id": str(folder.entry), "path": path, "digest": digest.hex()}
    command_events.record_event(session, EventType.PAGE_CREATED, facts)
    return page_writes.read_page_file(session, path)


def _index_of(folder: Folder) -> str:
    return page_path("", folder.path, index=True)


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
