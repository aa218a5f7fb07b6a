"""Which events a change of a page or record is. No effects."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from posixpath import normpath
from typing import Any
from uuid import UUID

from mirrord.db.change_notes import Ancestor, ChangedPage, ChangedRecord, PageVersion, RecordVersion
from mirrord.db.event_rows import CommandEvent
from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.event import (
    CREATION_TYPES,
    DELETION_TYPES,
    MOVE_TYPES,
    SUBJECT_TYPES,
    Change,
    Claim,
    Event,
    EventType,
    Subject,
    SubjectSort,
    event_types_of,
)
from mirrord.domain.place import name_key, record_path
from mirrord.mirror.tree.tree_layout import INDEX_FILE, SUFFIX, page_path, parent_of, spot_of_file
from mirrord.research.segments.segment import SPEAKER
from mirrord.research.sources.source_kinds import (
    ORIGINAL,
    SHA256,
    SOURCE_TYPE,
    TYPE,
    is_source,
    number_of,
    parse_source_type,
)
from mirrord.research.surveys import survey_columns

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


Facts = dict[str, object]


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


@dataclass(frozen=True, slots=True)
class SourceTree:
    """The ancestors of pages, and the path of the directory of sources."""

    ancestors: Mapping[EntryId, Ancestor]
    sources: str

    def subject_of(self, version: PageVersion | None, *, is_folder: bool) -> Subject | None:
        """The subject that *version* of a page is; None: no event is about it. is_folder: whether it may hold pages."""
        if version is None or version.is_deleted or version.name is None:
            return None
        chain = self._ancestors(version.parent)
        directory = _directory(chain)
        page_type = _text_or_none(version.frontmatter.get(TYPE))
        path = page_path(directory, version.name, version.index) if version.is_page else f"{directory}/{version.name}"
        key, root = name_key(path), name_key(self.sources)
        folder, inside = self._folder_of(chain)
        if version.is_page and is_source(key, page_type, root):
            return Subject(SubjectSort.SOURCE, version.name, folder, path)
        if is_folder and not inside and key.startswith(root + "/"):
            return Subject(SubjectSort.FOLDER, version.name, folder, path)
        if page_type == survey_columns.CASE and key.startswith(name_key(survey_columns.DIRECTORY) + "/"):
            return Subject(SubjectSort.CASE, version.name, None, path)
        return None

    def with_versions(self, versions: Mapping[EntryId, PageVersion]) -> "SourceTree":
        """The tree with each of these pages at the place that its version has."""
        ancestors = {
            entry: Ancestor(version.parent, version.name or "", version.frontmatter.get(TYPE))
            for entry, version in versions.items()
        }
        return replace(self, ancestors={**self.ancestors, **ancestors})

    def directory_of(self, version: PageVersion) -> str:
        """The path of the directory that holds the pages below *version*."""
        return f"{_directory(self._ancestors(version.parent))}/{version.name}".lstrip("/")

    def _ancestors(self, parent: EntryId | None) -> list[tuple[EntryId, Ancestor]]:
        """The ancestors, from the root down."""
        ancestors: list[tuple[EntryId, Ancestor]] = []
        while parent is not None and parent in self.ancestors:
            ancestors.append((parent, self.ancestors[parent]))
            parent = ancestors[-1][1].parent
        return ancestors[::-1]

    def _folder_of(self, chain: Sequence[tuple[EntryId, Ancestor]]) -> tuple[UUID | None, bool]:
        """The folder of sources at the end of *chain*, and whether it is inside a source."""
        folder: UUID | None = None
        for entry, ancestor in chain[self.sources.count("/") + 1 :]:
            if name_key(_text_or_none(ancestor.type) or "") == SubjectSort.SOURCE:
                return folder, True
            folder = entry
        return folder, False


def change_of(changed: ChangedPage, earlier: SourceTree, later: SourceTree) -> Change:
    """The change of a page; *earlier* and *later*: the tree before and after it."""
    note, now = changed.note, changed.after
    was = earlier.subject_of(changed.before, is_folder=note.was_folder)
    revived = changed.before is not None and changed.before.is_deleted
    digest = now.digest.hex() if now.digest is not None else None
    return Change(was, later.subject_of(now, is_folder=note.is_folder), revived, digest)


def _directory(chain: Sequence[tuple[EntryId, Ancestor]]) -> str:
    return "/".join(ancestor.name for _, ancestor in chain)


def is_claim(event: Event, sources: str) -> bool:
    """Whether a command's event may be that of a row's change: of a record, source, folder or case."""
    if event.type in RECORD_TYPES or event.type in SUBJECT_TYPES:
        return True
    paths = [_text_or_none(event.data.get(key)) or "" for key in ("path", "old_path")]
    roots = [name_key(root) + "/" for root in (sources, survey_columns.DIRECTORY)]
    return event.type in CREATION_TYPES | MOVE_TYPES | DELETION_TYPES and any(
        name_key(path).startswith(root) for path in paths for root in roots
    )


def claim_of(claimed: CommandEvent) -> Claim | None:
    """A command's event as a claim about its page; None: it is not compared with changes."""
    data = claimed.data
    old, new = name_of_path(data.get("old_path")), name_of_path(data.get("path"))
    if claimed.type in CREATION_TYPES:
        digest = _text_or_none(data.get("digest")) if claimed.type == EventType.PAGE_CREATED else None
        return Claim(claimed.event, None, new, is_creation=True, digest=digest)
    if claimed.type in DELETION_TYPES:
        return Claim(claimed.event, new, None)
    if claimed.type not in MOVE_TYPES or new is None:
        return None
    moves = claimed.type == EventType.SOURCE_MOVED or _directory_of(data.get("old_path")) != _directory_of(
        data.get("path")
    )
    return Claim(claimed.event, old, new, is_move=moves)


