"""What a command is about to do to categories and collections: shown to a person beforehand, or done as a whole."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic

from mirrord.commands import events, writing
from mirrord.commands.cursor import cursor_of, start_of
from mirrord.commands.difference import diff_lines
from mirrord.commands.failure import MODIFIED, Failed
from mirrord.commands.records import Broken, Kept, Shelf, V, every, load
from mirrord.commands.session import Session
from mirrord.domain.approval import ABSENT, MOST_LINES, Preview
from mirrord.domain.collection import Category, Collection
from mirrord.domain.entry import Digest, digest_of
from mirrord.domain.event import Type
from mirrord.errors import Damaged, Stale
from mirrord.mirror import relocation
from mirrord.mirror.journal import Journal
from mirrord.mirror.label import Label, new_key
from mirrord.mirror.layout import parent_of
from mirrord.mirror.plan import Plan, Removal, Rename, Rewrite

REASON = "removed by a tool"
LISTED = 100  # in an answer, so that a model can read it
_MOST_PROBLEMS = 10


@dataclass(frozen=True, slots=True)
class Edit(Generic[V]):
    """
    One record that becomes another.

    before: None: it is new. change: from what it says to what it is to say; asked again if somebody saves meanwhile.
    after: what it says then; None: it goes. text: of its file, "" if it goes. event: what that is called, with what
    belongs to it beside the record itself.
    """

    shelf: Shelf[V]
    before: Kept[V] | None
    change: Callable[[V], V]
    after: V | None
    text: str
    event: tuple[Type, Mapping[str, object]]

    @property
    def source(self) -> str | None:
        """Where its file is; None: nowhere yet."""
        return self.before.path if self.before is not None else None

    @property
    def target(self) -> str | None:
        """Where its file will be."""
        return self.shelf.path(self.after.name) if self.after is not None else None

    @property
    def is_idle(self) -> bool:
        """Whether nothing would change."""
        return self.before is not None and self.source == self.target and self.before.text == self.text

    def again(self, session: Session) -> tuple[Digest, bytes] | None:
        """The same change to what somebody saved meanwhile; None: that cannot be read, or needs no change."""
        assert self.after is not None
        now = load(session, self.shelf, self.after.name)
        if not isinstance(now, Kept):
            return None
        try:
            text = self.shelf.write(now.text, self.change(now.value))
        except Damaged:
            return None
        return (now.digest, text.encode()) if text != now.text else None


AnyEdit = Edit[Category] | Edit[Collection]
Draft = Sequence[AnyEdit]  # the first is what was asked for, the others follow from it


@dataclass(frozen=True, slots=True)
class Done:
    """
    A category or collection as it is now; a removed one as it was. Nothing of this is said before it is durable.

    value: name, and what it says. message: what else there is to know.
    """

    value: Mapping[str, object]
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """
    What there is, the oldest first, as Done.value.

    problems: sentences about files that cannot be read. next_cursor: None when that was all.
    """

    values: list[dict[str, object]]
    problems: list[str]
    next_cursor: str | None = None


def made(shelf: Shelf[V], value: V, kind: Type) -> Edit[V]:
    """A new record."""
    return Edit(shelf, None, lambda old: old, value, _text(shelf, None, value), (kind, {}))


def changed(
    shelf: Shelf[V], kept: Kept[V], change: Callable[[V], V], kind: Type, facts: Mapping[str, object] | None = None
) -> Edit[V]:
    """A record that says something else, or is called something else."""
    after = change(kept.value)
    text = _text(shelf, kept.text, after)
    renamed = {"old_name": kept.value.name} if after.name != kept.value.name else {}
    return Edit(shelf, kept, change, after, text, (kind, {**renamed, **(facts or {})}))


def removed(shelf: Shelf[V], kept: Kept[V], kind: Type) -> Edit[V]:
    """A record that goes to the trash."""
    return Edit(shelf, kept, lambda old: old, None, "", (kind, {"trash_id": new_key()}))


def now() -> str:
    """When something is made, as its file says it."""
    return datetime.now(UTC).isoformat()


def listed(session: Session, shelf: Shelf[V], cursor: str | None, most: int | None, *, verbose: bool) -> Listed:
    """
    The records of that kind, *most* at once, None: all.

    cursor: of an answer to the same question. verbose: with their files, and when they were made.
    """
    every_one, broken = every(session, shelf)
    question = f"list {shelf.several}"
    start = start_of([one.path for one in every_one], cursor, question)
    found = every_one[start : start + most if most is not None else None]
    more = [{"path": one.path, "created": one.value.created} if verbose else {} for one in found]
    values = [told(one.value) | extra for one, extra in zip(found, more, strict=True)]
    is_all = start + len(found) >= len(every_one)
    after = None if is_all else cursor_of(question, found[-1].path, start + len(found))
    return Listed(values, _problems(shelf, broken), after)


def _problems(shelf: Shelf[V], broken: Sequence[Broken]) -> list[str]:
    said = [f"{shelf.path(one.name)} cannot be read: {one.problem}." for one in broken[:_MOST_PROBLEMS]]
    if len(broken) > _MOST_PROBLEMS:
        said.append(f"{len(broken) - _MOST_PROBLEMS} more cannot be read.")
    return said


def told(value: Category | Collection) -> dict[str, object]:
    """What agents and events are told of a category or collection."""
    if isinstance(value, Category):
        said: dict[str, object] = {"dir": value.directory, "patterns": list(value.patterns)}
    else:
        said = {"categories": list(value.categories)}
    return {"name": value.name, **said, "description": value.description}


def preview_of(draft: Draft, summary: str) -> Preview:
    """What carrying out *draft* would change in files."""
    lines = [line for edit in draft for line in _lines(edit)]
    bases = {edit.source: edit.before.digest.hex() for edit in draft if edit.before is not None and edit.source}
    new = {edit.target: ABSENT for edit in draft if edit.target and edit.target != edit.source}
    others = [edit.before.value.name for edit in draft[1:] if edit.before is not None]
    return Preview(summary, {"also_changed": others}, tuple(lines[:MOST_LINES]), {**bases, **new})


def perform(session: Session, journal: Journal, draft: Draft, message: str | None = None) -> Done:
    """
    Do all of *draft*, inside `changing()`, durably.

    message: what else there is to know then. Raises Failed, CONFLICT, if somebody saved meanwhile what was asked to be
    changed; then nothing is.
    """
    first = draft[0]
    value = told(first.after or _before(first))
    if first.is_idle and len(draft) == 1:
        return Done(value, "Nothing was changed: it says that already.")
    left = _carry_out(session, journal, draft)
    stayed = f"Somebody was writing {', '.join(left)}, which still says what it said." if left else None
    return Done(value, " ".join(filter(None, (message, stayed))) or None)


def _carry_out(session: Session, journal: Journal, draft: Draft) -> tuple[str, ...]:
    """The files that somebody was writing, so that they stayed. Who comes after a crash goes on with it."""
    first = draft[0]
    if len(draft) == 1 and first.after is not None and first.source in (None, first.target):
        _write(session, journal, first)
        return ()
    for edit in draft:
        session.tree.make_directories(parent_of(edit.target or edit.source or ""))
    plan = Plan(
        _renames(session, draft),
        [_staged(session, journal, edit) for edit in draft if _is_rewritten(edit)],
        note=events.lines(session, [_event(session, edit) for edit in draft]),
        removal=_removal(session, first) if first.after is None else None,
    )
    try:
        return tuple(relocation.carry_out(session.tree, journal, plan, lambda path: _again(session, draft, path)))
    except Stale as error:
        raise Failed("CONFLICT", "conflict", MODIFIED, f"{error} Look again, then retry.") from error


def _before(edit: AnyEdit) -> Category | Collection:
    assert edit.before is not None
    return edit.before.value


def _write(session: Session, journal: Journal, edit: AnyEdit) -> None:
    assert edit.target is not None
    data = edit.text.encode()
    before = edit.before.digest if edit.before is not None else None
    try:
        writing.put(
            session, journal, edit.target, data, Label(writing.file_id(session, edit.target), before, digest_of(data))
        )
    except Stale as error:
        raise Failed("CONFLICT", "conflict", MODIFIED, "Look at it again, then retry.") from error
    events.record(session, *_event(session, edit))


def _renames(session: Session, draft: Draft) -> list[Rename]:
    found = []
    for edit in draft:
        if edit.source is not None and edit.target is not None and edit.source != edit.target:
            stat = session.tree.stat(edit.source)
            if stat is None:
                raise Failed("CONFLICT", "conflict", MODIFIED, f"{edit.source} is gone; look again.")
            found.append(Rename(edit.source, edit.target, stat.inode))
    return found


def _is_rewritten(edit: AnyEdit) -> bool:
    return edit.after is not None and edit.before is not None and edit.before.text != edit.text


def _staged(session: Session, journal: Journal, edit: AnyEdit) -> Rewrite:
    assert edit.before is not None
    assert edit.target is not None
    entry = writing.file_id(session, edit.before.path)
    return relocation.stage(journal, edit.target, entry, edit.before.digest, edit.text.encode())


def _removal(session: Session, edit: AnyEdit) -> Removal:
    assert edit.before is not None
    path, key = edit.before.path, str(edit.event[1]["trash_id"])
    return Removal(path, str(writing.file_id(session, path)), edit.before.digest.hex(), key, REASON)


def _again(session: Session, draft: Draft, path: str) -> tuple[Digest, bytes] | None:
    return next(edit for edit in draft if edit.target == path).again(session)


def _event(session: Session, edit: AnyEdit) -> tuple[Type, Mapping[str, object]]:
    kind, facts = edit.event
    value, path = edit.after or _before(edit), edit.target or edit.source
    assert path is not None
    where = {"path": path, "record_id": str(writing.file_id(session, edit.source or path))}
    digest = {"digest": digest_of(edit.text.encode()).hex()} if edit.after is not None else {}
    return kind, {**told(value), **where, **digest, **facts}


def _lines(edit: AnyEdit) -> tuple[str, ...]:
    before = edit.before.text if edit.before is not None else ""
    moved = [f"{edit.source} → {edit.target}"] if edit.source and edit.target and edit.source != edit.target else []
    return (*moved, *diff_lines(edit.target or edit.source or "", before, edit.text))


def _text(shelf: Shelf[V], before: str | None, value: V) -> str:
    """Raises Failed where a file has no way to say that."""
    try:
        return shelf.write(before, value)
    except Damaged as error:
        sentence = f"The {shelf.kind} {value.name} cannot be written: {error}."
        raise Failed("WRITE_ERROR", "write_error", sentence, f"Change {shelf.path(value.name)} by hand.") from error
