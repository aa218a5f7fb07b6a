"""What changed since a moment: one line for each page, attachment and record, from its state then to its state now."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import orjson

from mirrord.db.change_set_rows import ChangeSet, find_change_sets
from mirrord.db.content import recent_versions
from mirrord.db.content.recent_versions import Period, RecentEntry
from mirrord.db.database import Connection
from mirrord.documents.link_places import paths_of
from mirrord.domain.entry import Actor, EntryId, Kind, TenantId, parse_id
from mirrord.domain.scope import UNLIMITED, Scope
from mirrord.domain.time_reading import TimeError, read_past_time
from mirrord.errors import UserError
from mirrord.markdown.bounded_diff import find_opcodes
from mirrord.mirror.tree.tree_layout import SUFFIX
from mirrord.operations.change_diffs import ChangedEntry, changed_entry, with_states
from mirrord.operations.restore import directories_of, find_page, path_of_state
from mirrord.operations.scoped_records import RecordSights, Versions, load_sights
from mirrord.operations.undo import UnknownChangeSet, find_change_set, load_histories
from mirrord.operations.undo_plan import NOWHERE, EntryHistory, EntryState

MAX_ANSWER_BYTES = 7_000  # bytes of the listed changes
BATCH_ENTRIES = 50  # entries whose texts are loaded at once
MAX_LOOKED_ENTRIES = 1_000  # entries looked at for one answer, which then goes on with a cursor
MAX_COMPARED_LINES = 4_000  # lines of both texts; of longer ones, lines that only moved are not counted

TOO_SLOW = "The answer takes longer than its time: there is too much to look through."


class Unanswerable(UserError):
    """A question that has no answer. code: for agents."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True, slots=True)
class ChangeQuestion:
    """What is asked for. path: of a page or folder; None: everywhere. start: changes listed before, by a cursor."""

    period: Period
    path: str | None = None
    start: int = 0


@dataclass(frozen=True, slots=True)
class ListedChanges:
    """Changes as JSON, the last first. next_start: where the list goes on; None: it is complete."""

    changes: Sequence[Mapping[str, Any]]
    next_start: int | None


async def find_moment(connection: Connection, tenant: TenantId, text: str, *, only_of: Actor | None = None) -> datetime:
    """
    The moment that *text* means: a time, or the end of a change set. Raises Unanswerable.

    only_of: whose change sets count, by their whole ids: a beginning would tell whether there is one of others. None:
    everyone's.
    """
    moment = _read_time(text)
    if moment is not None:
        return moment
    change_set = await (
        _find_any(connection, tenant, text) if only_of is None else _find_own(connection, tenant, text, only_of)
    )
    end = await recent_versions.load_end_of_change_set(connection, tenant, change_set.id)
    return end or change_set.applied_at or change_set.started_at


async def _find_any(connection: Connection, tenant: TenantId, text: str) -> ChangeSet:
    try:
        return await find_change_set(connection, tenant, text)
    except UserError as error:
        is_id = not set(text.lower()) - set("0123456789abcdef-")
        sentence = f"{text!r} is neither a time nor the id of a change set."
        if is_id:
            sentence = error.sentence if isinstance(error, UnknownChangeSet) else str(error)
        raise Unanswerable("UNKNOWN_CHANGE_SET" if is_id else "INVALID_TIME", sentence) from error


async def _find_own(connection: Connection, tenant: TenantId, text: str, actor: Actor) -> ChangeSet:
    if parse_id(text) is None:
        raise Unanswerable("INVALID_TIME", f"{text!r} is neither a time nor the whole id of a change set.")
    matches = await find_change_sets(connection, tenant, text.lower())
    own_sets = [each for each in matches if dict(each.actor) == {"kind": actor.kind, "name": actor.name}]
    if not own_sets:
        raise Unanswerable("UNKNOWN_CHANGE_SET", f"You have no change set {text!r}.")
    return own_sets[0]


def _read_time(text: str) -> datetime | None:
    """A time, of this host's zone if it names none; None: it is no time of this age. Raises Unanswerable: to come."""
    try:
        moment = read_past_time(text, datetime.now().astimezone())
    except TimeError as error:
        if error.is_future:
            raise Unanswerable("INVALID_TIME", str(error)) from error
        return None
    return moment if moment.year >= 1970 else None


async def list_changes(connection: Connection, tenant: TenantId, question: ChangeQuestion) -> ListedChanges:
    """
    What a period changed, without what is as it was before it; as much as an answer may have.

    Raises Unanswerable: nothing is, was or changed at the path.
    """
    stem = stem_of(question.path) if question.path is not None else None
    recent = await recent_versions.load_recent(connection, tenant, question.period)
    changes: list[Mapping[str, Any]] = []
    position, size, end = question.start, 0, min(len(recent), question.start + MAX_LOOKED_ENTRIES)
    for first in range(question.start, end, BATCH_ENTRIES):
        for facts in await describe_batch(connection, tenant, recent[first : min(first + BATCH_ENTRIES, end)]):
            size += len(orjson.dumps(facts)) + 1 if facts is not None and is_below(facts, stem) else 0
            if size > MAX_ANSWER_BYTES and changes:
                return ListedChanges(changes, position)
            position += 1
            if facts is not None and is_below(facts, stem):
                changes.append(facts)
    if stem is not None and not changes and question.start == 0 and end == len(recent):
        await _check_path(connection, tenant, question.path or "")
    return ListedChanges(changes, end if end < len(recent) else None)


