"""The agent deletes pages, and brings them back from the trash."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mirrord.codec.records import read
from mirrord.codec.text import decode
from mirrord.commands import discarding, events, paths, promotion, writing
from mirrord.commands.difference import diff_lines
from mirrord.commands.failure import Failed, explained
from mirrord.commands.folder_removal import REASON as FOLDER_REASON
from mirrord.commands.folder_removal import doomed_folder, has_children, remove_folder, restore_folder, target_of_folder
from mirrord.commands.plain_folders import NO_TEXT
from mirrord.commands.session import Session
from mirrord.domain.approval import ABSENT, MOST_LINES, Preview
from mirrord.domain.entry import EntryId
from mirrord.domain.event import Type
from mirrord.domain.record import Form, name_of_record
from mirrord.errors import Busy, Damaged, Refused, Stale
from mirrord.mirror import replace, trash
from mirrord.mirror.card import LIMIT
from mirrord.mirror.journal import TRASH, Journal
from mirrord.mirror.layout import parent_of
from mirrord.mirror.lock import lock_for
from mirrord.mirror.trash import Trashed

_KEY = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Deleted:
    """
    A page that went to the trash.

    trash_id: what restore_page takes. below: the same for the pages below it that went too, by their paths.
    """

    page_id: str
    trash_id: str
    path: str
    below: dict[str, str]


@dataclass(frozen=True, slots=True)
class Restored:
    """A page that came back. warnings: sentences about what went with it and did not, or not as it was."""

    page_id: str
    path: str
    digest: str
    warnings: tuple[str, ...] = ()


def delete_page(session: Session, path: str, expected_digest: str | None = None, *, recursive: bool = False) -> Deleted:
    """
    Move a page to the trash, from which restore_page brings it back for 30 days.

    recursive: with the pages below it; without, a page that has some is refused. Attachments stay where they are, but
        of a folder without a page file, which goes as a whole.
    """
    with session.writing() as journal:
        page = writing.there(session, path)
        if page is None:
            folder = doomed_folder(session, path, expected_digest, recursive=recursive)
            entry_id, trash_id, gone = remove_folder(session, journal, folder)
            return Deleted(entry_id, trash_id, folder.folder.path, gone)
        children = _children(session, page, expected_digest, recursive=recursive)
        gone = {child.path: discarding.remove_page(session, journal, child)[1] for child in reversed(children)}
        entry, trash_id = discarding.remove_page(session, journal, page)
        discarding.tidy(session.tree, page.path)
        return Deleted(str(entry), trash_id, page.path, gone)


def preview_delete_page(
    session: Session, path: str, expected_digest: str | None = None, *, recursive: bool = False
) -> Preview:
    """What delete_page would do."""
    page = writing.there(session, path)
    if page is None:
        folder = doomed_folder(session, path, expected_digest, recursive=recursive)
        return _preview_of(f"folder {folder.folder.path}", folder.folder.path, folder.pages, folder.pages)
    children = _children(session, page, expected_digest, recursive=recursive)
    return _preview_of(f"page {page.path}", page.path, children, [page, *children])


def _preview_of(what: str, path: str, children: Sequence[writing.Page], pages: Sequence[writing.Page]) -> Preview:
    more = f" with the {len(children)} below it" if children else ""
    facts = {"path": path, "deleted_pages_count": len(pages)}
    lines = tuple(one.path for one in pages[:MOST_LINES])
    bases = {one.path: one.digest.hex() for one in pages}
    return Preview(f"The {what} would go to the trash{more}.", facts, lines, bases)


def restore_page(session: Session, trash_id: str, path: str | None = None) -> Restored:
    """
    Bring a deleted page back; the pages that were below it come back by their own ids.

    path: where to; None: where it was. Raises Failed, EXISTS, if a page is there by now.
    """
    with session.writing() as journal:
        found, text = _trashed(session, trash_id)
        if _is_folder(found):
            return _restored_folder(session, journal, found, trash_id, path)
        target = _target(session, found, path)
        promotion.promote(session, journal, target)
        entry = found.label.entry
        try:
            digest = writing.make(session, journal, target, text, entry)
        except Stale as error:
            raise writing.is_taken(error) from error
        trash.take_out(session.tree, found)
        warnings = _bring_along(session, journal, trash_id, target, entry)
        facts = {"page_id": str(entry), "path": target, "trash_id": trash_id, "digest": digest.hex()}
        events.record(session, Type.PAGE_RESTORED, facts)
        return Restored(str(entry), target, digest.hex(), tuple(warnings))


def preview_restore_page(session: Session, trash_id: str, path: str | None = None) -> Preview:
    """What restore_page would do."""
    found, text = _trashed(session, trash_id)
    if _is_folder(found):
        target = target_of_folder(session, found, path)
        return Preview(f"The folder {target} would come back from the trash.", {"path": target, "trash_id": trash_id})
    target = _target(session, found, path)
    facts = {"path": target, "trash_id": trash_id}
    lines = diff_lines(target, "", text)
    return Preview(f"The page {target} would come back from the trash.", facts, lines, {target: ABSENT})


def _children(
    session: Session, page: writing.Page, expected_digest: str | None, *, recursive: bool
) -> list[writing.Page]:
    """The pages that are deleted with *page*, all unchanged as it is. Raises Failed, HAS_CHILDREN."""
    writing.check_unchanged(session, page, expected_digest)
    children = [writing.read(session, child) for child in discarding.below(session.tree, page.path)]
    if children and not recursive:
        raise has_children(page.path, len(children))
    for child in children:
        writing.check_unchanged(session, child, None)
    return children


def _target(session: Session, found: Trashed, path: str | None) -> str:
    """Where a page from the trash may go. Raises Failed, EXISTS."""
    asked = path if path is not None else found.card.path if found.card is not None else ""
    if paths.existing(session, asked) is not None:
        raise Failed("EXISTS", "conflict", f"There is a page at {asked!r} already.", "Give another path.")
    return paths.fresh(session, asked)


def _is_folder(found: Trashed) -> bool:
    return found.card is not None and found.card.reason == FOLDER_REASON


def _restored_folder(session: Session, journal: Journal, found: Trashed, trash_id: str, path: str | None) -> Restored:
    target = target_of_folder(session, found, path)
    entry = restore_folder(session, journal, found, target)
    warnings = _bring_along(session, journal, trash_id, target, found.label.entry)
    events.record(session, Type.PAGE_RESTORED, {"page_id": entry, "path": target, "trash_id": trash_id})
    return Restored(entry, target, NO_TEXT.hex(), tuple(warnings))


def _bring_along(session: Session, journal: Journal, trash_id: str, target: str, entry: EntryId) -> list[str]:
    """What went to the trash with the page now at *target* comes back to its place; sentences about what does not."""
    warnings = []
    for found in trash.contents_of(session.tree):
        if found.card is None or found.card.reason != discarding.followed(trash_id):
            continue
        path = found.card.path
        try:
            with lock_for(session.tree, [path]):
                data, _ = session.tree.read(f"{TRASH}/{found.name}", LIMIT)
                session.tree.make_directories(parent_of(path))
                replace.write(session.tree, journal, path, data, entry=found.label.entry, over=None)
        except (Stale, Damaged, Busy, Refused) as error:
            warnings.append(f"{path}, which went with this page, stays in the trash: {error}")
            continue
        trash.take_out(session.tree, found)
        warnings += _doubts(session, path, data, target, entry)
    return warnings


def _doubts(session: Session, path: str, data: bytes, target: str, entry: EntryId) -> list[str]:
    """Why a record that came back may not count for the page at *target*."""
    if name_of_record(path) is None:
        return []
    found = []
    try:
        read(Form.JSON, decode(data))
    except Damaged as error:
        found.append(f"{path} came back, but cannot be read: {error}. Mend that file.")
    cards = list(session.catalogue.look().every.values())
    others = [one for one, owner in session.catalogue.look().ids(cards).items() if owner == entry and one != target]
    if others:
        found.append(f"{others[0]} has the id of this page too; {path} counts for the one that keeps it.")
    return found


def _trashed(session: Session, trash_id: str) -> tuple[Trashed, str]:
    found = trash.find(session.tree, trash_id) if _KEY.fullmatch(trash_id) else None
    if found is None:
        raise Failed("NOT_IN_TRASH", "not_found", f"The trash holds nothing called {trash_id!r}.", "Use a trashId.")
    with explained():
        data, _ = session.tree.read(f"{TRASH}/{found.name}", LIMIT)
        return found, decode(data)
