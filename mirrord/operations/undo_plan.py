"""
What the inverse of chosen versions does to each entry: from values to values.

Versions of one entry that follow each other are one run. Runs are taken back from the last to the first, each by three
ways: what the run left, what is there now, what was before the run. Life, place and content are merged on their own.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mirrord.domain.dialect import Dialect
from mirrord.domain.entry import Digest, EntryId, Kind, digest_of
from mirrord.domain.place import name_key, record_sort_of
from mirrord.errors import Damaged
from mirrord.merge.edit_merge import merge, merge_record

EDITED = "was edited since, in the same passages"
MOVED = "was moved elsewhere since"
DELETED = "was deleted since"
TOUCHED = "was made by these changes, and edited or moved since"
HOLDS = "was made by these changes, and holds pages or files made since"
TAKEN = "its name is taken by another page or file now"
HOMELESS = "the folder it was in is gone for good"
REMOVED = "had a text before or after these changes that was removed after its time (history.keep in mirrord.toml)"
UNSETTLED = "an app's write of it has not reached its file yet; try again in a moment"


Slot = tuple[Kind, EntryId | None, str]  # page (folders too), attachment or record; parent; key of the name


@dataclass(frozen=True, slots=True)
class EntryState:
    """
    An entry in one version.

    version 0: it did not exist. parent, name: its place; of a record None and `kind/key`. digest None: a folder, or a
    text that was never rendered (is_settled is False then). text: of a page or record. text_removed_at: when that was
    removed; None: it was not. index: whether the file of a page is `_index.md` in its directory; None: it is not known.
    """

    version: int
    is_deleted: bool
    parent: EntryId | None = None
    name: str | None = None
    digest: Digest | None = None
    text: str | None = None
    is_settled: bool = True
    text_removed_at: datetime | None = None
    index: bool | None = None


NOWHERE = EntryState(0, is_deleted=True)


@dataclass(frozen=True, slots=True)
class EntryHistory:
    """
    The versions of an entry from before the first chosen one to the present one.

    states: in order; the first may be NOWHERE. chosen: the versions to take back. dialect: of the tenant's pages.
    """

    entry: EntryId
    kind: Kind
    states: Sequence[EntryState]
    chosen: Collection[int]
    dialect: Dialect = Dialect.PLAIN

    @property
    def now(self) -> EntryState:
        """The present state."""
        return self.states[-1]


@dataclass(frozen=True, slots=True)
class Step:
    """The change of one entry. source: the version that has the content of *after*; None: a merged text."""

    entry: EntryId
    kind: Kind
    now: EntryState
    after: EntryState
    source: int | None

    @property
    def is_placed(self) -> bool:
        """Whether it gets a place: it moves, or lives again."""
        if self.after.is_deleted:
            return False
        return self.now.is_deleted or (self.now.parent, self.now.name) != (self.after.parent, self.after.name)

    @property
    def becomes_leaf(self) -> bool:
        """Whether its file leaves its directory, as `NAME.md`."""
        return bool(self.now.index) and self.after.index is False and not self.after.is_deleted

    @property
    def slot(self) -> Slot:
        """The place that only one living entry may have."""
        sort = Kind.PAGE if self.kind is Kind.FOLDER else self.kind
        return sort, self.after.parent, name_key(self.after.name or "")


@dataclass(frozen=True, slots=True)
class Clash:
    """An entry that cannot be taken back."""

    entry: EntryId
    kind: Kind
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A loss that waits in a halt, and is taken back. version: of the row, which the loss has not changed."""

    entry: EntryId
    kind: Kind
    name: str
    version: int
    halt: int


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """
    The steps of an undo, and what they leave.

    link_steps: further steps, of links in pages that a scope hides, which no outcome names. has_rest: a scope leaves
    something that no outcome names. withdrawals: beside the steps.
    """

    steps: Sequence[Step]
    clashes: Sequence[Clash]
    link_steps: Sequence[Step] = ()
    has_rest: bool = False
    withdrawals: Sequence[Withdrawal] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do and nothing to leave."""
        return not (self.steps or self.clashes or self.withdrawals)

    @property
    def shown_withdrawals(self) -> Sequence[Withdrawal]:
        """Those of entries that live afterwards."""
        deleted = {step.entry for step in self.steps if step.after.is_deleted}
        return [withdrawal for withdrawal in self.withdrawals if withdrawal.entry not in deleted]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """
    What is there beside the entries of an undo.

    children: the living pages and attachments below each entry that may be deleted or become a leaf. holders: the
    living entry at each slot that may be taken. folders: the entries, deleted ones too, that may get children.
    made_folders: living folders without a text that were made since the first chosen version.
    """

    children: Mapping[EntryId, Collection[EntryId]]
    holders: Mapping[Slot, EntryId]
    folders: Collection[EntryId]
    made_folders: Mapping[EntryId, EntryState]


class _Hindered(Exception):
    """An entry clashes; the message is the reason."""


def plan_entries(histories: Sequence[EntryHistory]) -> UndoPlan:
    """The steps of the entries by themselves; see check_plan()."""
    steps, clashes = [], []
    for history in histories:
        try:
            step = _plan_entry(history)
        except _Hindered as hindrance:
            name = history.now.name or str(history.entry)
            clashes.append(Clash(history.entry, history.kind, name, str(hindrance)))
        else:
            steps += [step] if step is not None else []
    return UndoPlan(steps, clashes)


def _plan_entry(history: EntryHistory) -> Step | None:
    now = target = history.now
    if not now.is_settled:
        raise _Hindered(UNSETTLED)
    source: int | None = now.version
    for before, after in _runs_of(history):
        target, source = _take_back(history, before, after, target, source)
    if _is_same(now, target) and (now.is_deleted or now.index == target.index):
        return None
    return Step(history.entry, history.kind, now, target, source)


def _runs_of(history: EntryHistory) -> list[tuple[EntryState, EntryState]]:
    """The states before and after each run of chosen versions, the last run first."""
    runs: list[tuple[EntryState, EntryState]] = []
    before = history.states[0]
    for previous, state in zip(history.states, history.states[1:], strict=False):
        if state.version not in history.chosen:
            continue
        if previous.version not in history.chosen or not runs:
            before = previous
            runs.append((before, state))
        else:
            runs[-1] = (runs[-1][0], state)
    return runs[::-1]


def _take_back(
    history: EntryHistory, before: EntryState, after: EntryState, target: EntryState, source: int | None
) -> tuple[EntryState, int | None]:
    """*target* without one run, and the version that has its content."""
    if before.is_deleted:
        return _take_life(after, target), source
    if after.is_deleted:
        if not target.is_deleted:  # restored since
            return target, source
        target = replace(target, is_deleted=False)
    elif target.is_deleted and not _is_same(before, after):
        raise _Hindered(DELETED)
    target = _take_form(before, after, _take_place(before, after, target))
    return _take_content(history, before, after, target, source)


def _take_life(after: EntryState, target: EntryState) -> EntryState:
    """*target*, which the run made or restored, as deleted."""
    if target.is_deleted or after.is_deleted:
        return replace(target, is_deleted=True)
    if _content_of(target) != _content_of(after) or _place_of(target) != _place_of(after):
        raise _Hindered(TOUCHED)
    return replace(target, is_deleted=True)


def _take_place(before: EntryState, after: EntryState, target: EntryState) -> EntryState:
    if _place_of(before) == _place_of(after) or before.name is None or _place_of(target) == _place_of(before):
        return target
    if _place_of(target) != _place_of(after):
        raise _Hindered(MOVED)
    return replace(target, parent=before.parent, name=before.name)


def _take_form(before: EntryState, after: EntryState, target: EntryState) -> EntryState:
    """*target* with the file name that it had, where the run changed that."""
    if None in (before.index, after.index) or before.index == after.index or target.index != after.index:
        return target
    return replace(target, index=before.index)


def _take_content(
    history: EntryHistory, before: EntryState, after: EntryState, target: EntryState, source: int | None
) -> tuple[EntryState, int | None]:
    if _content_of(before) == _content_of(after) or _content_of(target) == _content_of(before):
        return target, source
    if before.text_removed_at is not None:
        raise _Hindered(REMOVED)
    if not before.is_settled:
        raise _Hindered(EDITED)
    if _content_of(target) == _content_of(after):
        return replace(target, digest=before.digest, text=before.text), before.version
    if after.text_removed_at is not None:
        raise _Hindered(REMOVED)
    text = _merge_texts(history, before, after, target)
    if text is None:
        raise _Hindered(EDITED)
    return replace(target, digest=digest_of(text.encode()), text=text), None


def _merge_texts(history: EntryHistory, before: EntryState, after: EntryState, target: EntryState) -> str | None:
    if history.kind is Kind.ATTACHMENT or before.text is None or after.text is None or target.text is None:
        return None
    if history.kind is Kind.RECORD:
        try:
            return merge_record(record_sort_of(target.name or "").form, after.text, target.text, before.text)
        except Damaged:
            return None
    return merge(after.text, target.text, before.text, history.dialect)


def _is_same(before: EntryState, after: EntryState) -> bool:
    if before.is_deleted or after.is_deleted:
        return before.is_deleted == after.is_deleted
    return _place_of(before) == _place_of(after) and _content_of(before) == _content_of(after)


def _place_of(state: EntryState) -> tuple[EntryId | None, str | None]:
    return state.parent, state.name


def _content_of(state: EntryState) -> Digest | str | None:
    return state.digest if state.digest is not None else state.text


def check_plan(plan: UndoPlan, around: Surroundings) -> UndoPlan:
    """
    *plan* without the steps that its surroundings hinder, and with the deletion of folders that it leaves empty.

    A step that is left may hinder others, so this is repeated until none is.
    """
    while clashes := _find_hindered(plan, around):
        hindered = {clash.entry for clash in clashes}
        steps = [step for step in plan.steps if step.entry not in hindered]
        # a folder stays without further ado where something was put into it
        reported = [clash for clash in clashes if clash.kind is not Kind.FOLDER or clash.reason is not HOLDS]
        plan = replace(plan, steps=steps, clashes=[*plan.clashes, *reported])
    plan = replace(plan, steps=[*plan.steps, *_emptied_folders(plan, around)])
    return replace(plan, steps=list(_keep_directories(plan, around)))


def _keep_directories(plan: UndoPlan, around: Surroundings) -> Iterator[Step]:
    """The steps of *plan*; a page that would become a leaf stays in its directory if that is not empty afterwards."""
    leaving = {step.entry for step in plan.steps if step.after.is_deleted or step.is_placed}
    arriving = {step.after.parent for step in plan.steps if step.is_placed}
    for step in plan.steps:
        remaining = set(around.children.get(step.entry, ())) - leaving
        if step.becomes_leaf and (remaining or step.entry in arriving):
            step_in_place = replace(step, after=replace(step.after, index=step.now.index))
            if not _is_same(step_in_place.now, step_in_place.after):
                yield step_in_place
        else:
            yield step


def _find_hindered(plan: UndoPlan, around: Surroundings) -> list[Clash]:
    leaving = {step.entry for step in plan.steps if step.after.is_deleted or step.is_placed}
    arriving = {step.after.parent for step in plan.steps if step.is_placed}
    slots: dict[Slot, EntryId] = {}
    clashes = []
    for step in plan.steps:
        if step.after.is_deleted:
            holds = bool(set(around.children.get(step.entry, ())) - leaving) or step.entry in arriving
            reason = HOLDS if holds else None
        else:
            is_first = not step.is_placed or slots.setdefault(step.slot, step.entry) == step.entry
            reason = _hindrance_at_place(step, leaving, around) if is_first else TAKEN
        if reason is not None:
            clashes.append(Clash(step.entry, step.kind, step.now.name or str(step.entry), reason))
    return clashes


def _hindrance_at_place(step: Step, leaving: Collection[EntryId], around: Surroundings) -> str | None:
    """What hinders a step that gives an entry a place; None: nothing."""
    if not step.is_placed:
        return None
    holder = around.holders.get(step.slot, step.entry)
    if holder != step.entry and holder not in leaving:
        return TAKEN
    is_homeless = step.after.parent is not None and step.after.parent not in around.folders
    return HOMELESS if is_homeless else None


def _emptied_folders(plan: UndoPlan, around: Surroundings) -> list[Step]:
    """Deletions of folders that were made since, and hold nothing after *plan*; inner ones first."""
    leaving = {step.entry for step in plan.steps if step.after.is_deleted or step.is_placed}
    arriving = {step.after.parent for step in plan.steps if step.is_placed}
    steps: list[Step] = []
    waiting = {entry: state for entry, state in around.made_folders.items() if entry not in leaving}
    while True:
        emptied = [
            entry
            for entry in waiting
            if entry not in arriving
            and entry in around.children
            and around.children[entry]
            and not set(around.children[entry]) - leaving
        ]
        if not emptied:
            return steps
        for entry in emptied:
            state = waiting.pop(entry)
            leaving.add(entry)
            steps.append(Step(entry, Kind.FOLDER, state, replace(state, is_deleted=True), state.version))
