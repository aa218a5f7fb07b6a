"""Move files that commands remove to the trash: pages, and folders without a page file, which can be brought back."""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from mirrord.commands.core import command_events, page_paths
from mirrord.commands.core.connection_changes import sees_drafts_of
from mirrord.commands.core.failure import Failed, page_modified, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages import move_plan, page_writes
from mirrord.commands.pages.plain_folders import NO_TEXT, folder_to_change, id_of_folder
from mirrord.domain.entry import Digest, EntryId, Kind
from mirrord.domain.event import EventType
from mirrord.domain.place import ASSETS
from mirrord.errors import Refused, Stale
from mirrord.mirror.read.directory_listing import is_in_assets
from mirrord.mirror.read.page_summary import PageSummary
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.scoped_tree import check_owned
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import SUFFIX, directory_of, page_path, parent_of, spot_of_file
from mirrord.mirror.tree.tree_scan import scan
from mirrord.mirror.write import replace, trash
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import new_key
from mirrord.mirror.write.rename_plan import Removal

TRASH_REASON = "deleted by a tool"
_FOLLOWER_REASON = "went with "


def pages_below(tree: Tree, path: str) -> list[str]:
    """The pages below the page at *path*, parents before children."""
    directory = directory_of(path, Kind.PAGE)
    if path != (index := page_path("", directory, index=True)) and tree.stat(index) is not None:
        return []  # beside `W/_index.md`, `W/` is not the directory of `W.md`
    files = scan(tree, Ignore(), directory).files
    pages = [file for file in files if file != path and (spot := spot_of_file(file)) and spot.kind is Kind.PAGE]
    return sorted(pages, key=lambda file: (file.count("/"), file))


def trash_page(
    session: Session, journal: Journal, page: page_writes.Page, *, reason: str = TRASH_REASON, key: str | None = None
) -> tuple[EntryId, str]:
    """
    Move a page to the trash, inside `writing()`; return its id and trash id. The caller records the event.

    key: what becomes its trash id; None: a new one.
    """
    entry, trash_id = page_writes.id_of_page(session, page), key or new_key()
    with translating_errors():
        try:
            save = replace.remove(
                session.tree,
                journal,
                page.path,
                replace.ExpectedFile(entry, page.digest),
                replace.Removal(reason, title=_title_of(page), key=trash_id),
            )
        except Stale:
            raise page_writes.concurrent_change(session, page.path) from None
    if save is not None:  # a concurrent save, which the daemon imports
        raise page_modified(page.path, is_gone=True)
    session.memory.forget(page.path)
    return entry, trash_id


def removal_of(session: Session, page: page_writes.Page, trash_id: str) -> Removal:
    """The removal of a page as a part of a plan."""
    entry = page_writes.id_of_page(session, page)
    return Removal(page.path, str(entry), page.digest.hex(), trash_id, TRASH_REASON, _title_of(page))


def follower_removal(session: Session, path: str, trash_id: str) -> Removal | None:
    """Removal of an attachment or record after its page; None if it is missing or being written."""
    digest = page_writes.current_digest(session, path)
    if digest is None:
        return None
    return Removal(path, str(page_writes.id_of_file(session, path)), digest.hex(), new_key(), follower_reason(trash_id))


def follower_reason(trash_id: str) -> str:
    """Reason noted in the trash for a file removed with a page."""
    return _FOLLOWER_REASON + trash_id


def leader_of(card: trash.TrashCard) -> str | None:
    """The trash id of what a file was removed with; None: it was removed by itself."""
    return card.reason.removeprefix(_FOLLOWER_REASON) if card.reason.startswith(_FOLLOWER_REASON) else None


def is_shown(trashed: trash.TrashedFile) -> bool:
    """Whether the caller sees a removed file: not if it was a text of a draft that others began."""
    owner = trashed.card.owner if trashed.card is not None else None
    return owner is None or sees_drafts_of(owner)


