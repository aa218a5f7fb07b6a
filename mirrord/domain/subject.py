"""
What events are about beside pages: sources, their folders and cases. Which event a change of one is. Pure.

A command tells of its change itself. That event and the row's change come by ways of their own: what an event claims is
taken off the change before the rest becomes events.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

from mirrord.domain.event import Type


class Sort(StrEnum):
    """What a page can be."""

    SOURCE = "source"
    FOLDER = "folder"
    CASE = "case"


@dataclass(frozen=True, slots=True)
class Subject:
    """
    A living source, folder or case in one version of its row.

    folder: the id of the folder of sources it is in; None: it is in none. path: of its file; of a folder without a
    page, of the directory.
    """

    sort: Sort
    name: str
    folder: UUID | None
    path: str


@dataclass(frozen=True, slots=True)
class Change:
    """
    From one version to the next; None: it is not there, or is no such thing.

    revived: the row was deleted, and was a subject before. digest: of the text in the later version, in hex.
    """

    was: Subject | None
    now: Subject | None
    revived: bool = False
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """
    What a command's event says of the subject.

    old_name, name: before and after, as far as it says; name None: it is gone. made: it was not there before. moved: it
    is in another folder. digest: the text must have, in hex; None: whichever.
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
OWN = frozenset(one for one in MADE | PLACED | GONE if not one.startswith("Page")) | {Type.SPEAKERS_DETECTED}

_BEGINS = {Sort.SOURCE: Type.SOURCE_IMPORTED, Sort.FOLDER: Type.FOLDER_CREATED, Sort.CASE: Type.CASE_CREATED}
_ENDS = {Sort.SOURCE: Type.SOURCE_DELETED, Sort.FOLDER: Type.FOLDER_DELETED}
_RENAMED = {Sort.SOURCE: Type.SOURCE_RENAMED, Sort.FOLDER: Type.FOLDER_RENAMED}
_MOVED = {Sort.SOURCE: Type.SOURCE_MOVED, Sort.FOLDER: Type.PAGE_MOVED}


def types_of(change: Change) -> list[Type]:
    """The events that *change* is; none for what nobody follows, such as the new name of a case."""
    was, now = change.was, change.now
    if was is None or now is None or was.sort is not now.sort:
        ends = [_ENDS.get(was.sort)] if was is not None else []
        begins = [Type.PAGE_RESTORED if change.revived else _BEGINS[now.sort]] if now is not None else []
        return [one for one in (*ends, *begins) if one is not None]
    renamed = _RENAMED.get(now.sort) if was.name != now.name else None
    moved = _MOVED.get(now.sort) if was.folder != now.folder else None
    return [one for one in (renamed, moved) if one is not None]


def unclaimed(change: Change, claims: Iterable[Claim]) -> tuple[Change, Sequence[UUID]]:
    """
    What is left of *change* when commands told their parts of it, and which events those were.

    Several acts may have become one change. They are followed from what was, each from where the one before ended; an
    event that begins elsewhere tells of another change, and so do those after which more would be left.
    """
    steps: list[tuple[Change, Sequence[UUID]]] = [(change, ())]
    for claim in claims:
        rest, used = steps[-1]
        if not types_of(rest):
            break
        after = _after(rest, claim)
        if after is not None:
            steps.append((after, (*used, claim.event)))
    return min(steps, key=lambda step: (len(types_of(step[0])), step[0].was is None, -len(step[1])))


def _after(change: Change, claim: Claim) -> Change | None:
    """The rest of *change* after what *claim* says; None: it says nothing of this."""
    was, now = change.was, change.now
    if claim.made:
        is_other = was is not None or now is None or claim.digest not in (None, change.digest)
        return None if is_other else replace(change, was=_called(now, claim.name), revived=False)
    if was is None or claim.old_name not in (None, was.name):
        return None
    if claim.name is None:
        return replace(change, was=None)
    named = replace(was, name=claim.name)
    return replace(change, was=replace(named, folder=now.folder) if claim.moved and now is not None else named)


def _called(now: Subject | None, name: str | None) -> Subject | None:
    return replace(now, name=name) if now is not None and name is not None else now
