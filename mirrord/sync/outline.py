"""The tree that a tenant's rows make where no mirror says what is where: every file and folder, by its path."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mirrord.db.living import Living
from mirrord.domain.entry import Digest, EntryId, Kind
from mirrord.domain.omission import Omission
from mirrord.domain.place import name_key
from mirrord.domain.state import Row
from mirrord.mirror.layout import may_be_synced, printable
from mirrord.sync.targets import resolve_paths
from mirrord.sync.twins import MOST_TWINS, names_for

_Shelf = tuple[bool, EntryId | None]  # whether of attachments, and whose: names are unique in each


@dataclass(frozen=True, slots=True)
class Item:
    """
    A file as it is to be. name: of its place, which the row may not have yet. digest: None: its text is not rendered.
    size: as the row says.
    """

    path: str
    entry: EntryId
    kind: Kind
    name: str
    digest: Digest | None
    size: int


@dataclass(frozen=True, slots=True)
class Outline:
    """files, folders: in the order of their paths. left: rows that no mirror would have as a file. counts: by kind."""

    files: Sequence[Item]
    folders: Sequence[str]
    left: Sequence[Omission]
    counts: Mapping[str, int]


def outlined(living: Sequence[Living]) -> Outline:
    """What the rows make; those that have no name or text yet get what the daemon would give them."""
    rows = {one.row.entry: _as_rendered(one.row) for one in living}
    rows |= _named(rows, [one for one in living if not one.row.placed])
    paths = {entry: path for entry, path in resolve_paths(rows, {}).items() if may_be_synced(path)}
    files = [
        Item(paths[row.entry], row.entry, row.kind, row.place.name, _digest(row), one.size)
        for one in living
        if (row := rows[one.row.entry]).entry in paths and row.placed and row.kind is not Kind.FOLDER
    ]
    folders = [paths[entry] for entry, row in rows.items() if row.kind is Kind.FOLDER and row.placed and entry in paths]
    left = [_left(row, paths.get(row.entry)) for row in rows.values() if row.entry not in paths or not row.placed]
    counts = dict(Counter(str(row.kind) for row in rows.values()))
    return Outline(sorted(files, key=lambda item: item.path), sorted(folders), left, counts)


def _digest(row: Row) -> Digest | None:
    return row.digest if not row.ahead else None


def _as_rendered(row: Row) -> Row:
    """A folder of which an app wrote views becomes a page, whose file is in its directory."""
    if row.kind is Kind.FOLDER and row.ahead:
        return replace(row, kind=Kind.PAGE, place=replace(row.place, index=True), digest=None)
    return row


def _named(rows: Mapping[EntryId, Row], unplaced: Iterable[Living]) -> dict[EntryId, Row]:
    """Clean and free names for what has none yet; of equal names the later row gets a number."""
    named: dict[EntryId, Row] = {}
    waiting = sorted(unplaced, key=_age)
    if not waiting:
        return named
    taken: defaultdict[_Shelf, set[str]] = defaultdict(set)
    for row in rows.values():
        if row.placed:
            taken[_shelf(row)].add(name_key(row.place.name))
    for one in waiting:
        row, keys = rows[one.row.entry], taken[_shelf(one.row)]
        free = (name for name in names_for(row) if name_key(name) not in keys)
        if (name := next(free, None)) is not None:
            keys.add(name_key(name))
            named[row.entry] = replace(row, place=replace(row.place, name=name), placed=True)
    return named


def _age(one: Living) -> tuple[datetime, EntryId]:
    assert one.made_at is not None
    return one.made_at, one.row.entry


def _shelf(row: Row) -> _Shelf:
    return row.kind is Kind.ATTACHMENT, row.place.parent


def _left(row: Row, path: str | None) -> Omission:
    name = printable(row.place.name or row.title or "")
    if path is not None:
        why = f"has no free name among {MOST_TWINS} of that name; give it another"
    else:
        why = "is below a page or folder that is deleted, or has a name that no file may have; move or rename it"
    return Omission(name, f"The {row.kind} {name!r} ({row.entry}) {why}.")
