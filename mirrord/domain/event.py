"""
Domain events, the line of a file that says one, what they are about besides pages, and which event a change is.

A command reports its change by an event of its own. That event and the change of the row arrive separately: the part
claimed by the event is removed from the change, and the remaining part becomes events.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from uuid import UUID

from mirrord.domain.entry import Actor

EVENTS_FOLDER = ".records/events"  # one file for each day and host


class EventType(StrEnum):
    """
    The types of events, and the keys of their `data`.

    Pages and attachments: always `page_id` and `path`; also `digest` (hex, of the current bytes) except for deletions,
    `old_path` for moves, `trash_id` for deletions and restores; for an attachment the page's id and its own path, of an
    added one `digest` and `size` (bytes), of one that moved with its page `attachment_id` and `old_path`, of one that
    came back with it `attachment_id` and `digest`.

    Folders and sources: the same for their page, if they have one; `folder_id` or `source_id` (integers) and `name`;
    `old_name` for renames; `parent_id` for folders; `old_folder_id` and `folder_id` (null: none) for moves;
    `segments_removed` for sources.

    Collections and categories: `name`, `path`, `record_id`, and the current content, or the last one before a removal;
    `digest` except for removals, `old_name` for renames, `trash_id` for removals, `category` if the removal or the new
    name of a category is the cause.

    Imports: for a source also `source_type`, and `original`, `sha256` and `size` of the file it was made from, or its
    `survey`; for a case its `name` and `survey`; for a survey its `name`, `cases_path`, `sha256`, `collation`,
    `attributes` (types by name), `source_ids` (the first), and the numbers of sources, cases and rows.

    Of an agent's change always `change_set`, and `client`, the name of its program, if it is known. Drafts: `title`,
    `message`, `pages` (their number). A backup that a person asked for in the console: nothing.
    """

    PAGE_CREATED = "PageCreated"
    PAGE_WRITTEN = "PageWritten"
    PAGE_MOVED = "PageMoved"
    PAGE_DELETED = "PageDeleted"
    PAGE_RESTORED = "PageRestored"
    ATTACHMENT_ADDED = "AttachmentAdded"
    ATTACHMENT_MOVED = "AttachmentMoved"
    ATTACHMENT_RESTORED = "AttachmentRestored"
    COLLECTION_ADDED = "CollectionAdded"
    COLLECTION_REMOVED = "CollectionRemoved"
    COLLECTION_CHANGED = "CollectionChanged"
    COLLECTION_UPDATED = "CollectionUpdated"
    CATEGORY_ADDED = "CategoryAdded"
    CATEGORY_REMOVED = "CategoryRemoved"
    CATEGORY_CHANGED = "CategoryChanged"
    CATEGORY_UPDATED = "CategoryUpdated"
    FOLDER_CREATED = "FolderCreated"
    FOLDER_RENAMED = "FolderRenamed"
    FOLDER_DELETED = "FolderDeleted"
    SOURCE_RENAMED = "SourceRenamed"
    SOURCE_DELETED = "SourceDeleted"
    SOURCE_MOVED = "SourceMovedToFolder"
    SPEAKERS_DETECTED = "SpeakersDetected"
    SOURCE_IMPORTED = "SourceImported"
    SURVEY_IMPORTED = "SurveyImported"
    CASE_CREATED = "CaseCreated"
    CHANGES_APPLIED = "ChangesApplied"
    BACKUP_REQUESTED = "BackupRequested"


@dataclass(frozen=True, slots=True)
class Event:
    """
    A single event.

    type: a Type, or the name that another package gives its events. occurred_at: with its zone. tenant: the name.
    data: JSON values.
    """

    event_id: UUID
    type: str
    occurred_at: datetime
    tenant: str
    actor: Actor
    data: Mapping[str, object]


def event_file_path(moment: datetime, host: str) -> str:
    """The path of the file for the events of that day (UTC) on that host."""
    return f"{EVENTS_FOLDER}/{moment.astimezone(UTC).date().isoformat()}.{_host_in_file_name(host)}.jsonl"


@cache
def _host_in_file_name(host: str) -> str:
    """*host* as part of a file name."""
    return "".join(sign if sign.isalnum() and sign.isascii() else "-" for sign in host) or "host"


def encode_event(event: Event) -> bytes:
    """The line of *event*, with its ending."""
    facts = {
        "event_id": str(event.event_id),
        "type": event.type,
        "occurred_at": event.occurred_at.astimezone(UTC).isoformat(timespec="microseconds"),
        "tenant": event.tenant,
        "actor": {"kind": event.actor.kind, "name": event.actor.name},
        "data": dict(event.data),
    }
    return _LINE_ENCODER.encode(facts).encode() + b"\n"


_LINE_ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))  # created once instead of for each line


def decode_event(line: bytes) -> Event:
    """
    The event in a line; keys beyond those of Event are ignored.

    Raises:
        ValueError: it is no such line; the message says why and continues the line's number.
    """
    raw = json.loads(line)
    if not isinstance(raw, dict):
        raise ValueError("is not a JSON object")
    try:
        kind, name = raw["actor"]["kind"], raw["actor"]["name"]
        moment = datetime.fromisoformat(raw["occurred_at"])
        texts = [raw["type"], raw["tenant"], kind, name]
        if (
            moment.tzinfo is None
            or not isinstance(raw["data"], dict)
            or not all(isinstance(text, str) for text in texts)
        ):
            raise ValueError("has a value of the wrong kind")
        return Event(UUID(raw["event_id"]), raw["type"], moment, raw["tenant"], Actor(kind, name), raw["data"])
    except KeyError as missing:
        raise ValueError(f"lacks {missing}") from None
    except (TypeError, AttributeError):
        raise ValueError("has a value of the wrong kind") from None


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
    if was is None:  # a move from elsewhere: it is new here all the same
        return change if claim.is_move and now is not None and claim.name == now.name else None
    if claim.old_name not in (None, was.name):
        return None
    if claim.name is None:
        return replace(change, was=None)
    named = replace(was, name=claim.name)
    return replace(change, was=replace(named, folder=now.folder) if claim.is_move and now is not None else named)


def _with_name(now: Subject | None, name: str | None) -> Subject | None:
    return replace(now, name=name) if now is not None and name is not None else now
