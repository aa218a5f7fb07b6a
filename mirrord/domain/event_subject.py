"""
What events are about besides pages (sources, their folders, cases), and which event a change of one is.

A command reports its change by an event of its own. That event and the change of the row arrive separately: the part
claimed by the event is removed from the change, and the remaining part becomes events.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

from mirrord.domain.event import EventType


class SubjectSort(StrEnum):
    """The sorts of subjects."""

    SOURCE = "source"
    FOLDER = "folder"
    CASE = "case"


@dataclass(frozen=True, slots=True)
class Subject:
    """
    An existing source, folder or case in one version of its row.

    folder: the id of its folder of sources; None: it is in none. path: of its file; for a folder without a page that of
    its directory.
    """

    sort: SubjectSort
    name: str
    folder: UUID | None
    path: str


@dataclass(frozen=True, slots=True)
class Change:
    """
    The change from one version to the next. was, now: None: it does not exist, or is no subject.

    revived: the row was deleted, and was a subject before. digest: of the text in the later version, in hex.
    """

    was: Subject | None
    now: Subject | None
    revived: bool = False
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """
    The part of a change that the event of a command reports.

    old_name, name: before and after, if stated; name None: it was deleted. is_creation: it did not exist before.
    is_move: it is in another folder. digest: required of the text, in hex; None: any.
    """

    event: UUID
    old_name: str | None
    name: str | None
    is_creation: bool = False
    is_move: bool = False
    digest: str | None = None


CREATION_TYPES = frozenset(
    {EventType.PAGE_CREATED, EventType.PAGE_RESTORED, EventType.FOLDER_CREATED, EventType.SOURCE_IMPORTED}
    | {EventType.CASE_CREATED, EventType.SURVEY_IMPORTED}
)
MOVE_TYPES = frozenset(
    {EventType.PAGE_MOVED, EventType.FOLDER_RENAMED, EventType.SOURCE_RENAMED, EventType.SOURCE_MOVED}
)
DELETION_TYPES = frozenset({EventType.PAGE_DELETED, EventType.FOLDER_DELETED, EventType.SOURCE_DELETED})
SUBJECT_TYPES = frozenset(
    event_type for event_type in CREATION_TYPES | MOVE_TYPES | DELETION_TYPES if not event_type.startswith("Page")
) | {EventType.SPEAKERS_DETECTED}

_TYPE_OF_BEGIN = {
    SubjectSort.SOURCE: EventType.SOURCE_IMPORTED,
    SubjectSort.FOLDER: EventType.FOLDER_CREATED,
    SubjectSort.CASE: EventType.CASE_CREATED,
}
_TYPE_OF_END = {SubjectSort.SOURCE: EventType.SOURCE_DELETED, SubjectSort.FOLDER: EventType.FOLDER_DELETED}
_TYPE_OF_RENAME = {SubjectSort.SOURCE: EventType.SOURCE_RENAMED, SubjectSort.FOLDER: EventType.FOLDER_RENAMED}
_TYPE_OF_MOVE = {SubjectSort.SOURCE: EventType.SOURCE_MOVED, SubjectSort.FOLDER: EventType.PAGE_MOVED}


def event_types_of(change: Change) -> list[EventType]:
    """The events of *change*; none for changes without an event, such as the new name of a case."""
    was, now = change.was, change.now
    if was is None or now is None or was.sort is not now.sort:
        ends = [_TYPE_OF_END.get(was.sort)] if was is not None else []
        begins = [EventType.PAGE_RESTORED if change.revived else _TYPE_OF_BEGIN[now.sort]] if now is not None else []
        return [event_type for event_type in (*ends, *begins) if event_type is not None]
    renamed = _TYPE_OF_RENAME.get(now.sort) if was.name != now.name else None
    moved = _TYPE_OF_MOVE.get(now.sort) if was.folder != now.folder else None
    return [event_type for event_type in (renamed, moved) if event_type is not None]


def remove_claimed(change: Change, claims: Iterable[Claim]) -> tuple[Change, Sequence[UUID]]:
    """
    The part of *change* that is not claimed by commands, and the events that claimed the others.

    Several commands may have become one change. Claims are applied in order, each to the result of the previous one; an
    event that begins elsewhere belongs to another change, and so does one after which more would remain.
    """
    steps: list[tuple[Change, Sequence[UUID]]] = [(change, ())]
    for claim in claims:
        remaining, used = steps[-1]
        if not event_types_of(remaining):
            break
        after = _apply_claim(remaining, claim)
        if after is not None:
            steps.append((after, (*used, claim.event)))
    return min(steps, key=lambda step: (len(event_types_of(step[0])), step[0].was is None, -len(step[1])))


def _apply_claim(change: Change, claim: Claim) -> Change | None:
    """The part of *change* that remains after *claim*; None: the claim does not belong to it."""
    was, now = change.was, change.now
    if claim.is_creation:
        is_other = was is not None or now is None or claim.digest not in (None, change.digest)
        return None if is_other else replace(change, was=_with_name(now, claim.name), revived=False)
    if was is None or claim.old_name not in (None, was.name):
        return None
    if claim.name is None:
        return replace(change, was=None)
    named = replace(was, name=claim.name)
    return replace(change, was=replace(named, folder=now.folder) if claim.is_move and now is not None else named)


def _with_name(now: Subject | None, name: str | None) -> Subject | None:
    return replace(now, name=name) if now is not None and name is not None else now