def remove_page(
    session: Session, journal: Journal, page: page_writes.Page, *, reason: str = TRASH_REASON, key: str | None = None
) -> tuple[EntryId, str]:
    """As trash_page(), and record the event."""
    entry, trash_id = trash_page(session, journal, page, reason=reason, key=key)
    facts = {"page_id": str(entry), "path": page.path, "trash_id": trash_id}
    command_events.record_event(session, EventType.PAGE_DELETED, facts)
    return entry, trash_id


def remove_pages_below(
    session: Session, journal: Journal, pages: Sequence[page_writes.Page], trash_id: str
) -> dict[str, str]:
    """
    Move *pages*, parents before children, to the trash with what gets *trash_id* afterwards, and record the events.

    Returns their own trash ids by path, children first.
    """
    reason = follower_reason(trash_id)
    return {page.path: remove_page(session, journal, page, reason=reason)[1] for page in reversed(pages)}


def remove_empty_directories(tree: Tree, path: str) -> None:
    """Remove empty directories of the page, including its `assets`."""
    for directory in directories_of(tree, path):
        with suppress(Refused, OSError):
            tree.remove_directory(directory)


def directories_of(tree: Tree, path: str) -> list[str]:
    """The directories of the page, including its `assets`, children before parents."""
    directory = directory_of(path, Kind.PAGE)
    directories = [directory, f"{parent_of(path)}/{ASSETS}".lstrip("/")]
    with suppress(Refused, OSError):
        directories += scan(tree, Ignore(), directory).directories
    return sorted(directories, key=lambda entry: entry.count("/"), reverse=True)


def _title_of(page: page_writes.Page) -> str:
    return page.head.title or page.path.removesuffix("/_index.md").removesuffix(".md").rpartition("/")[2]


FOLDER_TRASH_REASON = "folder deleted by a tool"


@dataclass(frozen=True, slots=True)
class FolderToDelete:
    """
    A folder to delete, with its contents.

    pages: parents before children. attachments: their paths. directories: the folder and those in it, deepest first.
    """

    folder: PageSummary
    pages: Sequence[page_writes.Page]
    attachments: Sequence[str]
    directories: Sequence[str]


def collect_folder(session: Session, path: str, expected_digest: str | None, *, recursive: bool) -> FolderToDelete:
    """The folder at *path* with its contents. Raises Failed: HAS_CHILDREN, or HAS_FILES for files not synced."""
    folder = folder_to_change(session, path, expected_digest)
    with translating_errors():
        check_owned(session.tree, folder.path)
        folder_scan = scan(session.tree, Ignore(), folder.path)
        _check_files(session.tree, folder.path, [folder.path, *folder_scan.directories], set(folder_scan.files))
    kinds = {path: spot.kind for path in folder_scan.files if (spot := spot_of_file(path)) is not None}
    pages = sorted((path for path in kinds if kinds[path] is Kind.PAGE), key=lambda path: (path.count("/"), path))
    folders = [path for path in folder_scan.directories if not is_in_assets(path)]
    if (pages or folders) and not recursive:
        raise children_exist(folder.path, len(pages))
    loaded = [page_writes.read_page_file(session, page) for page in pages]
    for page in loaded:
        page_writes.check_unchanged(session, page, None)
    directories = sorted([folder.path, *folder_scan.directories], key=lambda path: path.count("/"), reverse=True)
    return FolderToDelete(folder, loaded, [path for path in kinds if kinds[path] is Kind.ATTACHMENT], directories)


