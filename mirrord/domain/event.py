"""Domain events: what an actor did, in the past tense, and the line of a file that says so."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
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
    `old_path` for moves, `trash_id` for deletions and restores; for an attachment the page's id, its own path, `digest`
    and `size` (bytes).

    Folders and sources: the same for their page, if they have one; `folder_id` or `source_id` (integers) and `name`;
    `old_name` for renames; `parent_id` for folders; `old_folder_id` and `folder_id` (null: none) for moves;
    `segments_removed` for sources.

    Collections and categories: `name`, `path`, `record_id`, and the current content, or the last one before a removal;
    `digest` except for removals, `old_name` for renames, `trash_id` for removals, `category` if the removal or the new
    name of a category is the cause.

    Imports: for a source also `source_type`, and `original`, `sha256` and `size` of the file it was made from, or its
    `survey`; for a case its `name` and `survey`; for a survey its `name`, `cases_path`, `sha256`, `collation`,
    `attributes` (types by name), `source_ids` (the first), and the numbers of sources, cases and rows.
    """

    PAGE_CREATED = "PageCreated"
    PAGE_WRITTEN = "PageWritten"
    PAGE_MOVED = "PageMoved"
    PAGE_DELETED = "PageDeleted"
    PAGE_RESTORED = "PageRestored"
    ATTACHMENT_ADDED = "AttachmentAdded"
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