async def _check_path(connection: Connection, tenant: TenantId, path: str) -> None:
    try:
        await find_page(connection, tenant, path)
    except UserError:
        raise Unanswerable("PATH_NOT_FOUND", f"There is no page or folder {path!r}, and there was none.") from None


async def describe_batch(
    connection: Connection,
    tenant: TenantId,
    recent: Sequence[RecentEntry],
    scope: Scope = UNLIMITED,
    versions: Versions = MappingProxyType({}),
) -> list[Mapping[str, Any] | None]:
    """
    The facts of each entry; None: it is as it was, or a new folder, or *scope* shows nothing of the change.

    versions: within a scope those of all entries since the beginning of the period, by anyone.
    """
    chosen: dict[str, dict[EntryId, set[int]]] = {}
    for entry in recent:
        chosen.setdefault(entry.table, {})[entry.entry] = set(entry.versions)
    histories = {history.entry: history for history in await load_histories(connection, tenant, chosen)}
    changed = {
        entry: changed_entry(history)
        for entry, history in histories.items()
        if not _is_same(history.states[0], history.now) and not _is_new_folder(history)
    }
    places = [state.parent for entry in changed.values() for state in (entry.before, entry.after)]
    directories = await directories_of(connection, tenant, places)
    paths = await paths_of(connection, tenant, changed)
    sights = await load_sights(connection, tenant, changed.values(), scope, versions)
    moves = {
        entry: _Move(
            change,
            path_of_state(change.before, change.kind, directories),
            paths.get(entry) or path_of_state(change.after, change.kind, directories),
            change.before.parent is None or change.before.parent in directories,
        ).within(scope, sights)
        for entry, change in changed.items()
    }
    return await asyncio.to_thread(_facts_of_batch, recent, moves)


@dataclass(frozen=True, slots=True)
class _Move:
    """A change and where its entry was and is. is_placed: whether the folder that it was in is still known."""

    changed: ChangedEntry
    old_path: str
    path: str
    is_placed: bool

    def within(self, scope: Scope, sights: RecordSights) -> "_Move | None":
        """What *scope* shows of it: what comes from hidden places was created, what goes there was deleted."""
        if scope.is_unlimited:
            return self
        if self.changed.kind is Kind.RECORD:
            visible = sights.within(self.changed)
            return replace(self, changed=visible) if visible is not None else None
        before, after = self.changed.before, self.changed.after
        was_visible = before.version > 0 and self.is_placed and scope.can_read(self.old_path)
        if scope.can_read(self.path):
            changed = self.changed if was_visible else with_states(self.changed, NOWHERE, after)
            return replace(self, changed=changed) if was_visible or not after.is_deleted else None
        if not was_visible or before.is_deleted:
            return None
        changed = with_states(self.changed, before, replace(before, is_deleted=True))
        return replace(self, changed=changed, path=self.old_path)


def _facts_of_batch(
    recent: Sequence[RecentEntry], moves: Mapping[EntryId, _Move | None]
) -> list[Mapping[str, Any] | None]:
    return [_facts_of(entry, move) if (move := moves.get(entry.entry)) is not None else None for entry in recent]


def _facts_of(recent: RecentEntry, move: _Move) -> Mapping[str, Any]:
    changed, old_path = move.changed, move.old_path
    facts: dict[str, Any] = {
        "path": move.path,
        "kind": " and ".join(changed.changes),
        "by": recent_versions.AUTHORS_SEPARATOR.join(recent.actors),
        "at": recent.changed_at.astimezone(UTC).isoformat(timespec="seconds"),
    }
    if "moved" in changed.changes:
        facts["from"] = old_path
    if changed.kind is not Kind.PAGE:
        facts["type"] = str(changed.kind)
    if changed.removal is not None:
        return facts | {"note": changed.removal}
    added, removed = _count_lines(_text_of(changed.before), _text_of(changed.after))
    return facts | ({"added": added, "removed": removed} if added or removed else {})


def _text_of(state: EntryState) -> str:
    return "" if state.is_deleted else state.text or ""


def _is_same(before: EntryState, now: EntryState) -> bool:
    if before.is_deleted or now.is_deleted:
        return before.is_deleted and now.is_deleted
    return (before.parent, before.name, before.digest) == (now.parent, now.name, now.digest)


def _is_new_folder(history: EntryHistory) -> bool:
    """Whether it is a folder without a page, which appears with the first page in it, often a moment later."""
    return history.kind is Kind.FOLDER and history.states[0].is_deleted


def _count_lines(before: str, after: str) -> tuple[int, int]:
    """How many lines were added and removed."""
    old, new = before.splitlines(), after.splitlines()
    if len(old) + len(new) > MAX_COMPARED_LINES:
        old_counts, new_counts = Counter(old), Counter(new)
        return (new_counts - old_counts).total(), (old_counts - new_counts).total()
    equal = sum(end - start for tag, start, end, _, _ in find_opcodes(old, new) if tag == "equal")
    return len(new) - equal, len(old) - equal


def is_below(facts: Mapping[str, Any], stem: str | None) -> bool:
    """Whether a change is of the page or folder with this stem, or below it; None: everything is."""
    if stem is None:
        return True
    stems = [stem_of(facts[key]) for key in ("path", "from") if key in facts]
    return any(candidate == stem or candidate.startswith(f"{stem}/") for candidate in stems)


def stem_of(path: str) -> str:
    """A page's path as people may write it: without `.md`, without `/_index`."""
    return path.strip("/").removesuffix(SUFFIX).removesuffix("/_index")
