"""People and agents make, rename and delete folders of sources: directories below the one of all sources."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from mirrord.codec.frontmatter import split, with_keys
from mirrord.commands import discarding, events, names, writing
from mirrord.commands.bringing import bring, building
from mirrord.commands.cursor import cursor_of, start_of
from mirrord.commands.difference import diff_lines
from mirrord.commands.failure import Failed
from mirrord.commands.holdings import Folder, Holdings, Reference, holdings, is_top, top
from mirrord.commands.moves import change_of
from mirrord.commands.relocating import relocate
from mirrord.commands.session import Session
from mirrord.domain.approval import ABSENT, Preview
from mirrord.domain.entry import EntryId, Kind, digest_of
from mirrord.domain.event import Type
from mirrord.domain.number import number_of
from mirrord.domain.place import name_key
from mirrord.domain.source import CREATED
from mirrord.mirror import copies
from mirrord.mirror.ignore import Ignore
from mirrord.mirror.journal import Journal
from mirrord.mirror.label import Label
from mirrord.mirror.layout import INDEX_FILE, SUFFIX, page_path, parent_of, spot_of_file
from mirrord.mirror.scan import scan

_NOT_CREATED, _NOT_RENAMED, _NOT_DELETED = "FOLDER_NOT_CREATED", "FOLDER_NOT_RENAMED", "FOLDER_NOT_DELETED"
_MOST = 500  # folders in one answer


@dataclass(frozen=True, slots=True)
class ListedFolder:
    """
    parent_id: None: at the top level. created_at: as its page says; None: it does not, or there is none.

    path: of the directory.
    """

    id: int
    name: str
    parent_id: int | None
    created_at: str | None
    path: str


@dataclass(frozen=True, slots=True)
class FolderList:
    """Folders, each before those in it. total_count: of all. next_cursor: None when that was the last part."""

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
    """A folder that has another name. links_rewritten: in how many links of all pages paths or names were changed."""

    folder_id: int
    old_name: str
    name: str
    links_rewritten: int = 0


@dataclass(frozen=True, slots=True)
class DeletedFolder:
    """A folder that is gone."""

    folder_id: int
    name: str


def list_folders(session: Session, cursor: str | None = None, most: int | None = _MOST) -> FolderList:
    """List the folders of sources, at most so many; None: all."""
    found = holdings(session).folders
    start = start_of([one.path for one in found], cursor, "folders")
    shown = found[start : None if most is None else start + most]
    rest = start + len(shown) < len(found)
    listed = [ListedFolder(one.number, one.name, _number(one.parent), one.created, one.path) for one in shown]
    return FolderList(listed, len(found), cursor_of("folders", shown[-1].path, start + len(shown)) if rest else None)


def create_folder(session: Session, name: str, parent_id: Reference = None) -> CreatedFolder:
    """
    Make a folder with a page of its own, so that it keeps its id whatever it is called.

    parent_id: the folder it goes into; None: the top level.
    """
    with session.writing() as journal:
        name, parent, path = _creation(session, name, parent_id)
        entry = session.new_page_id(path)
        data = _text(entry, name).encode()
        digest, number = digest_of(data), number_of(entry)
        facts = {"folder_id": number, "name": name, "parent_id": _number(parent), "page_id": str(entry)}
        told = (Type.FOLDER_CREATED, {**facts, "path": path, "digest": digest.hex()})
        label = Label(entry, None, digest)
        with building(session, journal, parent_of(path)) as load, copies.kept(journal, label, data):
            load.add_directory(parent_of(path), {INDEX_FILE: data})
            bring(session, journal, load, [told])
        session.saw(path, digest)
        return CreatedFolder(number, name, _number(parent), path)


def preview_create_folder(session: Session, name: str, parent_id: Reference = None) -> Preview:
    """What create_folder would do."""
    name, parent, path = _creation(session, name, parent_id)
    facts = {"name": name, "parent_id": _number(parent), "path": path}
    return Preview(f"The folder {name!r} would be made {names.where(parent)}.", facts, (), {path: ABSENT})


def rename_folder(session: Session, folder_id: Reference, new_name: str) -> RenamedFolder:
    """Give a folder another name; links to it and to what is in it go on meaning that."""
    with session.writing() as journal:
        folder, name = _renaming(session, folder_id, new_name)
        if name == folder.name:
            return RenamedFolder(folder.number, name, name)
        page = _page(session, journal, folder)
        is_index = page.path != folder.path + SUFFIX
        target = page_path(parent_of(folder.path), name, is_index)
        facts = {"folder_id": folder.number, "name": name, "old_name": folder.name, "parent_id": _number(folder.parent)}
        change = replace(
            change_of(session, page, target),
            titles={page.path: name} if page.head.title not in (None, name) else {},
            called={page.path: (Type.FOLDER_RENAMED, facts)},
        )
        return RenamedFolder(folder.number, folder.name, name, relocate(session, journal, change).links)


def preview_rename_folder(session: Session, folder_id: Reference, new_name: str) -> Preview:
    """What rename_folder would do."""
    folder, name = _renaming(session, folder_id, new_name)
    facts = {"folder_id": folder.number, "old_name": folder.name, "name": name}
    return Preview(f"The folder {folder.name!r} {names.where(folder.parent)} would be called {name!r}.", facts)


def delete_folder(session: Session, folder_id: Reference) -> DeletedFolder:
    """Delete a folder in which nothing is; its own page goes to the trash."""
    with session.writing() as journal:
        folder = _deletion(session, folder_id)
        facts = {"folder_id": folder.number, "name": folder.name, "parent_id": _number(folder.parent)}
        facts |= {"page_id": str(folder.entry), "path": folder.page or folder.path}
        if folder.page is not None:
            facts["trash_id"] = discarding.take_away(session, journal, writing.read(session, folder.page))[1]
        discarding.tidy(session.tree, page_path("", folder.path, index=True))
        if session.tree.stat(folder.path) is not None:  # somebody put something there just now
            if folder.page is not None:
                events.record(session, Type.PAGE_DELETED, facts)
            raise _not_empty(folder, _contents(session, holdings(session), folder))
        events.record(session, Type.FOLDER_DELETED, facts)
        return DeletedFolder(folder.number, folder.name)


def preview_delete_folder(session: Session, folder_id: Reference) -> Preview:
    """What delete_folder would do."""
    folder = _deletion(session, folder_id)
    facts = {"folder_id": folder.number, "name": folder.name}
    sentence = f"The folder {folder.name!r} {names.where(folder.parent)} would be deleted; nothing is in it."
    if folder.page is None:
        return Preview(sentence, facts)
    page = writing.read(session, folder.page)
    lines = diff_lines(page.path, page.text, "") if split(page.text).body.strip() else ()
    return Preview(sentence, facts, lines, {page.path: page.digest.hex()})


def _creation(session: Session, name: str, parent_id: Reference) -> tuple[str, Folder | None, str]:
    """The name, the folder above, and the path of the page to be made."""
    name = names.checked(name, _NOT_CREATED)
    parent = None if is_top(parent_id) else holdings(session).folder(parent_id)
    if parent is None and not is_top(parent_id):
        raise _missing(f"{_NOT_CREATED}/PARENT_NOT_FOUND", parent_id)
    directory = parent.path if parent is not None else top(session)
    names.check_free(session, directory, name, _NOT_CREATED, parent)
    path = page_path(directory, name, index=True)
    names.check_place(session, path, name, _NOT_CREATED)
    return name, parent, path


def _renaming(session: Session, folder_id: Reference, new_name: str) -> tuple[Folder, str]:
    folder = holdings(session).folder(folder_id)
    if folder is None:
        raise _missing(f"{_NOT_RENAMED}/NOT_FOUND", folder_id)
    name = names.checked(new_name, _NOT_RENAMED)
    above = parent_of(folder.path)
    if name_key(name) != name_key(folder.name):
        names.check_free(session, above, name, _NOT_RENAMED, folder.parent)
    names.check_place(session, page_path(above, name, index=True), name, _NOT_RENAMED)
    return folder, name


def _deletion(session: Session, folder_id: Reference) -> Folder:
    found = holdings(session)
    folder = found.folder(folder_id)
    if folder is None:
        raise _missing(f"{_NOT_DELETED}/NOT_FOUND", folder_id)
    contents = _contents(session, found, folder)
    if any(contents.values()):
        raise _not_empty(folder, contents)
    return folder


def _page(session: Session, journal: Journal, folder: Folder) -> writing.Page:
    """The page of a folder; one that has none gets one, by which it keeps its id wherever it is."""
    if folder.page is None:
        path = page_path("", folder.path, index=True)
        text = with_keys("", {"id": str(folder.entry), "title": folder.name})
        digest = writing.make(session, journal, path, text, folder.entry)
        facts = {"page_id": str(folder.entry), "path": path, "digest": digest.hex()}
        events.record(session, Type.PAGE_CREATED, facts)
        return writing.read(session, path)
    return writing.read(session, folder.page)


def _contents(session: Session, found: Holdings, folder: Folder) -> Mapping[str, int]:
    """How much of each kind is in a folder at any depth, but for its own page."""
    below = folder.path + "/"
    sources = {one.path for one in found.sources if one.path.startswith(below)}
    folders = [one for one in found.folders if one.path.startswith(below)]
    seen = scan(session.tree, Ignore(), folder.path)
    rest = seen.files.keys() - sources - {one.page for one in (folder, *folders)}
    pages = {path for path in rest if (spot := spot_of_file(path)) is not None and spot.kind is Kind.PAGE}
    hidden = sum(name.startswith(".") for name in session.tree.names(folder.path))
    files = len(rest - pages) + seen.others + len(seen.troubles) + hidden
    return {"sources": len(sources), "folders": len(folders), "pages": len(pages), "files": files}


def _text(entry: EntryId, name: str) -> str:
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return with_keys("", {"id": str(entry), "title": name, CREATED: created})


def _number(folder: Folder | None) -> int | None:
    return folder.number if folder is not None else None


def _missing(code: str, reference: Reference) -> Failed:
    return Failed(
        code, "not_found", f"There is no folder with the id {reference}.", "Use an id that list_folders shows."
    )


def _not_empty(folder: Folder, contents: Mapping[str, int]) -> Failed:
    counts = [f"{number} {kind if number != 1 else kind[:-1]}" for kind, number in contents.items() if number]
    held = " and ".join(filter(None, (", ".join(counts[:-1]), *counts[-1:]))) or "something"
    return Failed(
        f"{_NOT_DELETED}/NOT_EMPTY",
        "conflict",
        f"The folder {folder.name!r} is not empty: it holds {held}.",
        "Move its sources elsewhere with move_source_to_folder, and delete the folders in it, then try again.",
        dict(contents),
    )
