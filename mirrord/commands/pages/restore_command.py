"""The command that restores pages and folders from the trash, with all that was deleted with them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mirrord.commands.core import command_events, page_paths
from mirrord.commands.core.command_plan import Plan, command, diff_lines
from mirrord.commands.core.failure import Failed, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages import move_plan, page_trash, page_writes
from mirrord.commands.pages.page_trash import path_to_restore, restore_directory, restore_folder
from mirrord.commands.pages.plain_folders import NO_TEXT
from mirrord.domain.approval import ABSENT_DIGEST, MAX_PREVIEW_LINES, Preview
from mirrord.domain.entry import MAX_FILE_BYTES, Digest, EntryId, Kind, digest_of
from mirrord.domain.event import EventType
from mirrord.domain.place import RecordFormat, name_of_record
from mirrord.errors import Busy, Damaged, Refused, Stale
from mirrord.markdown.frontmatter.page_text import decode
from mirrord.markdown.frontmatter.record_text import read_record
from mirrord.mirror.tree.scoped_tree import check_writable
from mirrord.mirror.tree.tree_layout import directory_of, parent_of, spot_of_file
from mirrord.mirror.write import replace, trash
from mirrord.mirror.write.journal import TRASH_PATH, Journal
from mirrord.mirror.write.journal_labels import key_of
from mirrord.mirror.write.trash import TrashedFile
from mirrord.mirror.write.tree_locks import lock_for

_TRASH_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class RestoredPage:
    """
    A restored page. below: paths of the pages that were deleted with it and are back. warnings: sentences about files
    that were not restored, or not unchanged.
    """

    page_id: str
    path: str
    digest: str
    below: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Follower:
    """A file that was deleted with another one, and the path to which it is restored."""

    trashed: TrashedFile
    path: str

    @property
    def is_page(self) -> bool:
        return self._kind is Kind.PAGE

    @property
    def is_attachment(self) -> bool:
        return self._kind is Kind.ATTACHMENT

    @property
    def _kind(self) -> Kind | None:
        spot = spot_of_file(self.path)
        return spot.kind if spot is not None else None


@dataclass(frozen=True, slots=True)
class _Restoration(Plan[RestoredPage]):
    """
    A page from the trash for the free path *target*, and what was deleted with it, parents before children.

    text: None for a folder, whose directory *target* is.
    """

    trashed: TrashedFile
    trash_id: str
    target: str
    text: str | None
    followers: Sequence[_Follower]

    def preview(self, session: Session) -> Preview:
        facts: dict[str, object] = {"path": self.target, "trash_id": self.trash_id}
        pages = [follower.path for follower in self.followers if follower.is_page]
        noun = "folder" if self.text is None else "page"
        below = f" with the {len(pages)} below it" if pages else ""
        sentence = f"The {noun} {self.target} would come back from the trash{below}."
        if pages:
            facts["restored_pages_count"] = len(pages) + (self.text is not None)
        lines = pages if self.text is None else [*diff_lines(self.target, "", self.text), *pages]
        targets = [path for path in pages if session.tree.stat(path) is None]
        bases = dict.fromkeys(targets if self.text is None else [self.target, *targets], ABSENT_DIGEST)
        return Preview(sentence, facts, tuple(lines[:MAX_PREVIEW_LINES]), bases)

    def carry_out(self, session: Session, journal: Journal) -> RestoredPage:
        target, text, entry, digest = self.target, self.text, self.trashed.label.entry, NO_TEXT
        if text is None:
            page_id = restore_folder(session, journal, self.trashed, target)
        else:
            page_id, digest = str(entry), _restore_text(session, journal, target, text, entry)
            trash.drop_restored(session.tree, self.trashed)
        _record_event(session, page_id, target, self.trash_id, digest if text is not None else None)
        restored, warnings = _restore_followers(session, journal, self.followers, page_id)
        warnings += _warn_about_records(session, [follower.path for follower in restored], target, entry)
        below = tuple(follower.path for follower in restored if follower.is_page)
        return RestoredPage(page_id, target, digest.hex(), below, tuple(warnings))


@command("restore_page")
def restore_page(session: Session, trash_id: str, path: str | None = None) -> Plan[RestoredPage]:
    """
    Restore a deleted page or folder, and what was deleted with it.

    path: the target; None: its old path. Raises Failed, EXISTS, if a page exists there.
    """
    trashed, text = _find_trashed(session, trash_id)
    assert trashed.card is not None
    is_folder = trashed.card.reason == page_trash.FOLDER_TRASH_REASON
    if is_folder:
        target = restore_directory(session, trashed, path)
        directories = trashed.card.path, target
    else:
        target = page_paths.new_page_path(session, path_to_restore(session, trashed, path))
        directories = directory_of(trashed.card.path, Kind.PAGE), directory_of(target, Kind.PAGE)
    with translating_errors():
        check_writable(session.tree, trashed.card.path, target)
        followers = _followers_of(trash.list_trash(session.tree), trash_id, *directories)
    return _Restoration(trashed, trash_id, target, None if is_folder else text, followers)


def _followers_of(
    stored: Sequence[TrashedFile], trash_id: str, old_directory: str, new_directory: str
) -> list[_Follower]:
    """
    What was deleted with *trash_id*, and with that, pages first, parents before children.

    What was in *old_directory* comes to *new_directory*, anything else to its old path.
    """
    followers, keys = [], [trash_id]
    for key in keys:
        for trashed in stored:
            if trashed.card is not None and trashed.card.reason == page_trash.follower_reason(key):
                keys.append(key_of(trashed.name))
                path = trashed.card.path
                if path.startswith(f"{old_directory}/"):
                    path = new_directory + path.removeprefix(old_directory)
                followers.append(_Follower(trashed, path))
    return sorted(followers, key=lambda follower: (not follower.is_page, follower.path.count("/"), follower.path))


def _restore_text(session: Session, journal: Journal, target: str, text: str, entry: EntryId) -> Digest:
    move_plan.promote_leaves(session, journal, target)
    try:
        return page_writes.create_page_file(session, journal, target, page_writes.encode_page(text), entry)
    except Stale as error:
        raise page_writes.page_exists(error) from error


def _restore_followers(
    session: Session, journal: Journal, followers: Sequence[_Follower], page_id: str
) -> tuple[list[_Follower], list[str]]:
    """Restore what was deleted with the page *page_id*; what is back, and sentences about what stays in the trash."""
    restored, warnings = [], []
    for follower in followers:
        path = follower.path
        try:
            with lock_for(session.tree, [path]):
                digest = _restore_file(session, journal, follower)
        except (Failed, Stale, Damaged, Busy, Refused) as error:
            warnings.append(f"{path}, which went with this page, stays in the trash: {error}")
            continue
        trash.drop_restored(session.tree, follower.trashed)
        restored.append(follower)
        if follower.is_page:
            trashed = follower.trashed
            _record_event(session, str(trashed.label.entry), path, key_of(trashed.name), digest)
        elif follower.is_attachment:
            command_events.record_event(session, *_restored_attachment(follower, page_id, digest))
    return restored, warnings


def _restored_attachment(follower: _Follower, page_id: str, digest: Digest) -> tuple[EventType, Mapping[str, object]]:
    """The event of an attachment that came back with the page or folder *page_id*."""
    facts = {"page_id": page_id, "attachment_id": str(follower.trashed.label.entry), "path": follower.path}
    return EventType.ATTACHMENT_RESTORED, {**facts, "digest": digest.hex()}


def _restore_file(session: Session, journal: Journal, follower: _Follower) -> Digest:
    """Restore a file; its digest."""
    data, _ = session.tree.read(f"{TRASH_PATH}/{follower.trashed.name}", MAX_FILE_BYTES)
    session.tree.make_directories(parent_of(follower.path))
    entry = follower.trashed.label.entry
    if follower.is_page:
        return page_writes.create_page_file(session, journal, follower.path, data, entry)
    replace.write(session.tree, journal, follower.path, data, replace.ExpectedFile(entry, None))
    return digest_of(data)


def _record_event(session: Session, page_id: str, path: str, trash_id: str, digest: Digest | None) -> None:
    facts = {"page_id": page_id, "path": path, "trash_id": trash_id}
    facts |= {"digest": digest.hex()} if digest is not None else {}
    command_events.record_event(session, EventType.PAGE_RESTORED, facts)


def _warn_about_records(session: Session, paths: Sequence[str], target: str, entry: EntryId) -> list[str]:
    """Sentences about why a restored record may not apply to the page at *target*."""
    records, sentences = [path for path in paths if name_of_record(path) is not None], []
    other_path = _other_page_with(session, entry, target) if records else None
    for path in records:
        try:
            read_record(RecordFormat.JSON, decode(session.tree.read(path, MAX_FILE_BYTES)[0]))
        except Damaged as error:
            sentences.append(f"{path} came back, but cannot be read: {error}. Mend that file.")
        if other_path is not None:
            sentences.append(f"{other_path} has the id of this page too; {path} counts for the one that keeps it.")
    return sentences


def _other_page_with(session: Session, entry: EntryId, target: str) -> str | None:
    """The path of another page than that at *target* with this id."""
    snapshot = session.catalogue.snapshot()
    ids = snapshot.ids(list(snapshot.summaries_by_path.values()))
    return next((path for path, owner in ids.items() if owner == entry and path != target), None)


def _find_trashed(session: Session, trash_id: str) -> tuple[TrashedFile, str]:
    trashed = trash.find_removed(session.tree, trash_id) if _TRASH_ID.fullmatch(trash_id) else None
    if trashed is None or not page_trash.is_shown(trashed):
        sentence = f"The trash holds nothing called {trash_id!r}."
        raise Failed("NOT_IN_TRASH", "not_found", sentence, "Call list_trash for the trashId of each deleted page.")
    with translating_errors():
        data, _ = session.tree.read(f"{TRASH_PATH}/{trashed.name}", MAX_FILE_BYTES)
        return trashed, decode(data)
