"""Move files that commands remove to the trash."""

from contextlib import suppress

from mirrord.commands.core import command_events
from mirrord.commands.core.failure import page_modified, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_writes
from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.event import EventType
from mirrord.domain.place import ASSETS
from mirrord.errors import Refused, Stale
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import directory_of, page_path, parent_of, spot_of_file
from mirrord.mirror.tree.tree_scan import scan
from mirrord.mirror.write import replace
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import new_key
from mirrord.mirror.write.rename_plan import Removal

TRASH_REASON = "deleted by a tool"


def pages_below(tree: Tree, path: str) -> list[str]:
    """The pages below the page at *path*, parents before children."""
    directory = directory_of(path, Kind.PAGE)
    if path != (index := page_path("", directory, index=True)) and tree.stat(index) is not None:
        return []  # beside `W/_index.md`, `W/` is not the directory of `W.md`
    files = scan(tree, Ignore(), directory).files
    pages = [file for file in files if file != path and (spot := spot_of_file(file)) and spot.kind is Kind.PAGE]
    return sorted(pages, key=lambda file: (file.count("/"), file))


def trash_page(session: Session, journal: Journal, page: page_writes.Page) -> tuple[EntryId, str]:
    """Move a page to the trash, inside `writing()`; return its id and trash id. The caller records the event."""
    entry, trash_id = page_writes.id_of_page(session, page), new_key()
    with translating_errors():
        try:
            save = replace.remove(
                session.tree,
                journal,
                page.path,
                replace.ExpectedFile(entry, page.digest),
                replace.Removal(TRASH_REASON, title=_title_of(page), key=trash_id),
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
    return f"went with {trash_id}"


def remove_page(session: Session, journal: Journal, page: page_writes.Page) -> tuple[EntryId, str]:
    """As trash_page(), and record the event."""
    entry, trash_id = trash_page(session, journal, page)
    facts = {"page_id": str(entry), "path": page.path, "trash_id": trash_id}
    command_events.record_event(session, EventType.PAGE_DELETED, facts)
    return entry, trash_id


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
