"""The events of a page's change: the page may be a source, a folder of sources, a case, or none of them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from posixpath import normpath
from typing import Any
from uuid import UUID

from mirrord.db.outbox import Ancestor, ChangedPage, CommandEvent, PageVersion
from mirrord.domain import case
from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.event import Event, EventType
from mirrord.domain.number import number_of
from mirrord.domain.place import name_key
from mirrord.domain.source import ORIGINAL, SHA256, SOURCE_TYPE, TYPE, is_source, parse_source_type
from mirrord.domain.subject import (
    CREATION_TYPES,
    DELETION_TYPES,
    MOVE_TYPES,
    SUBJECT_TYPES,
    Change,
    Claim,
    Subject,
    SubjectSort,
    event_types_of,
)
from mirrord.mirror.layout import INDEX_FILE, SUFFIX, page_path, parent_of, spot_of_file
from mirrord.sync.record_events import RECORD_TYPES

Facts = dict[str, object]


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
        directory = "/".join(ancestor.name for _, ancestor in chain)
        page_type = _text_or_none(version.frontmatter.get(TYPE))
        path = page_path(directory, version.name, version.index) if version.is_page else f"{directory}/{version.name}"
        key, root = name_key(path), name_key(self.sources)
        folder, inside = self._folder_of(chain)
        if version.is_page and is_source(key, page_type, root):
            return Subject(SubjectSort.SOURCE, version.name, folder, path)
        if is_folder and not inside and key.startswith(root + "/"):
            return Subject(SubjectSort.FOLDER, version.name, folder, path)
        if page_type == case.CASE and key.startswith(name_key(case.DIRECTORY) + "/"):
            return Subject(SubjectSort.CASE, version.name, None, path)
        return None

    def change_of(self, changed: ChangedPage) -> Change:
        """The change of a page, from its versions before and after."""
        note, now = changed.note, changed.after
        was = self.subject_of(changed.before, is_folder=note.was_folder)
        revived = changed.before is not None and changed.before.is_deleted
        digest = now.digest.hex() if now.digest is not None else None
        return Change(was, self.subject_of(now, is_folder=note.is_folder), revived, digest)

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


def is_claim(event: Event, sources: str) -> bool:
    """Whether a command's event may be that of a row's change: of a record, source, folder or case."""
    if event.type in RECORD_TYPES or event.type in SUBJECT_TYPES:
        return True
    paths = [_text_or_none(event.data.get(key)) or "" for key in ("path", "old_path")]
    roots = [name_key(root) + "/" for root in (sources, case.DIRECTORY)]
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
        return _text_facts({"name": title or subject.name, "survey": changed.after.frontmatter.get(case.SURVEY)})
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
