"""The events of a record's change: of a category, a collection, or the speakers in a source. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from mirrord.db.outbox import ChangedRecord, CommandEvent, RecordVersion
from mirrord.domain.event import EventType
from mirrord.domain.record import record_path
from mirrord.domain.segment import SPEAKER

Facts = dict[str, object]

ADDED_TYPES = {"category": EventType.CATEGORY_ADDED, "collection": EventType.COLLECTION_ADDED}
REMOVED_TYPES = {"category": EventType.CATEGORY_REMOVED, "collection": EventType.COLLECTION_REMOVED}
CHANGED_TYPES = {"category": EventType.CATEGORY_CHANGED, "collection": EventType.COLLECTION_CHANGED}
UPDATED_TYPES = {"category": EventType.CATEGORY_UPDATED, "collection": EventType.COLLECTION_UPDATED}
_LIST_FIELDS = {"category": "patterns", "collection": "categories"}
RECORD_TYPES = frozenset(
    kind for kinds in (ADDED_TYPES, REMOVED_TYPES, CHANGED_TYPES, UPDATED_TYPES) for kind in kinds.values()
)


def type_of(changed: ChangedRecord) -> EventType | None:
    """The type of the event for a record's change; None: no event."""
    was, now = changed.before, changed.after
    if now.kind == "segment":
        differs = not now.is_deleted and now.data is not None and _count_turns(was) != _count_turns(now)
        return EventType.SPEAKERS_DETECTED if differs else None
    if was is None or was.is_deleted:
        return None if now.is_deleted else ADDED_TYPES[now.kind]
    if now.is_deleted:
        return REMOVED_TYPES[now.kind]
    if now.data is None or _fields_of(was) == _fields_of(now):
        return None
    list_field = _LIST_FIELDS[now.kind]
    is_list_change = {**_fields_of(was), list_field: None} == {**_fields_of(now), list_field: None}
    return UPDATED_TYPES[now.kind] if is_list_change else CHANGED_TYPES[now.kind]


def reporting_events(changed: ChangedRecord, claims: Sequence[CommandEvent]) -> Sequence[UUID]:
    """The events of commands that reported the change; several commands may have led to one change."""
    for number, claim in enumerate(claims, 1):
        if _matches(changed, claim):
            return [earlier.event for earlier in claims[:number]]
    return ()


def facts_of(changed: ChangedRecord) -> Facts:
    """The facts of the event of a category or collection."""
    was, now = changed.before, changed.after
    facts: Facts = {**_fields_of(was if now.is_deleted and was is not None else now)}
    facts |= {"path": record_path(f"{now.kind}/{now.key}"), "record_id": str(changed.note.entry)}
    if not now.is_deleted and now.digest is not None:
        facts["digest"] = now.digest.hex()
    if was is not None and not was.is_deleted and was.key != now.key:
        facts["old_name"] = was.key
    return facts


def speaker_facts(changed: ChangedRecord) -> Facts:
    """The speakers, in the order of their first turns, as facts of an event."""
    turns = _count_turns(changed.after)
    return {"format_used": None, "speakers": list(turns), "segments_count": sum(turns.values())}


def _matches(changed: ChangedRecord, claim: CommandEvent) -> bool:
    now = changed.after
    if now.kind == "segment":
        speakers = claim.data.get("speakers")
        names = {name for name in speakers if isinstance(name, str)} if isinstance(speakers, list) else set()
        return claim.type == EventType.SPEAKERS_DETECTED and names == set(_count_turns(now))
    if now.is_deleted or claim.type == REMOVED_TYPES[now.kind]:
        return now.is_deleted and claim.type == REMOVED_TYPES[now.kind]
    return now.digest is not None and claim.data.get("digest") == now.digest.hex()


def _fields_of(version: RecordVersion) -> dict[str, Any]:
    """The fields of *version* as commands report them."""
    data: Mapping[str, Any] = version.data or {}
    list_field = _LIST_FIELDS[version.kind]
    listed = data.get(list_field)
    fields: dict[str, Any] = {"name": version.key}
    if version.kind == "category":
        directory = data.get("dir")
        fields["dir"] = (
            directory.strip("/").removeprefix("./") if isinstance(directory, str) and directory != "." else ""
        )
    return fields | {list_field: listed if isinstance(listed, list) else [], "description": data.get("description")}


def _count_turns(version: RecordVersion | None) -> Counter[str]:
    """The number of turns by speaker, as detect_speakers marks them."""
    data: Mapping[str, Any] = (version.data if version is not None else None) or {}
    segments = [segment for segment in data.values() if isinstance(segment, dict)]
    turns = [segment for segment in segments if segment.get("kind") == SPEAKER and segment.get("detected")]
    turns.sort(key=lambda turn: start if isinstance(start := turn.get("start"), int) else 0)
    return Counter(label for turn in turns if isinstance(label := turn.get("label"), str))
