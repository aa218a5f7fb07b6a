"""Domain events: what somebody did, in the past tense, and the line of a file that says so."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from uuid import UUID

from mirrord.domain.entry import Actor

FOLDER = ".records/events"  # one file a day and host


class Type(StrEnum):
    """
    What happened.

    To a page or an attachment: `data` holds `page_id` and `path` always; beside them `digest` (hex, of the bytes it has
    now) but for deletions, `old_path` for moves, `trash_id` for deletions and restores; for an attachment the page's
    id, its own path, `digest` and `size` (bytes).

    To a folder or source: the same of its page, if it has one; `folder_id` or `source_id` (integers) and `name`;
    `old_name` of what is renamed; `parent_id` of folders; `old_folder_id` and `folder_id` (null: none) of what is
    moved; `segments_removed` with a source.

    To a collection or category: `name`, `path`, `record_id`, and what it says now, or said before it was removed;
    `digest` but for removals, `old_name` of what is renamed, `trash_id` of what is removed, `category` where a
    category's removal or new name is why.

    To what is imported: of a source also `source_type`, and `original`, `sha256` and `size` of the file it was made
    from, or the `survey` it is of; of a case its `name` and `survey`; of a survey its `name`, `cases_path`, `sha256`,
    `collation`, `attributes` (types by name), `source_ids` (the first), and how many sources, cases and rows.
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
    Something that happened once.

    type: a Type, or the name another room gives its events. occurred_at: with its zone. tenant: the name.
    data: JSON values.
    """

    event_id: UUID
    type: str
    occurred_at: datetime
    tenant: str
    actor: Actor
    data: Mapping[str, object]


def file_of(moment: datetime, host: str) -> str:
    """The path of the file for events of that day (UTC) on that host."""
    return f"{FOLDER}/{moment.astimezone(UTC).date().isoformat()}.{_safe(host)}.jsonl"


@cache
def _safe(host: str) -> str:
    """A part of a file's name."""
    return "".join(sign if sign.isalnum() and sign.isascii() else "-" for sign in host) or "host"


def encode(event: Event) -> bytes:
    """The line of *event*, with its end."""
    facts = {
        "event_id": str(event.event_id),
        "type": event.type,
        "occurred_at": event.occurred_at.astimezone(UTC).isoformat(timespec="microseconds"),
        "tenant": event.tenant,
        "actor": {"kind": event.actor.kind, "name": event.actor.name},
        "data": dict(event.data),
    }
    return _LINE.encode(facts).encode() + b"\n"


_LINE = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))  # made once: each line of an event would make one


def decode(line: bytes) -> Event:
    """
    What a line says; keys beyond those of Event are passed over.

    Raises:
        ValueError: it is not such a line; the message says why, to follow the line's number.
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
