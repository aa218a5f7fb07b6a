"""The tree that a tenant's rows make without a mirror: every file and folder by its path."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mirrord.db.snapshot_rows import LiveEntry
from mirrord.domain.entry import Digest, EntryId, Kind, Row
from mirrord.domain.long_work import Omission
from mirrord.domain.place import name_key
from mirrord.mirror.tree.tree_layout import may_be_synced, printable
from mirrord.sync.observation.row_names import MAX_TWINS, names_for
from mirrord.sync.writing.target_paths import resolve_paths

_Shelf = tuple[bool, EntryId | None]  # (whether of attachments, the parent): names are unique in each


@dataclass(frozen=True, slots=True)
class OutlineFile:
    """
    A file as it will be. name: of its place, which the row may not have yet. digest: None: its text is not rendered.
    size: as the row has it.
    """

    path: str
    entry: EntryId
    kind: Kind
    name: str
    digest: Digest | None
    size: int


@dataclass(frozen=True, slots=True)
class Outline:
    """files, folders: in the order of their paths. omissions: rows that get no file in any mirror. counts: by kind."""

    files: Sequence[OutlineFile]
    folders: Sequence[str]
    omissions: Sequence[Omission]
    counts: Mapping[str, int]


def outline_of(living: Sequence[LiveEntry]) -> Outline:
    """The outline of *living*; rows without name or text get those that the daemon would give them."""
    rows = {live.row.entry: _as_rendered(live.row) for live in living}
    rows |= _assign_names(rows, [live for live in living if not live.row.placed])
    paths = {entry: path for entry, path in resolve_paths(rows, {}).items() if may_be_synced(path)}
    files = [
        OutlineFile(paths[row.entry], row.entry, row.kind, row.place.name, _rendered_digest(row), live.size)
        for live in living
        if (row := rows[live.row.entry]).entry in paths and row.placed and row.kind is not Kind.FOLDER
    ]
    folders = [paths[entry] for entry, row in rows.items() if row.kind is Kind.FOLDER and row.placed and entry in paths]
    omissions = [
        _omission_of(row, paths.get(row.entry)) for row in rows.values() if row.entry not in paths or not row.placed
    ]
    counts = dict(Counter(str(row.kind) for row in rows.values()))
    return Outline(sorted(files, key=lambda item: item.path), sorted(folders), omissions, counts)


def _rendered_digest(row: Row) -> Digest | None:
    return row.digest if not row.ahead else None


def _as_rendered(row: Row) -> Row:
    """The row as rendering leaves it: a folder with views from an app becomes a page with its file in the directory."""
    if row.kind is Kind.FOLDER and row.ahead:
        return replace(row, kind=Kind.PAGE, place=replace(row.place, index=True), digest=None)
    return row


def _assign_names(rows: Mapping[EntryId, Row], unplaced: Iterable[LiveEntry]) -> dict[EntryId, Row]:
    """The rows of *unplaced* with clean and free names; of equal names the later row gets a number."""
    named: dict[EntryId, Row] = {}
    waiting = sorted(unplaced, key=_age_of)
    if not waiting:
        return named
    used_keys: defaultdict[_Shelf, set[str]] = defaultdict(set)
    for row in rows.values():
        if row.placed:
            used_keys[_shelf_of(row)].add(name_key(row.place.name))
    for unnamed in waiting:
        row, keys = rows[unnamed.row.entry], used_keys[_shelf_of(unnamed.row)]
        free = (name for name in names_for(row) if name_key(name) not in keys)
        if (name := next(free, None)) is not None:
            keys.add(name_key(name))
            named[row.entry] = replace(row, place=replace(row.place, name=name), placed=True)
    return named


def _age_of(unnamed: LiveEntry) -> tuple[datetime, EntryId]:
    assert unnamed.created_at is not None
    return unnamed.created_at, unnamed.row.entry


def _shelf_of(row: Row) -> _Shelf:
    return row.kind is Kind.ATTACHMENT, row.place.parent


def _omission_of(row: Row, path: str | None) -> Omission:
    name = printable(row.place.name or row.title or "")
    if path is not None:
        why = f"has no free name among {MAX_TWINS} of that name; give it another"
    else:
        why = "is below a page or folder that is deleted, or has a name that no file may have; move or rename it"
    return Omission(name, f"The {row.kind} {name!r} ({row.entry}) {why}.")
