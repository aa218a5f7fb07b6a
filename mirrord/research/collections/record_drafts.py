"""Planned changes of categories and collections: previewed, or carried out as a whole."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType

from mirrord.commands.core import command_events
from mirrord.commands.core.command_plan import Plan, diff_lines
from mirrord.commands.core.failure import MODIFIED_SENTENCE, Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_writes
from mirrord.domain.approval import ABSENT_DIGEST, MAX_PREVIEW_LINES, Preview
from mirrord.domain.entry import Digest, digest_of
from mirrord.domain.event import EventType
from mirrord.errors import Damaged, Stale
from mirrord.mirror.tree.tree_layout import parent_of
from mirrord.mirror.write import batch_rename
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import Label, new_key
from mirrord.mirror.write.rename_plan import BatchPlan, Removal, Rename, Rewrite
from mirrord.research.collections.collection_records import (
    StoredRecord,
    load_record,
)
from mirrord.research.collections.collection_rules import GroupKind, PageGroup
from mirrord.research.collections.collection_yaml import group_text

TRASH_REASON = "removed by a tool"


@dataclass(frozen=True, slots=True)
class RecordEdit:
    """
    The change of one record.

    before: None for a new record. change: maps the old value to the new one; called again after a concurrent save.
    after: the new value; None: the record is removed. text: of its file, "" for a removal. facts: of the event,
    beyond the record itself.
    """

    kind: GroupKind
    before: StoredRecord | None
    change: Callable[[PageGroup], PageGroup]
    after: PageGroup | None
    text: str
    event: EventType
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def source(self) -> str | None:
        """Current path of its file; None for a new record."""
        return self.before.path if self.before is not None else None

    @property
    def target(self) -> str | None:
        """Path of its file afterwards; None for a removal."""
        return self.kind.path(self.after.name) if self.after is not None else None

    @property
    def is_idle(self) -> bool:
        """Whether the edit changes nothing."""
        return self.before is not None and self.source == self.target and self.before.text == self.text

    def repeat_on_current(self, session: Session) -> tuple[Digest, bytes] | None:
        """Apply the change to a concurrent save; None if that is unreadable or needs no change."""
        assert self.after is not None
        current = load_record(session, self.kind, self.after.name)
        if not isinstance(current, StoredRecord):
            return None
        try:
            text = group_text(self.kind, current.text, self.change(current.value))
        except Damaged:
            return None
        return (current.digest, text.encode()) if text != current.text else None


Draft = Sequence[RecordEdit]  # the first is the requested edit, the others follow from it


@dataclass(frozen=True, slots=True)
class ChangedRecord:
    """
    A category or collection after the change; a removed one as it was before. Returned only once it is durable.

    value: name and content. message: further information.
    """

    value: Mapping[str, object]
    message: str | None = None


def edit_to_create(kind: GroupKind, value: PageGroup) -> RecordEdit:
    """The edit that creates a record."""
    return RecordEdit(kind, None, lambda old: old, value, _render_text(kind, None, value), _event_type(kind, "Added"))


def edit_to_change(
    kind: GroupKind,
    record: StoredRecord,
    change: Callable[[PageGroup], PageGroup],
    verb: str,
    facts: Mapping[str, object] = MappingProxyType({}),
) -> RecordEdit:
    """The edit that changes the content or name of a record. verb: Changed or Updated. facts: as in RecordEdit."""
    after = change(record.value)
    text = _render_text(kind, record.text, after)
    renamed = {"old_name": record.value.name} if after.name != record.value.name else {}
    return RecordEdit(kind, record, change, after, text, _event_type(kind, verb), {**renamed, **facts})


def edit_to_remove(kind: GroupKind, record: StoredRecord) -> RecordEdit:
    """The edit that moves a record to the trash."""
    return RecordEdit(kind, record, lambda old: old, None, "", _event_type(kind, "Removed"), {"trash_id": new_key()})


def _event_type(kind: GroupKind, verb: str) -> EventType:
    return EventType(f"{kind.name.capitalize()}{verb}")


def creation_time() -> str:
    """Creation time in the form that record files use."""
    return datetime.now(UTC).isoformat()


@dataclass(frozen=True, slots=True)
class GroupPlan(Plan[ChangedRecord]):
    """
    The plan of a command.

    summary: a sentence for its preview. message: further information for its result; None: there is none.
    """

    draft: Draft
    summary: str
    message: str | None = None

    def preview(self, session: Session) -> Preview:
        """Preview the changes of files."""
        lines = [line for edit in self.draft for line in _preview_lines(edit)]
        bases = {
            edit.source: edit.before.digest.hex() for edit in self.draft if edit.before is not None and edit.source
        }
        new = {edit.target: ABSENT_DIGEST for edit in self.draft if edit.target and edit.target != edit.source}
        others = [edit.before.value.name for edit in self.draft[1:] if edit.before is not None]
        return Preview(self.summary, {"also_changed": others}, tuple(lines[:MAX_PREVIEW_LINES]), {**bases, **new})

    def carry_out(self, session: Session, journal: Journal) -> ChangedRecord:
        """
        Carry out all edits durably, inside `changing_records()`.

        Raises Failed, CONFLICT, and changes nothing if the requested record was saved concurrently.
        """
        first = self.draft[0]
        value = first.kind.facts_of(first.after or _value_before(first))
        if first.is_idle and len(self.draft) == 1:
            return ChangedRecord(value, "Nothing was changed: it says that already.")
        unwritten = _carry_out(session, journal, self.draft)
        notice = f"Unchanged, because another program was writing to it: {', '.join(unwritten)}." if unwritten else None
        return ChangedRecord(value, " ".join(filter(None, (self.message, notice))) or None)


def _carry_out(session: Session, journal: Journal, draft: Draft) -> tuple[str, ...]:
    """Carry out *draft*; return files left unchanged because they were being written. Resumed after a crash."""
    first = draft[0]
    if len(draft) == 1 and first.after is not None and first.source in (None, first.target):
        _write_file(session, journal, first)
        return ()
    for edit in draft:
        session.tree.make_directories(parent_of(edit.target or edit.source or ""))
    plan = BatchPlan(
        _renames_of(session, draft),
        [_stage_rewrite(session, journal, edit) for edit in draft if _is_rewritten(edit)],
        appended_lines=command_events.event_lines(session, [_event_of(session, edit) for edit in draft]),
        removal=_removal_of(session, first) if first.after is None else None,
    )
    try:
        return tuple(
            batch_rename.carry_out_plan(session.tree, journal, plan, lambda path: _repeat_edit(session, draft, path))
        )
    except Stale as error:
        raise Failed("CONFLICT", "conflict", MODIFIED_SENTENCE, f"{error} Look again, then retry.") from error


def _value_before(edit: RecordEdit) -> PageGroup:
    assert edit.before is not None
    return edit.before.value


def _write_file(session: Session, journal: Journal, edit: RecordEdit) -> None:
    assert edit.target is not None
    data = edit.text.encode()
    before = edit.before.digest if edit.before is not None else None
    try:
        label = Label(page_writes.id_of_file(session, edit.target), before, digest_of(data))
        page_writes.replace_file(session, journal, page_writes.Replacement(edit.target, data, label))
    except Stale as error:
        raise Failed("CONFLICT", "conflict", MODIFIED_SENTENCE, "Look at it again, then retry.") from error
    command_events.record_event(session, *_event_of(session, edit))


def _renames_of(session: Session, draft: Draft) -> list[Rename]:
    renames = []
    for edit in draft:
        if edit.source is not None and edit.target is not None and edit.source != edit.target:
            stat = session.tree.stat(edit.source)
            if stat is None:
                raise Failed("CONFLICT", "conflict", MODIFIED_SENTENCE, f"{edit.source} is gone; look again.")
            renames.append(Rename(edit.source, edit.target, stat.inode))
    return renames


def _is_rewritten(edit: RecordEdit) -> bool:
    return edit.after is not None and edit.before is not None and edit.before.text != edit.text


def _stage_rewrite(session: Session, journal: Journal, edit: RecordEdit) -> Rewrite:
    assert edit.before is not None
    assert edit.target is not None
    entry = page_writes.id_of_file(session, edit.before.path)
    return batch_rename.stage_text(journal, edit.target, entry, edit.before.digest, edit.text.encode())


def _removal_of(session: Session, edit: RecordEdit) -> Removal:
    assert edit.before is not None
    path, key = edit.before.path, str(edit.facts["trash_id"])
    return Removal(path, str(page_writes.id_of_file(session, path)), edit.before.digest.hex(), key, TRASH_REASON)


def _repeat_edit(session: Session, draft: Draft, path: str) -> tuple[Digest, bytes] | None:
    return next(edit for edit in draft if edit.target == path).repeat_on_current(session)


def _event_of(session: Session, edit: RecordEdit) -> tuple[EventType, Mapping[str, object]]:
    value, path = edit.after or _value_before(edit), edit.target or edit.source
    assert path is not None
    location = {"path": path, "record_id": str(page_writes.id_of_file(session, edit.source or path))}
    digest = {"digest": digest_of(edit.text.encode()).hex()} if edit.after is not None else {}
    return edit.event, {**edit.kind.facts_of(value), **location, **digest, **edit.facts}


def _preview_lines(edit: RecordEdit) -> tuple[str, ...]:
    before = edit.before.text if edit.before is not None else ""
    moved = [f"{edit.source} → {edit.target}"] if edit.source and edit.target and edit.source != edit.target else []
    return (*moved, *diff_lines(edit.target or edit.source or "", before, edit.text))


def _render_text(kind: GroupKind, before: str | None, value: PageGroup) -> str:
    """Raises Failed if a file cannot express the value."""
    try:
        return group_text(kind, before, value)
    except Damaged as error:
        sentence = f"The {kind.name} {value.name} cannot be written: {error}."
        raise Failed("WRITE_ERROR", "write_error", sentence, f"Change {kind.path(value.name)} by hand.") from error
