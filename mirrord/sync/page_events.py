"""Which events the change of a page is: it may be a source, a folder of sources, a case, or none of them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from posixpath import normpath
from typing import Any
from uuid import UUID

from mirrord.db.outbox import Above, ChangedPage, Claimed, PageVersion
from mirrord.domain import case
from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.event import Event, Type
from mirrord.domain.number import number_of
from mirrord.domain.place import name_key
from mirrord.domain.source import ORIGINAL, SHA256, SOURCE_TYPE, TYPE, is_source, source_type
from mirrord.domain.subject import GONE, MADE, OWN, PLACED, Change, Claim, Sort, Subject, types_of
from mirrord.mirror.layout import INDEX_FILE, SUFFIX, page_path, parent_of, spot_of_file
from mirrord.sync.record_events import RECORD_TYPES

Facts = dict[str, object]


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """What is above pages, and the path of the directory of sources."""

    above: Mapping[EntryId, Above]
    sources: str

    def subject(self, version: PageVersion | None, *, is_folder: bool) -> Subject | None:
        """What a page is in *version*; None: nothing that events are about. is_folder: whether it may hold pages."""
        if version is None or version.deleted or version.name is None:
            return None
        chain = self._chain(version.parent)
        directory = "/".join(one.name for _, one in chain)
        said = _text(version.frontmatter.get(TYPE))
        path = page_path(directory, version.name, version.index) if version.is_page else f"{directory}/{version.name}"
        key, root = name_key(path), name_key(self.sources)
        folder, inside = self._folder(chain)
        if version.is_page and is_source(key, said, root):
            return Subject(Sort.SOURCE, version.name, folder, path)
        if is_folder and not inside and key.startswith(root + "/"):
            return Subject(Sort.FOLDER, version.name, folder, path)
        if said == case.CASE and key.startswith(name_key(case.DIRECTORY) + "/"):
            return Subject(Sort.CASE, version.name, None, path)
        return None

    def change(self, changed: ChangedPage) -> Change:
        """What happened to a page."""
        note, now = changed.note, changed.now
        was = self.subject(changed.was, is_folder=note.was_folder)
        revived = changed.was is not None and changed.was.deleted
        digest = now.digest.hex() if now.digest is not None else None
        return Change(was, self.subject(now, is_folder=note.is_folder), revived, digest)

    def _chain(self, parent: EntryId | None) -> list[tuple[EntryId, Above]]:
        """What is above, from the root down."""
        found: list[tuple[EntryId, Above]] = []
        while parent is not None and parent in self.above:
            found.append((parent, self.above[parent]))
            parent = found[-1][1].parent
        return found[::-1]

    def _folder(self, chain: Sequence[tuple[EntryId, Above]]) -> tuple[UUID | None, bool]:
        """The folder of sources at the end of *chain*, and whether that is inside a source."""
        folder: UUID | None = None
        for entry, one in chain[self.sources.count("/") + 1 :]:
            if name_key(_text(one.type) or "") == Sort.SOURCE:
                return folder, True
            folder = entry
        return folder, False


def is_claim(event: Event, sources: str) -> bool:
    """Whether a command's event is held against changes of rows: of pages only what may be a source or the like."""
    if event.type in RECORD_TYPES or event.type in OWN:
        return True
    paths = [_text(event.data.get(key)) or "" for key in ("path", "old_path")]
    roots = [name_key(root) + "/" for root in (sources, case.DIRECTORY)]
    return event.type in MADE | PLACED | GONE and any(
        name_key(path).startswith(root) for path in paths for root in roots
    )


def claim_of(claimed: Claimed) -> Claim | None:
    """What a command's event says of the page that it is about; None: nothing that is held against changes."""
    data = claimed.data
    old, new = name_in(data.get("old_path")), name_in(data.get("path"))
    if claimed.type in MADE:
        digest = _text(data.get("digest")) if claimed.type == Type.PAGE_CREATED else None
        return Claim(claimed.event, None, new, made=True, digest=digest)
    if claimed.type in GONE:
        return Claim(claimed.event, new, None)
    if claimed.type not in PLACED or new is None:
        return None
    moves = claimed.type == Type.SOURCE_MOVED or _above(data.get("old_path")) != _above(data.get("path"))
    return Claim(claimed.event, old, new, moved=moves)


def name_in(path: object) -> str | None:
    """The name of the page or folder whose file or directory is at *path*."""
    if not isinstance(path, str):
        return None
    return path.removesuffix("/" + INDEX_FILE).removesuffix(SUFFIX).rpartition("/")[2]


def events_of(changed: ChangedPage, change: Change) -> list[tuple[Type, Facts]]:
    """The events that *change* of a page is, with what they say."""
    found = []
    for kind in types_of(change):
        subject = change.was if kind in GONE else change.now
        assert subject is not None
        facts: Facts = {"page_id": str(changed.note.entry), "path": subject.path}
        if kind not in GONE and change.digest is not None:
            facts["digest"] = change.digest
        found.append((kind, {**facts, **_own(kind, changed, change, subject)}))
    return found


def _own(kind: Type, changed: ChangedPage, change: Change, subject: Subject) -> Facts:
    if subject.sort is Sort.CASE:
        title = _text(changed.now.frontmatter.get("title"))
        return _known({"name": title or subject.name, "survey": changed.now.frontmatter.get(case.SURVEY)})
    number, above, was = number_of(changed.note.entry), _number(subject.folder), change.was
    facts: Facts = {"source_id": number} if subject.sort is Sort.SOURCE else {"folder_id": number, "parent_id": above}
    facts["name"] = subject.name
    if kind in PLACED and was is not None:
        facts["old_path"] = was.path
    if kind in (Type.SOURCE_RENAMED, Type.FOLDER_RENAMED) and was is not None:
        facts["old_name"] = was.name
    if kind is Type.SOURCE_MOVED and was is not None:
        facts |= {"old_folder_id": _number(was.folder), "folder_id": above}
    if kind is Type.SOURCE_DELETED:
        facts["segments_removed"] = changed.segments
    if kind is Type.SOURCE_IMPORTED:
        facts |= {"folder_id": above, **_origin(subject.path, changed.now.frontmatter)}
    return facts


def _origin(path: str, said: Mapping[str, Any]) -> Facts:
    """What a source was made from, as its front matter says."""
    original = _text(said.get(ORIGINAL))
    if original is not None and not original.startswith("/") and "://" not in original:
        original = normpath(f"{parent_of(path)}/{original}".lstrip("/"))
        spot = spot_of_file(original)
        original = original if spot is not None and spot.kind is Kind.ATTACHMENT else None
    kind = source_type(_text(said.get(SOURCE_TYPE)))
    return {"source_type": kind.value, **_known({"original": original, SHA256: said.get(SHA256)})}


def _known(facts: Facts) -> Facts:
    return {key: value for key, value in facts.items() if isinstance(value, str)}


def _number(folder: UUID | None) -> int | None:
    return number_of(EntryId(folder)) if folder is not None else None


def _above(path: object) -> str:
    return parent_of(path.removesuffix("/" + INDEX_FILE)) if isinstance(path, str) else ""


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