def name_of_path(path: object) -> str | None:
    """The name of the page or folder whose file or directory is at *path*."""
    if not isinstance(path, str):
        return None
    return path.removesuffix("/" + INDEX_FILE).removesuffix(SUFFIX).rpartition("/")[2]


def events_of(changed: ChangedPage, change: Change) -> list[tuple[EventType, Facts]]:
    """The events of *change*, with their facts."""
    events = []
    for kind in event_types_of(change):
        subject = change.was if kind in DELETION_TYPES else change.now
        assert subject is not None
        facts: Facts = {"page_id": str(changed.note.entry), "path": subject.path}
        if kind not in DELETION_TYPES and change.digest is not None:
            facts["digest"] = change.digest
        events.append((kind, {**facts, **_facts_of(kind, changed, change, subject)}))
    return events


def _facts_of(kind: EventType, changed: ChangedPage, change: Change, subject: Subject) -> Facts:
    if subject.sort is SubjectSort.CASE:
        title = _text_or_none(changed.after.frontmatter.get("title"))
        return _text_facts(
            {"name": title or subject.name, "survey": changed.after.frontmatter.get(survey_columns.SURVEY)}
        )
    number, above, was = number_of(changed.note.entry), _folder_number(subject.folder), change.was
    facts: Facts = (
        {"source_id": number} if subject.sort is SubjectSort.SOURCE else {"folder_id": number, "parent_id": above}
    )
    facts["name"] = subject.name
    if kind in MOVE_TYPES and was is not None:
        facts["old_path"] = was.path
    if kind in (EventType.SOURCE_RENAMED, EventType.FOLDER_RENAMED) and was is not None:
        facts["old_name"] = was.name
    if kind is EventType.SOURCE_MOVED and was is not None:
        facts |= {"old_folder_id": _folder_number(was.folder), "folder_id": above}
    if kind is EventType.SOURCE_DELETED:
        facts["segments_removed"] = changed.segments
    if kind is EventType.SOURCE_IMPORTED:
        facts |= {"folder_id": above, **_origin_facts(subject.path, changed.after.frontmatter)}
    return facts


def _origin_facts(path: str, frontmatter: Mapping[str, Any]) -> Facts:
    """The original that a source was made from, as its front matter has it."""
    original = _text_or_none(frontmatter.get(ORIGINAL))
    if original is not None and not original.startswith("/") and "://" not in original:
        original = normpath(f"{parent_of(path)}/{original}".lstrip("/"))
        spot = spot_of_file(original)
        original = original if spot is not None and spot.kind is Kind.ATTACHMENT else None
    kind = parse_source_type(_text_or_none(frontmatter.get(SOURCE_TYPE)))
    return {"source_type": kind.value, **_text_facts({"original": original, SHA256: frontmatter.get(SHA256)})}


def _text_facts(facts: Facts) -> Facts:
    return {key: value for key, value in facts.items() if isinstance(value, str)}


def _folder_number(folder: UUID | None) -> int | None:
    return number_of(EntryId(folder)) if folder is not None else None


def _directory_of(path: object) -> str:
    return parent_of(path.removesuffix("/" + INDEX_FILE)) if isinstance(path, str) else ""


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None
