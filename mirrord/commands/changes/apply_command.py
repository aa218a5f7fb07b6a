"""The command that applies a change set: all of it or nothing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from mirrord.commands.changes import draft_session
from mirrord.commands.changes.applied_events import lines_of_changes
from mirrord.commands.changes.change_review import SettledChange, diff_of_change, settle_changes
from mirrord.commands.core.command_plan import Plan, command
from mirrord.commands.core.failure import Failed, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_writes
from mirrord.commands.pages.plain_folders import NO_TEXT
from mirrord.commands.pages.sync_status import why_halted
from mirrord.domain.approval import ABSENT_DIGEST, MAX_PREVIEW_LINES, Preview
from mirrord.domain.entry import EntryId
from mirrord.errors import Stale
from mirrord.mirror.draft import draft_changes, draft_store
from mirrord.mirror.draft.draft_changes import ChangeSort
from mirrord.mirror.draft.draft_store import DraftFacts
from mirrord.mirror.draft.draft_tree import FILES_NAME, DraftTree
from mirrord.mirror.write import change_plan
from mirrord.mirror.write.change_plan import FileChanges, FileMove, FileText
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import key_of, new_key
from mirrord.mirror.write.rename_plan import Removal
from mirrord.mirror.write.trash import TrashedFile
from mirrord.mirror.write.tree_locks import write_lock

_TRASH_REASON = "deleted by a change set"


@dataclass(frozen=True, slots=True)
class AppliedChanges:
    """
    An applied change set.

    created, edited, moved, deleted: numbers of files. merged: files that had changed in the tree too, where both
    changes fitted together.
    """

    change_set: str
    pages: int
    created: int
    edited: int
    moved: int
    deleted: int
    merged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Application(Plan[AppliedChanges]):
    """A change set on the tree as it is: the changes of files, with the entries they are of, by path in the draft."""

    facts: DraftFacts
    draft: Session
    settled: Sequence[SettledChange]
    entries: Mapping[str, EntryId]
    message: str
    resources: ExitStack

    def close(self) -> None:
        self.resources.close()

    def preview(self, session: Session) -> Preview:
        tree = _tree_of(self.draft)
        lines = [line for settled in self.settled for line in _preview_lines(tree, settled)]
        if len(lines) > MAX_PREVIEW_LINES:
            lines = [*lines[: MAX_PREVIEW_LINES - 1], f"… and {len(lines) - MAX_PREVIEW_LINES + 1} lines more"]
        facts = {"change_set": self.facts.id, "title": self.facts.title, "changed_pages_count": len(self.settled)}
        sentence = f"The change set {self.facts.title!r} would change {len(self.settled)} pages and files."
        return Preview(sentence, facts, tuple(lines), self._bases())

    def _bases(self) -> dict[str, str]:
        """The files of the tree, and those of the draft: a draft that goes on after the preview is another one."""
        changes = [settled.change for settled in self.settled]
        bases = dict.fromkeys((change.path for change in changes), ABSENT_DIGEST)
        for settled in self.settled:
            if settled.change.source is not None and settled.current is not None:
                bases[settled.change.source] = settled.current.hex()
        files = f"{self.facts.directory}/{FILES_NAME}"
        own_files = {f"{files}/{change.path}": change.digest.hex() for change in changes if change.digest is not None}
        return bases | own_files

    def carry_out(self, session: Session, journal: Journal) -> AppliedChanges:
        _check_running(session)
        result = self._result()
        ended = self.facts.ended(draft_store.APPLIED, self.message)
        try:
            change_plan.carry_out(session.tree, journal, self._file_changes(session, ended))
        except Stale as error:
            raise _conflict(str(error), {}) from error
        return result

    def _result(self) -> AppliedChanges:
        counts = Counter(settled.change.sort for settled in self.settled)
        return AppliedChanges(
            self.facts.id,
            len(self.settled),
            created=counts[ChangeSort.CREATED],
            edited=counts[ChangeSort.EDITED],
            moved=counts[ChangeSort.MOVED],
            deleted=counts[ChangeSort.DELETED],
            merged=tuple(settled.change.path for settled in self.settled if settled.is_merged),
        )

    def _file_changes(self, session: Session, ended: DraftFacts) -> FileChanges:
        tree = _tree_of(self.draft)
        directories, trashed = draft_changes.directories_of(tree), draft_changes.own_trash(tree)
        removals = {
            settled.change.path: self._removal(settled, trashed)
            for settled in self.settled
            if settled.change.sort is ChangeSort.DELETED
        }
        return FileChanges(
            moves=[self._move(settled) for settled in self.settled if settled.change.sort is ChangeSort.MOVED],
            texts=[self._text(settled) for settled in self.settled if settled.data is not None],
            removals=list(removals.values()),
            directories=directories.created,
            folder_records=list(_folder_records(trashed)),
            emptied=directories.removed,
            restored=draft_changes.restored_names(tree),
            appended_lines=lines_of_changes(session, tree, ended, self.settled, self.entries, removals),
            draft=(self.facts.directory, ended.encode()),
        )

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


@command("apply_changes")
def apply_changes(session: Session, change_set: str, message: str | None = None) -> Plan[AppliedChanges]:
    """
    Apply a change set as a whole.

    message: what it is for; None: its title. Raises Failed, CONFLICT, with the pages that changed in the tree too, and
    nothing is changed then.
    """
    facts = draft_session.find_draft(session, change_set)
    draft_session.check_open(facts)
    _check_running(session)
    with ExitStack() as resources:
        draft, tree = resources.enter_context(draft_session.reading_draft(session, facts))
        with translating_errors():
            resources.enter_context(write_lock(tree))
            settlement = settle_changes(session, tree)
        if settlement.clashes:
            raise _conflict("", settlement.clashes)
        if not settlement.settled:
            raise Failed(
                "NOTHING_CHANGED",
                "invalid",
                f"The change set {facts.title!r} changes nothing.",
                "Write, move or delete pages first, or call discard_changes.",
            )
        entries = {settled.change.path: _entry_of(session, draft, settled) for settled in settlement.settled}
        text = (message or "").strip() or facts.title
        return _Application(facts, draft, settlement.settled, entries, text, resources.pop_all())


def _check_running(session: Session) -> None:
    """Raises Failed while a person has stopped sync: nothing big should wait unseen."""
    if (sentence := why_halted(session)) is not None:
        raise Failed("HALTED", "unavailable", sentence, "Tell the person; when sync goes on, call apply_changes again.")


def _entry_of(session: Session, draft: Session, settled: SettledChange) -> EntryId:
    change = settled.change
    where, path = (session, change.source) if change.source is not None else (draft, change.path)
    snapshot = where.catalogue.snapshot()
    card = snapshot.exact_page(path)
    return snapshot.id_of(card) if card is not None else page_writes.id_of_file(where, path)


def _folder_records(trashed: Sequence[TrashedFile]) -> list[Removal]:
    """Folders that were removed: their records in the trash are empty files."""
    return [
        Removal(
            file.card.path, str(file.label.entry), NO_TEXT.hex(), key_of(file.name), file.card.reason, file.card.title
        )
        for file in trashed
        if file.card is not None and file.label.expected == NO_TEXT and file.stat.size == 0
    ]


def _preview_lines(tree: DraftTree, settled: SettledChange) -> list[str]:
    change = settled.change
    moved = f" (from {change.source})" if change.sort is ChangeSort.MOVED else ""
    return [f"{change.sort} {change.path}{moved}", *diff_of_change(tree, change).splitlines()]


def _conflict(sentence: str, clashes: Mapping[str, str]) -> Failed:
    pages = [f"{path} {reason}" for path, reason in clashes.items()]
    overflow = f", and {len(pages) - 10} more" if len(pages) > 10 else ""
    return Failed(
        "CONFLICT",
        "conflict",
        f"Nothing was applied: {sentence or '; '.join(pages[:10]) + overflow}",
        "Call review_changes to see both, read and write those pages again in the change set, then apply_changes.",
        {"pages": [{"path": path, "reason": reason} for path, reason in list(clashes.items())[:50]]},
    )


def _tree_of(draft: Session) -> DraftTree:
    assert isinstance(draft.tree, DraftTree)
    return draft.tree
