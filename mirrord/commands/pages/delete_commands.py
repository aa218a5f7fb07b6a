"""The command that deletes pages, and folders without a page file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mirrord.commands.core.command_plan import Plan, command
from mirrord.commands.core.failure import translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_trash, page_writes
from mirrord.commands.pages.page_trash import (
    FolderToDelete,
    children_exist,
    collect_folder,
    remove_folder,
)
from mirrord.commands.pages.sync_status import note_on_deletions
from mirrord.domain.approval import MAX_PREVIEW_LINES, Preview
from mirrord.mirror.tree.scoped_tree import check_owned
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import new_key

_TRASH_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class DeletedPage:
    """
    A page moved to the trash.

    trash_id: argument of restore_page, which brings the pages below it back, too. below: theirs, by path. note: that
    the deletion waits for a person, or may; None: it does not.
    """

    page_id: str
    trash_id: str
    path: str
    below: dict[str, str]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class _Deletion(Plan[DeletedPage]):
    """A page for the trash. children: the pages below it, parents first."""

    page: page_writes.Page
    children: Sequence[page_writes.Page]

    def preview(self, session: Session) -> Preview:
        path = self.page.path
        return _preview_deletion(f"page {path}", path, self.children, [self.page, *self.children])

    def carry_out(self, session: Session, journal: Journal) -> DeletedPage:
        trash_id = new_key()
        below = page_trash.remove_pages_below(session, journal, self.children, trash_id)
        entry, _ = page_trash.remove_page(session, journal, self.page, key=trash_id)
        page_trash.remove_empty_directories(session.tree, self.page.path)
        note = note_on_deletions(session, len(below) + 1)
        return DeletedPage(str(entry), trash_id, self.page.path, below, note)


@dataclass(frozen=True, slots=True)
class _FolderDeletion(Plan[DeletedPage]):
    """A folder without a page file for the trash."""

    doomed: FolderToDelete

    def preview(self, session: Session) -> Preview:
        path, pages = self.doomed.folder.path, self.doomed.pages
        return _preview_deletion(f"folder {path}", path, pages, pages)

    def carry_out(self, session: Session, journal: Journal) -> DeletedPage:
        entry, trash_id, trash_ids = remove_folder(session, journal, self.doomed)
        note = note_on_deletions(session, len(trash_ids) + len(self.doomed.attachments))
        return DeletedPage(entry, trash_id, self.doomed.folder.path, trash_ids, note)


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
    with translating_errors():
        check_owned(session.tree, page.path)
    return _Deletion(page, _checked_children(session, page, expected_digest, recursive=recursive))


def _preview_deletion(
    subject: str, path: str, children: Sequence[page_writes.Page], pages: Sequence[page_writes.Page]
) -> Preview:
    children_note = f" with the {len(children)} below it" if children else ""
    facts = {"path": path, "deleted_pages_count": len(pages)}
    lines = tuple(page.path for page in pages[:MAX_PREVIEW_LINES])
    bases = {page.path: page.digest.hex() for page in pages}
    return Preview(f"The {subject} would go to the trash{children_note}.", facts, lines, bases)


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
