"""Commands that delete pages and restore them from the trash."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mirrord.commands.core import command_events, page_paths
from mirrord.commands.core.command_plan import Plan, command, diff_lines
from mirrord.commands.core.failure import Failed, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages import move_plan, page_trash, page_writes
from mirrord.commands.pages.page_trash import (
    FolderToDelete,
    children_exist,
    collect_folder,
    path_to_restore,
    remove_folder,
    restore_directory,
    restore_folder,
)
from mirrord.commands.pages.plain_folders import NO_TEXT
from mirrord.domain.approval import ABSENT_DIGEST, MAX_PREVIEW_LINES, Preview
from mirrord.domain.entry import MAX_FILE_BYTES, Digest, EntryId
from mirrord.domain.event import EventType
from mirrord.domain.place import RecordFormat, name_of_record
from mirrord.errors import Busy, Damaged, Refused, Stale
from mirrord.markdown.frontmatter.page_text import decode
from mirrord.markdown.frontmatter.record_text import read_record
from mirrord.mirror.tree.tree_layout import parent_of
from mirrord.mirror.write import replace, trash
from mirrord.mirror.write.journal import TRASH_PATH, Journal
from mirrord.mirror.write.trash import TrashedFile
from mirrord.mirror.write.tree_locks import lock_for

_TRASH_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class DeletedPage:
    """
    A page moved to the trash.

    trash_id: argument of restore_page. below: trash ids of the deleted pages below it, by path.
    """

    page_id: str
    trash_id: str
    path: str
    below: dict[str, str]


@dataclass(frozen=True, slots=True)
class RestoredPage:
    """A restored page. warnings: sentences about files that were not restored, or not unchanged."""

    page_id: str
    path: str
    digest: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Deletion(Plan[DeletedPage]):
    """A page for the trash. children: the pages below it, parents first."""

    page: page_writes.Page
    children: Sequence[page_writes.Page]

    def preview(self, session: Session) -> Preview:
        path = self.page.path
        return _preview_deletion(f"page {path}", path, self.children, [self.page, *self.children])

    def carry_out(self, session: Session, journal: Journal) -> DeletedPage:
        children = reversed(self.children)
        trash_ids = {child.path: page_trash.remove_page(session, journal, child)[1] for child in children}
        entry, trash_id = page_trash.remove_page(session, journal, self.page)
        page_trash.remove_empty_directories(session.tree, self.page.path)
        return DeletedPage(str(entry), trash_id, self.page.path, trash_ids)


@dataclass(frozen=True, slots=True)
class _FolderDeletion(Plan[DeletedPage]):
    """A folder without a page file for the trash."""

    doomed: FolderToDelete

    def preview(self, session: Session) -> Preview:
        path, pages = self.doomed.folder.path, self.doomed.pages
        return _preview_deletion(f"folder {path}", path, pages, pages)

    def carry_out(self, session: Session, journal: Journal) -> DeletedPage:
        entry, trash_id, trash_ids = remove_folder(session, journal, self.doomed)
        return DeletedPage(entry, trash_id, self.doomed.folder.path, trash_ids)


@command("delete_page")
def delete_page(
    session: Session, path: str, expected_digest: str | None = None, *, recursive: bool = False
) -> Plan[DeletedPage]:
    """
    Move a page to the trash; restore_page restores it for 30 days.

    recursive: include the pages below it; without it, a page with children is refused. Attachments stay in place,
        except in a folder without a page file, which is removed as a whole.
    """
    page = page_writes.look_up_page(session, path)
    if page is None:
        return _FolderDeletion(collect_folder(session, path, expected_digest, recursive=recursive))
    return _Deletion(page, _checked_children(session, page, expected_digest, recursive=recursive))


def _preview_deletion(
    subject: str, path: str, children: Sequence[page_writes.Page], pages: Sequence[page_writes.Page]
) -> Preview:
    children_note = f" with the {len(children)} below it" if children else ""
    facts = {"path": path, "deleted_pages_count": len(pages)}
    lines = tuple(page.path for page in pages[:MAX_PREVIEW_LINES])
    bases = {page.path: page.digest.hex() for page in pages}
    return Preview(f"The {subject} would go to the trash{children_note}.", facts, lines, bases)


@dataclass(frozen=True, slots=True)
class _Restoration(Plan[RestoredPage]):
    """A page from the trash for the free path *target*. text: None for a folder, whose directory *target* is."""

    trashed: TrashedFile
    trash_id: str
    target: str
    text: str | None

    def preview(self, session: Session) -> Preview:
        facts = {"path": self.target, "trash_id": self.trash_id}
        if self.text is None:
            return Preview(f"The folder {self.target} would come back from the trash.", facts)
        sentence, lines = (
            f"The page {self.target} would come back from the trash.",
            diff_lines(self.target, "", self.text),
        )
        return Preview(sentence, facts, lines, {self.target: ABSENT_DIGEST})

    def carry_out(self, session: Session, journal: Journal) -> RestoredPage:
        target, text, entry, digest = self.target, self.text, self.trashed.label.entry, NO_TEXT
        if text is None:
            page_id = restore_folder(session, journal, self.trashed, target)
        else:
            page_id, digest = str(entry), _restore_text(session, journal, target, text, entry)
            trash.drop_restored(session.tree, self.trashed)
        warnings = _restore_followers(session, journal, self.trash_id, target, entry)
        facts = {"page_id": page_id, "path": target, "trash_id": self.trash_id}
        facts |= {"digest": digest.hex()} if text is not None else {}
        command_events.record_event(session, EventType.PAGE_RESTORED, facts)
        return RestoredPage(page_id, target, digest.hex(), tuple(warnings))


@command("restore_page")
def restore_page(session: Session, trash_id: str, path: str | None = None) -> Plan[RestoredPage]:
    """
    Restore a deleted page; pages below it are restored by their own trash ids.

    path: the target; None: its old path. Raises Failed, EXISTS, if a page exists there.
    """
    trashed, text = _find_trashed(session, trash_id)
    if trashed.card is not None and trashed.card.reason == page_trash.FOLDER_TRASH_REASON:
        return _Restoration(trashed, trash_id, restore_directory(session, trashed, path), None)
    target = page_paths.new_page_path(session, path_to_restore(session, trashed, path))
    return _Restoration(trashed, trash_id, target, text)


def _checked_children(
    session: Session, page: page_writes.Page, expected_digest: str | None, *, recursive: bool
) -> list[page_writes.Page]:
    """The pages to delete with *page*; checks that all are unchanged. Raises Failed, HAS_CHILDREN."""
    page_writes.check_unchanged(session, page, expected_digest)
    children = [page_writes.read_page_file(session, child) for child in page_trash.pages_below(session.tree, page.path)]
    if children and not recursive:
        raise children_exist(page.path, len(children))
    for child in children:
        page_writes.check_unchanged(session, child, None)
    return children


def _restore_text(session: Session, journal: Journal, target: str, text: str, entry: EntryId) -> Digest:
    move_plan.promote_leaves(session, journal, target)
    try:
        return page_writes.create_page_file(session, journal, target, page_writes.encode_page(text), entry)
    except Stale as error:
        raise page_writes.page_exists(error) from error


def _restore_followers(session: Session, journal: Journal, trash_id: str, target: str, entry: EntryId) -> list[str]:
    """Restore files trashed with the page now at *target*; return sentences about those that stay."""
    warnings = []
    for trashed in trash.list_trash(session.tree):
        if trashed.card is None or trashed.card.reason != page_trash.follower_reason(trash_id):
            continue
        path = trashed.card.path
        try:
            with lock_for(session.tree, [path]):
                data, _ = session.tree.read(f"{TRASH_PATH}/{trashed.name}", MAX_FILE_BYTES)
                session.tree.make_directories(parent_of(path))
                replace.write(session.tree, journal, path, data, replace.ExpectedFile(trashed.label.entry, None))
        except (Stale, Damaged, Busy, Refused) as error:
            warnings.append(f"{path}, which went with this page, stays in the trash: {error}")
            continue
        trash.drop_restored(session.tree, trashed)
        warnings += _record_warnings(session, path, data, target, entry)
    return warnings


def _record_warnings(session: Session, path: str, data: bytes, target: str, entry: EntryId) -> list[str]:
    """Sentences about why a restored record may not apply to the page at *target*."""
    if name_of_record(path) is None:
        return []
    sentences = []
    try:
        read_record(RecordFormat.JSON, decode(data))
    except Damaged as error:
        sentences.append(f"{path} came back, but cannot be read: {error}. Mend that file.")
    cards = list(session.catalogue.snapshot().summaries_by_path.values())
    others = [
        other_path
        for other_path, owner in session.catalogue.snapshot().ids(cards).items()
        if owner == entry and other_path != target
    ]
    if others:
        sentences.append(f"{others[0]} has the id of this page too; {path} counts for the one that keeps it.")
    return sentences


def _find_trashed(session: Session, trash_id: str) -> tuple[TrashedFile, str]:
    trashed = trash.find_removed(session.tree, trash_id) if _TRASH_ID.fullmatch(trash_id) else None
    if trashed is None:
        raise Failed("NOT_IN_TRASH", "not_found", f"The trash holds nothing called {trash_id!r}.", "Use a trashId.")
    with translating_errors():
        data, _ = session.tree.read(f"{TRASH_PATH}/{trashed.name}", MAX_FILE_BYTES)
        return trashed, decode(data)
