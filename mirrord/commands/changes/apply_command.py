"""The command that applies a change set: all of it or nothing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid5

from mirrord.commands.changes import draft_session
from mirrord.commands.changes.accepted_part import (
    WHOLE,
    AcceptedPart,
    accept_part,
    directories_of_part,
)
from mirrord.commands.changes.applied_events import lines_of_changes
from mirrord.commands.changes.change_previews import nothing_changed, preview_changes
from mirrord.commands.changes.change_review import OPEN_CONFLICT, SettledChange
from mirrord.commands.core.command_plan import Plan, command
from mirrord.commands.core.failure import Failed, invalid_argument, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_writes
from mirrord.commands.pages.plain_folders import NO_TEXT
from mirrord.commands.pages.sync_status import note_on_deletions, why_halted
from mirrord.domain.approval import Preview
from mirrord.domain.entry import MAX_FILE_BYTES, Digest, EntryId
from mirrord.domain.review import ReviewChoice, choice_of
from mirrord.errors import Stale
from mirrord.mirror.draft import draft_changes, draft_store
from mirrord.mirror.draft.draft_changes import ChangeSort
from mirrord.mirror.draft.draft_remainder import AppliedFile, write_remainder
from mirrord.mirror.draft.draft_store import DraftFacts
from mirrord.mirror.draft.draft_tree import DraftTree
from mirrord.mirror.write import change_plan, trash
from mirrord.mirror.write.change_plan import FileChanges, FileMove, FileText
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import key_of, new_key
from mirrord.mirror.write.rename_plan import Removal
from mirrord.mirror.write.trash import TrashedFile
from mirrord.mirror.write.tree_locks import write_lock

MAX_MESSAGE_CHARACTERS = 2_000
_MERGE_ADVICE = (
    "Call review_changes with the path of each page: diff is your change, underneathDiff what others changed. Then "
    "call discard_changes with that path: the page is as in the tree again. Read it, make of it what it should be, and "
    "call apply_changes."
)
_CONFLICT_ADVICE = (
    "Of a page with an open conflict, read_page it and the page with its other text, write into it what is right, "
    "delete_page the other one in this change set too, and call apply_changes."
)
_TRASH_REASON = "deleted by a change set"


@dataclass(frozen=True, slots=True)
class AppliedChanges:
    """
    An applied change set.

    created, edited, moved, deleted: numbers of files. merged: files that had changed in the tree too, where both
    changes fitted together. rejected: what a person did not accept, or not all of it; comment: the person's;
    remainder: the change set that goes on with that. note: that its deletions may wait for a person; None: they do not.
    """

    change_set: str
    pages: int
    created: int
    edited: int
    moved: int
    deleted: int
    merged: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    comment: str | None = None
    remainder: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class _Application(Plan[AppliedChanges]):
    """A change set on the tree as it is: the changes of files, with the entries they are of, by path in the draft."""

    facts: DraftFacts
    draft: Session
    part: AcceptedPart
    entries: Mapping[str, EntryId]
    message: str
    comment: str | None
    resources: ExitStack

    @property
    def settled(self) -> Sequence[SettledChange]:
        return self.part.settled

    def _shown_changes(self, session: Session) -> Sequence[SettledChange]:
        """Without links that follow in pages that the scope hides: no answer names these."""
        return [settled for settled in self.settled if session.tree.shows(settled.change.path)]

    def close(self) -> None:
        self.resources.close()

    def preview(self, session: Session) -> Preview:
        return preview_changes(session, self.draft, self.facts, self.part.settlement)

    def carry_out(self, session: Session, journal: Journal) -> AppliedChanges:
        _check_running(session)
        with ExitStack() as undone:
            goes_on = any(map(session.tree.shows, self.part.rejected))
            remainder = self._write_remainder(undone) if goes_on else None
            ended = replace(
                self.facts.ended(draft_store.APPLIED, self.message),
                comment=self.comment,
                rejected=self.part.rejected,
                remainder=remainder,
            )
            try:
                change_plan.carry_out(session.tree.whole, journal, self._file_changes(session, ended))
            except Stale as error:
                is_whole = session.tree.whole is session.tree
                raise _conflict(str(error) if is_whole else "a file changed at this moment.", {}) from error
            except change_plan.Unfinished:
                undone.pop_all()
                raise
            undone.pop_all()
        return self._result(session, ended)

    def _write_remainder(self, undone: ExitStack) -> str:
        """Write the draft that goes on with what was rejected, and return its id."""
        tree, facts = _tree_of(self.draft), self.facts
        remainder = replace(
            facts,
            id=str(uuid5(UUID(facts.id), "remainder")),
            is_submitted=False,
            comment=self.comment,
            part_of=facts.id,
        )
        undone.callback(draft_store.forget_draft, tree.lower, remainder)
        files = [self._applied_file(tree, settled) for settled in self.settled]
        write_remainder(tree, remainder, files, self.part.rejected)
        return remainder.id

    def _applied_file(self, tree: DraftTree, settled: SettledChange) -> AppliedFile:
        path, data = settled.change.path, settled.data
        if data is None and settled.change.sort is not ChangeSort.DELETED:
            data = tree.snapshot(path, MAX_FILE_BYTES)[0]
        return AppliedFile(settled.change, self.entries[path], data, self.part.full_texts.get(path))

    def _result(self, session: Session, ended: DraftFacts) -> AppliedChanges:
        visible = self._shown_changes(session)
        counts = Counter(settled.change.sort for settled in visible)
        return AppliedChanges(
            self.facts.id,
            len(visible),
            created=counts[ChangeSort.CREATED],
            edited=counts[ChangeSort.EDITED],
            moved=counts[ChangeSort.MOVED],
            deleted=counts[ChangeSort.DELETED],
            merged=tuple(settled.change.path for settled in visible if settled.is_merged),
            rejected=tuple(filter(session.tree.shows, self.part.rejected)),
            comment=ended.comment,
            remainder=ended.remainder,
            note=None if self._approved_by(session) else note_on_deletions(session, counts[ChangeSort.DELETED]),
        )

    def _approved_by(self, session: Session) -> str | None:
        """The request that a person approved; None: no person looked at this."""
        request = session.event_facts.get("request_id")
        return str(request) if request is not None else None

    def _file_changes(self, session: Session, ended: DraftFacts) -> FileChanges:
        tree = _tree_of(self.draft)
        directories = directories_of_part(tree, self.part)
        takes_away = directories.removed or any(settled.change.sort is ChangeSort.DELETED for settled in self.settled)
        trashed = draft_changes.own_trash(tree) if takes_away else []
        removals = {
            settled.change.path: self._removal(settled, trashed)
            for settled in self.settled
            if settled.change.sort is ChangeSort.DELETED
        }
        folders = _folder_records(trashed, directories.removed)
        deletions = removals | {folder.path: folder for folder in folders}
        return FileChanges(
            moves=[self._move(settled) for settled in self.settled if settled.change.sort is ChangeSort.MOVED],
            texts=[self._text(settled) for settled in self.settled if settled.data is not None],
            removals=list(removals.values()),
            directories=directories.created,
            folder_records=folders,
            emptied=directories.removed,
            restored=self._restored_names(tree),
            appended_lines=lines_of_changes(session, tree, ended, self.settled, self.entries, deletions),
            draft=(self.facts.directory, ended.encode()),
            approved_by=self._approved_by(session),
        )

    def _restored_names(self, tree: DraftTree) -> list[str]:
        names = draft_changes.restored_names(tree)
        if not self.part.rejected:
            return names
        entries = {self.entries[settled.change.path] for settled in self.settled}
        accepted = {trashed.name for trashed in trash.list_trash(tree.lower) if trashed.label.entry in entries}
        return [name for name in names if name in accepted]

    def _move(self, settled: SettledChange) -> FileMove:
        change = settled.change
        assert change.source is not None
        assert settled.current is not None
        return FileMove(change.source, change.path, self.entries[change.path], settled.current)

    def _text(self, settled: SettledChange) -> FileText:
        assert settled.data is not None
        return FileText(settled.change.path, self.entries[settled.change.path], settled.current, settled.data)

    def _removal(self, settled: SettledChange, trashed: Sequence[TrashedFile]) -> Removal:
        """The removal as the draft recorded it: its trash id stays valid."""
        change = settled.change
        assert settled.current is not None
        entry = self.entries[change.path]
        trashed_file = next((file for file in trashed if file.card is not None and file.label.entry == entry), None)
        if trashed_file is None or trashed_file.card is None:
            return Removal(change.path, str(entry), settled.current.hex(), new_key(), _TRASH_REASON)
        return Removal(
            change.path,
            str(entry),
            settled.current.hex(),
            key_of(trashed_file.name),
            trashed_file.card.reason,
            trashed_file.card.title,
        )


def _read_arguments(*, choice: Mapping[str, object] | None = None, **others: Any) -> Mapping[str, Any]:
    """choice: of a person, as JSON."""
    try:
        return others if choice is None else {**others, "choice": choice_of(choice)}
    except ValueError as error:
        raise invalid_argument("INVALID_CHOICE", str(error), "Show the change set and choose again.") from error


@command("apply_changes", read_arguments=_read_arguments)
def apply_changes(
    session: Session,
    change_set: str,
    message: str | None = None,
    choice: ReviewChoice = WHOLE,
    comment: str | None = None,
) -> Plan[AppliedChanges]:
    """
    Apply a change set as a whole, or the part that a person chose.

    message: what it is for; None: its title. comment: the person's, for the agent. Raises Failed, CONFLICT, with the
    pages that changed in the tree too, and nothing is changed then.
    """
    facts = draft_session.find_draft(session, change_set)
    draft_session.check_open(facts)
    text = _check_message((message or "").strip() or facts.title)
    _check_running(session)
    with ExitStack() as resources:
        draft, tree = resources.enter_context(draft_session.reading_draft(session, facts))
        with translating_errors():
            resources.enter_context(write_lock(tree))
            part = accept_part(session, tree, choice)
        if part.settlement.clashes:
            raise _conflict("", part.settlement.clashes)
        if not any(session.tree.shows(settled.change.path) for settled in part.settled):
            raise nothing_changed(facts)
        entries = _entries_of(session, draft, part.settled)
        return _Application(facts, draft, part, entries, text, comment, resources.pop_all())


def _check_message(message: str) -> str:
    if not draft_session.is_plain(message, max_characters=MAX_MESSAGE_CHARACTERS, controls="\t\n\r"):
        sentence = f"A message has at most {MAX_MESSAGE_CHARACTERS} characters, and no control characters."
        raise invalid_argument("INVALID_MESSAGE", sentence, "Say in a few sentences what was done and why.")
    return message


def _check_running(session: Session) -> None:
    """Raises Failed while a person has stopped sync: nothing big should wait unseen."""
    if (sentence := why_halted(session)) is not None:
        raise Failed("HALTED", "unavailable", sentence, "Tell the person; when sync goes on, call apply_changes again.")


def _entries_of(session: Session, draft: Session, settled_changes: Sequence[SettledChange]) -> dict[str, EntryId]:
    """The entries of changed files by path in the draft; where the tree has the file, as the tree knows it."""
    in_tree = {settled.change.path: settled.change.source for settled in settled_changes if settled.change.source}
    new = {settled.change.path: settled.change.path for settled in settled_changes if not settled.change.source}
    digests = {
        settled.change.source: settled.current
        for settled in settled_changes
        if settled.change.source and settled.current is not None
    }
    claims = {
        path: claim for path, digest in digests.items() if (claim := session.catalogue.claimed_id(digest)) is not None
    }
    return _entries_at(session.whole, in_tree, claims, digests) | _entries_at(draft.whole, new, {}, {})


def _entries_at(
    session: Session, places: Mapping[str, str], claims: Mapping[str, str], digests: Mapping[str, Digest]
) -> dict[str, EntryId]:
    """
    The entries of the files at *places*, by the keys of these.

    claims: the `id:` of pages, as far as known. digests: of the files, as far as read.
    """
    snapshot = session.catalogue.snapshot()
    cards = snapshot.exact_pages(place for place in places.values() if place not in claims)
    ids = snapshot.ids_at({**claims, **{path: card.claimed for path, card in cards.items()}}, digests)
    return {path: ids.get(place) or page_writes.id_of_file(session, place) for path, place in places.items()}


def _folder_records(trashed: Sequence[TrashedFile], removed: Sequence[str]) -> list[Removal]:
    """Folders that were removed: their records in the trash are empty files. removed: the directories that go."""
    return [
        Removal(
            file.card.path, str(file.label.entry), NO_TEXT.hex(), key_of(file.name), file.card.reason, file.card.title
        )
        for file in trashed
        if file.card is not None
        and file.label.expected == NO_TEXT
        and file.stat.size == 0
        and file.card.path in removed
    ]


def _conflict(sentence: str, clashes: Mapping[str, str]) -> Failed:
    pages = [f"{path} {reason}" for path, reason in clashes.items()]
    overflow = f", and {len(pages) - 10} more" if len(pages) > 10 else ""
    return Failed(
        "CONFLICT",
        "conflict",
        f"Nothing was applied: {(sentence or '; '.join(pages[:10]) + overflow).removesuffix('.')}.",
        _way_out_of(clashes),
        {"pages": [{"path": path, "reason": reason} for path, reason in list(clashes.items())[:50]]},
    )


def _way_out_of(clashes: Mapping[str, str]) -> str:
    are_conflicts = [reason.startswith(OPEN_CONFLICT) for reason in clashes.values()]
    sentences = [] if are_conflicts and all(are_conflicts) else [_MERGE_ADVICE]
    return " ".join([*sentences, *([_CONFLICT_ADVICE] if any(are_conflicts) else [])])


def _tree_of(draft: Session) -> DraftTree:
    tree = draft.tree.whole
    assert isinstance(tree, DraftTree)
    return tree
