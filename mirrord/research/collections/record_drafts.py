"""Planned changes of categories and collections: previewed, or carried out as a whole."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic

from mirrord.commands.core import command_events
from mirrord.commands.core.failure import MODIFIED_SENTENCE, Failed
from mirrord.commands.core.list_cursor import cursor_of, start_index
from mirrord.commands.core.session import Session
from mirrord.commands.core.text_diff import diff_lines
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
    Shelf,
    StoredRecord,
    UnreadableRecord,
    V,
    load_record,
    load_records,
)
from mirrord.research.collections.collection_rules import Category, Collection

TRASH_REASON = "removed by a tool"
MAX_LISTED_RECORDS = 100  # records in one answer, so that a model can read it
_MAX_PROBLEMS = 10


@dataclass(frozen=True, slots=True)
class RecordEdit(Generic[V]):
    """
    The change of one record.

    before: None for a new record. change: maps the old value to the new one; called again after a concurrent save.
    after: the new value; None: the record is removed. text: of its file, "" for a removal. event: its type, and facts
    beyond the record itself.
    """

    shelf: Shelf[V]
    before: StoredRecord[V] | None
    change: Callable[[V], V]
    after: V | None
    text: str
    event: tuple[EventType, Mapping[str, object]]

    @property
    def source(self) -> str | None:
        """Current path of its file; None for a new record."""
        return self.before.path if self.before is not None else None

    @property
    def target(self) -> str | None:
        """Path of its file afterwards; None for a removal."""
        return self.shelf.path(self.after.name) if self.after is not None else None

    @property
    def is_idle(self) -> bool:
        """Whether the edit changes nothing."""
        return self.before is not None and self.source == self.target and self.before.text == self.text

    def repeat_on_current(self, session: Session) -> tuple[Digest, bytes] | None:
        """Apply the change to a concurrent save; None if that is unreadable or needs no change."""
        assert self.after is not None
        current = load_record(session, self.shelf, self.after.name)
        if not isinstance(current, StoredRecord):
            return None
        try:
            text = self.shelf.write(current.text, self.change(current.value))
        except Damaged:
            return None
        return (current.digest, text.encode()) if text != current.text else None


AnyEdit = RecordEdit[Category] | RecordEdit[Collection]
Draft = Sequence[AnyEdit]  # the first is the requested edit, the others follow from it


@dataclass(frozen=True, slots=True)
class ChangedRecord:
    """
    A category or collection after the change; a removed one as it was before. Returned only once it is durable.

    value: name and content. message: further information.
    """

    value: Mapping[str, object]
    message: str | None = None


@dataclass(frozen=True, slots=True)
class RecordList:
    """
    Records in the form of Done.value, oldest first.

    problems: sentences about unreadable files. next_cursor: None at the end.
    """

    values: list[dict[str, object]]
    problems: list[str]
    next_cursor: str | None = None


def edit_to_create(shelf: Shelf[V], value: V, kind: EventType) -> RecordEdit[V]:
    """The edit that creates a record."""
    return RecordEdit(shelf, None, lambda old: old, value, _render_text(shelf, None, value), (kind, {}))


def edit_to_change(
    shelf: Shelf[V],
    record: StoredRecord[V],
    change: Callable[[V], V],
    kind: EventType,
    facts: Mapping[str, object] | None = None,
) -> RecordEdit[V]:
    """The edit that changes the content or name of a record."""
    after = change(record.value)
    text = _render_text(shelf, record.text, after)
    renamed = {"old_name": record.value.name} if after.name != record.value.name else {}
    return RecordEdit(shelf, record, change, after, text, (kind, {**renamed, **(facts or {})}))


def edit_to_remove(shelf: Shelf[V], record: StoredRecord[V], kind: EventType) -> RecordEdit[V]:
    """The edit that moves a record to the trash."""
    return RecordEdit(shelf, record, lambda old: old, None, "", (kind, {"trash_id": new_key()}))


def creation_time() -> str:
    """Creation time in the form that record files use."""
    return datetime.now(UTC).isoformat()


def list_records(
    session: Session, shelf: Shelf[V], cursor: str | None, limit: int | None, *, verbose: bool
) -> RecordList:
    """
    Records of this kind, *limit* in one answer; None: all.

    cursor: from an answer to the same question. verbose: with file paths and creation times.
    """
    records, broken = load_records(session, shelf)
    question = f"list {shelf.plural}"
    start = start_index([record.path for record in records], cursor, question)
    page = records[start : start + limit if limit is not None else None]
    extras = [{"path": record.path, "created": record.value.created} if verbose else {} for record in page]
    values = [facts_of(record.value) | extra for record, extra in zip(page, extras, strict=True)]
    is_all = start + len(page) >= len(records)
    after = None if is_all else cursor_of(question, page[-1].path, start + len(page))
    return RecordList(values, _problem_sentences(shelf, broken), after)


def _problem_sentences(shelf: Shelf[V], broken: Sequence[UnreadableRecord]) -> list[str]:
    sentences = [f"{shelf.path(record.name)} cannot be read: {record.problem}." for record in broken[:_MAX_PROBLEMS]]
    if len(broken) > _MAX_PROBLEMS:
        sentences.append(f"{len(broken) - _MAX_PROBLEMS} more cannot be read.")
    return sentences


def facts_of(value: Category | Collection) -> dict[str, object]:
    """Facts about a category or collection for agents and events."""
    if isinstance(value, Category):
        facts: dict[str, object] = {"dir": value.directory, "patterns": list(value.patterns)}
    else:
        facts = {"categories": list(value.categories)}
    return {"name": value.name, **facts, "description": value.description}


def preview_draft(draft: Draft, summary: str) -> Preview:
    """Preview the file changes of *draft*."""
    lines = [line for edit in draft for line in _preview_lines(edit)]
    bases = {edit.source: edit.before.digest.hex() for edit in draft if edit.before is not None and edit.source}
    new = {edit.target: ABSENT_DIGEST for edit in draft if edit.target and edit.target != edit.source}
    others = [edit.before.value.name for edit in draft[1:] if edit.before is not None]
    return Preview(summary, {"also_changed": others}, tuple(lines[:MAX_PREVIEW_LINES]), {**bases, **new})


def carry_out_draft(session: Session, journal: Journal, draft: Draft, message: str | None = None) -> ChangedRecord:
    """
    Carry out *draft* durably, inside `changing_records()`.

    message: further information for the result. Raises Failed, CONFLICT, and changes nothing if the requested record
    was saved concurrently.
    """
    first = draft[0]
    value = facts_of(first.after or _value_before(first))
    if first.is_idle and len(draft) == 1:
        return ChangedRecord(value, "Nothing was changed: it says that already.")
    unwritten = _carry_out(session, journal, draft)
    notice = f"Unchanged, because another program was writing to it: {', '.join(unwritten)}." if unwritten else None
    return ChangedRecord(value, " ".join(filter(None, (message, notice))) or None)


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


def _value_before(edit: AnyEdit) -> Category | Collection:
    assert edit.before is not None
    return edit.before.value


def _write_file(session: Session, journal: Journal, edit: AnyEdit) -> None:
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


def _is_rewritten(edit: AnyEdit) -> bool:
    return edit.after is not None and edit.before is not None and edit.before.text != edit.text


def _stage_rewrite(session: Session, journal: Journal, edit: AnyEdit) -> Rewrite:
    assert edit.before is not None
    assert edit.target is not None
    entry = page_writes.id_of_file(session, edit.before.path)
    return batch_rename.stage_text(journal, edit.target, entry, edit.before.digest, edit.text.encode())


def _removal_of(session: Session, edit: AnyEdit) -> Removal:
    assert edit.before is not None
    path, key = edit.before.path, str(edit.event[1]["trash_id"])
    return Removal(path, str(page_writes.id_of_file(session, path)), edit.before.digest.hex(), key, TRASH_REASON)


def _repeat_edit(session: Session, draft: Draft, path: str) -> tuple[Digest, bytes] | None:
    return next(edit for edit in draft if edit.target == path).repeat_on_current(session)


def _event_of(session: Session, edit: AnyEdit) -> tuple[EventType, Mapping[str, object]]:
    kind, facts = edit.event
    value, path = edit.after or _value_before(edit), edit.target or edit.source
    assert path is not None
    location = {"path": path, "record_id": str(page_writes.id_of_file(session, edit.source or path))}
    digest = {"digest": digest_of(edit.text.encode()).hex()} if edit.after is not None else {}
    return kind, {**facts_of(value), **location, **digest, **facts}


def _preview_lines(edit: AnyEdit) -> tuple[str, ...]:
    before = edit.before.text if edit.before is not None else ""
    moved = [f"{edit.source} → {edit.target}"] if edit.source and edit.target and edit.source != edit.target else []
    return (*moved, *diff_lines(edit.target or edit.source or "", before, edit.text))


def _render_text(shelf: Shelf[V], before: str | None, value: V) -> str:
    """Raises Failed if a file cannot express the value."""
    try:
        return shelf.write(before, value)
    except Damaged as error:
        sentence = f"The {shelf.kind} {value.name} cannot be written: {error}."
        raise Failed("WRITE_ERROR", "write_error", sentence, f"Change {shelf.path(value.name)} by hand.") from error
