"""
Sources, their folders and cases as subjects of events, and the events of their changes. Pure.

A command reports its change by an event of its own. That event and the change of the row arrive separately: the part
claimed by the event is removed from the change, and the remaining part becomes events.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

from mirrord.domain.event import Type


class Sort(StrEnum):
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

    sort: Sort
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

    old_name, name: before and after, if stated; name None: it was deleted. made: it did not exist before. moved: it is
    in another folder. digest: required of the text, in hex; None: any.
    """

    event: UUID
    old_name: str | None
    name: str | None
    made: bool = False
    moved: bool = False
    digest: str | None = None


MADE = frozenset(
    {Type.PAGE_CREATED, Type.PAGE_RESTORED, Type.FOLDER_CREATED, Type.SOURCE_IMPORTED}
    | {Type.CASE_CREATED, Type.SURVEY_IMPORTED}
)
PLACED = frozenset({Type.PAGE_MOVED, Type.FOLDER_RENAMED, Type.SOURCE_RENAMED, Type.SOURCE_MOVED})
GONE = frozenset({Type.PAGE_DELETED, Type.FOLDER_DELETED, Type.SOURCE_DELETED})
OWN = frozenset(event_type for event_type in MADE | PLACED | GONE if not event_type.startswith("Page")) | {
    Type.SPEAKERS_DETECTED
}

_TYPE_OF_BEGIN = {Sort.SOURCE: Type.SOURCE_IMPORTED, Sort.FOLDER: Type.FOLDER_CREATED, Sort.CASE: Type.CASE_CREATED}
_TYPE_OF_END = {Sort.SOURCE: Type.SOURCE_DELETED, Sort.FOLDER: Type.FOLDER_DELETED}
_TYPE_OF_RENAME = {Sort.SOURCE: Type.SOURCE_RENAMED, Sort.FOLDER: Type.FOLDER_RENAMED}
_TYPE_OF_MOVE = {Sort.SOURCE: Type.SOURCE_MOVED, Sort.FOLDER: Type.PAGE_MOVED}


def types_of(change: Change) -> list[Type]:
    """The events of *change*; none for changes without an event, such as the new name of a case."""
    was, now = change.was, change.now
    if was is None or now is None or was.sort is not now.sort:
        ends = [_TYPE_OF_END.get(was.sort)] if was is not None else []
        begins = [Type.PAGE_RESTORED if change.revived else _TYPE_OF_BEGIN[now.sort]] if now is not None else []
        return [event_type for event_type in (*ends, *begins) if event_type is not None]
    renamed = _TYPE_OF_RENAME.get(now.sort) if was.name != now.name else None
    moved = _TYPE_OF_MOVE.get(now.sort) if was.folder != now.folder else None
    return [event_type for event_type in (renamed, moved) if event_type is not None]


def unclaimed(change: Change, claims: Iterable[Claim]) -> tuple[Change, Sequence[UUID]]:
    """
    The part of *change* that is not claimed by commands, and the events that claimed the others.

    Several commands may have become one change. Claims are applied in order, each to the result of the previous one; an
    event that begins elsewhere belongs to another change, and so does one after which more would remain.
    """
    steps: list[tuple[Change, Sequence[UUID]]] = [(change, ())]
    for claim in claims:
        remaining, used = steps[-1]
        if not types_of(remaining):
            break
        after = _apply_claim(remaining, claim)
        if after is not None:
            steps.append((after, (*used, claim.event)))
    return min(steps, key=lambda step: (len(types_of(step[0])), step[0].was is None, -len(step[1])))


def _apply_claim(change: Change, claim: Claim) -> Change | None:
    """The part of *change* that remains after *claim*; None: the claim does not belong to it."""
    was, now = change.was, change.now
    if claim.made:
        is_other = was is not None or now is None or claim.digest not in (None, change.digest)
        return None if is_other else replace(change, was=_with_name(now, claim.name), revived=False)
    if was is None or claim.old_name not in (None, was.name):
        return None
    if claim.name is None:
        return replace(change, was=None)
    named = replace(was, name=claim.name)
    return replace(change, was=replace(named, folder=now.folder) if claim.moved and now is not None else named)


def _with_name(now: Subject | None, name: str | None) -> Subject | None:
    return replace(now, name=name) if now is not None and name is not None else now
