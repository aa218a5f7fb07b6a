"""The events of a record's change: of a category, a collection, or the speakers in a source. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from mirrord.db.outbox import ChangedRecord, Claimed, RecordVersion
from mirrord.domain.event import Type
from mirrord.domain.record import record_path
from mirrord.domain.segment import SPEAKER

Facts = dict[str, object]

ADDED = {"category": Type.CATEGORY_ADDED, "collection": Type.COLLECTION_ADDED}
REMOVED = {"category": Type.CATEGORY_REMOVED, "collection": Type.COLLECTION_REMOVED}
CHANGED = {"category": Type.CATEGORY_CHANGED, "collection": Type.COLLECTION_CHANGED}
UPDATED = {"category": Type.CATEGORY_UPDATED, "collection": Type.COLLECTION_UPDATED}
_LIST_FIELDS = {"category": "patterns", "collection": "categories"}
RECORD_TYPES = frozenset(kind for kinds in (ADDED, REMOVED, CHANGED, UPDATED) for kind in kinds.values())


def type_of(changed: ChangedRecord) -> Type | None:
    """The type of the event for a record's change; None: no event."""
    was, now = changed.was, changed.now
    if now.kind == "segment":
        differs = not now.deleted and now.data is not None and _count_turns(was) != _count_turns(now)
        return Type.SPEAKERS_DETECTED if differs else None
    if was is None or was.deleted:
        return None if now.deleted else ADDED[now.kind]
    if now.deleted:
        return REMOVED[now.kind]
    if now.data is None or _fields_of(was) == _fields_of(now):
        return None
    list_field = _LIST_FIELDS[now.kind]
    is_list_change = {**_fields_of(was), list_field: None} == {**_fields_of(now), list_field: None}
    return UPDATED[now.kind] if is_list_change else CHANGED[now.kind]


def claimed_by(changed: ChangedRecord, claims: Sequence[Claimed]) -> Sequence[UUID]:
    """The events of commands that reported the change; several commands may have led to one change."""
    for number, claim in enumerate(claims, 1):
        if _matches(changed, claim):
            return [earlier.event for earlier in claims[:number]]
    return ()


def facts_of(changed: ChangedRecord) -> Facts:
    """The facts of the event of a category or collection."""
    was, now = changed.was, changed.now
    facts: Facts = {**_fields_of(was if now.deleted and was is not None else now)}
    facts |= {"path": record_path(f"{now.kind}/{now.key}"), "record_id": str(changed.note.entry)}
    if not now.deleted and now.digest is not None:
        facts["digest"] = now.digest.hex()
    if was is not None and not was.deleted and was.key != now.key:
        facts["old_name"] = was.key
    return facts


def speakers_of(changed: ChangedRecord) -> Facts:
    """The speakers, in the order of their first turns, as facts of an event."""
    turns = _count_turns(changed.now)
    return {"format_used": None, "speakers": list(turns), "segments_count": sum(turns.values())}


def _matches(changed: ChangedRecord, claim: Claimed) -> bool:
    now = changed.now
    if now.kind == "segment":
        speakers = claim.data.get("speakers")
        names = {name for name in speakers if isinstance(name, str)} if isinstance(speakers, list) else set()
        return claim.type == Type.SPEAKERS_DETECTED and names == set(_count_turns(now))
    if now.deleted or claim.type == REMOVED[now.kind]:
        return now.deleted and claim.type == REMOVED[now.kind]
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