def remove_folder(session: Session, journal: Journal, doomed: FolderToDelete) -> tuple[str, str, dict[str, str]]:
    """
    Move the folder to the trash, inside `writing()`; return its id, its trash id, and trash ids of its pages by path.

    Raises Failed, CONFLICT, after a concurrent save in it: parts moved by then are in the trash.
    """
    path, key = doomed.folder.path, new_key()
    entry = id_of_folder(session, path)
    pages = remove_pages_below(session, journal, doomed.pages, key)
    with translating_errors():
        for attachment in doomed.attachments:
            _remove_attachment(session, journal, attachment, key)
        card = trash.TrashCard(path, path.rpartition("/")[2], FOLDER_TRASH_REASON, time.time())
        trash.record_directory(session.tree, EntryId(UUID(entry)), NO_TEXT, card, key)
        if not all(session.tree.remove_directory(directory) for directory in doomed.directories):
            raise page_modified(path)
    command_events.record_event(session, EventType.PAGE_DELETED, {"page_id": entry, "path": path, "trash_id": key})
    return entry, key, pages


def path_to_restore(session: Session, trashed: trash.TrashedFile, path: str | None) -> str:
    """*path*, or the old path of what is in the trash. Raises Failed, EXISTS, if a page is there."""
    wanted_path = path if path is not None else trashed.card.path if trashed.card is not None else ""
    if page_paths.find_page_path(session, wanted_path) is not None:
        raise Failed("EXISTS", "conflict", f"There is a page at {wanted_path!r} already.", "Give another path.")
    return wanted_path


def restore_directory(session: Session, trashed: trash.TrashedFile, path: str | None) -> str:
    """Target directory of a folder from the trash. Raises Failed, EXISTS, if a page has that name."""
    wanted_path = path_to_restore(session, trashed, path)
    return page_paths.find_directory(session, wanted_path) or directory_of(
        page_paths.new_page_path(session, wanted_path), Kind.PAGE
    )


def restore_folder(session: Session, journal: Journal, trashed: trash.TrashedFile, target: str) -> str:
    """
    Recreate the directory, inside `writing()`; return the folder's id. Restored pages may have created it already.

    At its old path it keeps its id: the daemon identifies a folder by nothing but its path.
    """
    move_plan.promote_leaves(session, journal, target + SUFFIX)
    with translating_errors():
        session.tree.make_directories(target)
    trash.drop_restored(session.tree, trashed)
    is_back = trashed.card is not None and trashed.card.path == target
    return str(trashed.label.entry) if is_back else id_of_folder(session, target)


def children_exist(path: str, count: int) -> Failed:
    """Failure for the deletion of a page or folder with children; count: of pages."""
    children = "folders" if count == 0 else "a page" if count == 1 else f"{count} pages"
    return Failed(
        "HAS_CHILDREN",
        "conflict",
        f"{path} has {children} below it.",
        "Delete it with recursive to delete them too, or move them away first.",
        {"children": count},
    )


def _remove_attachment(session: Session, journal: Journal, path: str, trash_id: str) -> None:
    removal = follower_removal(session, path, trash_id)
    if removal is None:
        raise page_modified(path)
    entry, over = EntryId(UUID(removal.entry)), Digest(bytes.fromhex(removal.expected))
    try:
        save = replace.remove(
            session.tree,
            journal,
            path,
            replace.ExpectedFile(entry, over),
            replace.Removal(removal.reason, key=removal.key),
        )
    except Stale:
        raise page_writes.concurrent_change(session, path) from None
    if save is not None:
        raise page_modified(path)


def _check_files(tree: Tree, path: str, directories: Sequence[str], synced_files: set[str]) -> None:
    if (stray := next(_find_strays(tree, directories, synced_files), None)) is not None:
        raise Failed(
            "HAS_FILES",
            "conflict",
            f"{path} holds files that are not synced, such as {stray}.",
            "Delete or move its pages one by one, or ask the person to take those files away.",
        )


def _find_strays(tree: Tree, directories: Sequence[str], synced_files: set[str]) -> Iterator[str]:
    """Entries of *directories* that are neither *synced_files* nor directories of the list."""
    expected = {*directories, *synced_files}
    for directory in directories:
        yield from (path for name in tree.list_stats(directory) if (path := f"{directory}/{name}") not in expected)
