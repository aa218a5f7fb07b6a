"""Which events the change of a record is: a category, a collection, or who speaks in a source. Pure."""

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
_LISTS = {"category": "patterns", "collection": "categories"}
RECORD_TYPES = frozenset(kind for kinds in (ADDED, REMOVED, CHANGED, UPDATED) for kind in kinds.values())


def type_of(changed: ChangedRecord) -> Type | None:
    """The event that a record's change is; None: nothing that anybody follows."""
    was, now = changed.was, changed.now
    if now.kind == "segment":
        differs = not now.deleted and now.data is not None and _turns(was) != _turns(now)
        return Type.SPEAKERS_DETECTED if differs else None
    if was is None or was.deleted:
        return None if now.deleted else ADDED[now.kind]
    if now.deleted:
        return REMOVED[now.kind]
    if now.data is None or _said(was) == _said(now):
        return None
    own = _LISTS[now.kind]
    is_list = {**_said(was), own: None} == {**_said(now), own: None}
    return UPDATED[now.kind] if is_list else CHANGED[now.kind]


def claimed_by(changed: ChangedRecord, claims: Sequence[Claimed]) -> Sequence[UUID]:
    """The events of commands that told of the change; several acts may have become one."""
    for number, claim in enumerate(claims, 1):
        if _tells(changed, claim):
            return [one.event for one in claims[:number]]
    return ()


def facts_of(changed: ChangedRecord) -> Facts:
    """What the event of a category or collection says."""
    was, now = changed.was, changed.now
    facts: Facts = {**_said(was if now.deleted and was is not None else now)}
    facts |= {"path": record_path(f"{now.kind}/{now.key}"), "record_id": str(changed.note.entry)}
    if not now.deleted and now.digest is not None:
        facts["digest"] = now.digest.hex()
    if was is not None and not was.deleted and was.key != now.key:
        facts["old_name"] = was.key
    return facts


def speakers_of(changed: ChangedRecord) -> Facts:
    """Who speaks, in the order of their first turns."""
    turns = _turns(changed.now)
    return {"format_used": None, "speakers": list(turns), "segments_count": sum(turns.values())}


def _tells(changed: ChangedRecord, claim: Claimed) -> bool:
    now = changed.now
    if now.kind == "segment":
        speakers = claim.data.get("speakers")
        told = {one for one in speakers if isinstance(one, str)} if isinstance(speakers, list) else set()
        return claim.type == Type.SPEAKERS_DETECTED and told == set(_turns(now))
    if now.deleted or claim.type == REMOVED[now.kind]:
        return now.deleted and claim.type == REMOVED[now.kind]
    return now.digest is not None and claim.data.get("digest") == now.digest.hex()


def _said(version: RecordVersion) -> dict[str, Any]:
    """As commands tell it."""
    data: Mapping[str, Any] = version.data or {}
    own = _LISTS[version.kind]
    several = data.get(own)
    said: dict[str, Any] = {"name": version.key}
    if version.kind == "category":
        directory = data.get("dir")
        said["dir"] = directory.strip("/").removeprefix("./") if isinstance(directory, str) and directory != "." else ""
    return said | {own: several if isinstance(several, list) else [], "description": data.get("description")}


def _turns(version: RecordVersion | None) -> Counter[str]:
    """How often each speaks, as detect_speakers marks it."""
    data: Mapping[str, Any] = (version.data if version is not None else None) or {}
    own = [one for one in data.values() if isinstance(one, dict) and one.get("kind") == SPEAKER and one.get("detected")]
    own.sort(key=lambda one: start if isinstance(start := one.get("start"), int) else 0)
    return Counter(label for one in own if isinstance(label := one.get("label"), str))
