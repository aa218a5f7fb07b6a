"""Where files belong that rows tell of."""

from collections.abc import Mapping

from mirrord.db import states
from mirrord.db.connect import Connection
from mirrord.domain.entry import EntryId
from mirrord.domain.state import Base, Row
from mirrord.mirror.layout import directory_of, parent_of
from mirrord.sync.assembly import owner_paths
from mirrord.sync.paths import path_in
from mirrord.sync.sides import Sides

DEEPEST = 200  # directories above each other, of one batch, whose moves are followed


async def target_paths(connection: Connection, sides: Sides, rows: Mapping[EntryId, Row]) -> dict[EntryId, str]:
    """The path of every row; those whose parent is nowhere yet are left out."""
    parents = {row.place.parent for row in rows.values() if row.place.parent is not None}
    wanted = states.Wanted(entries=list(parents | rows.keys()))
    bases = await states.load_bases(connection, sides.tenant, sides.mirror, wanted)
    return resolve_paths(rows, {base.entry: base for base in bases})


async def without_guests(sides: Sides, rows: Mapping[EntryId, Row], paths: Mapping[EntryId, str]) -> dict[EntryId, str]:
    """
    *paths* without those in directories that are another page's still: what it gives its name to has no file yet.

    They wait until the other one has moved; before, they would go with it.
    """
    above = {row.place.parent for row in rows.values()} & paths.keys()
    directories = {entry: directory_of(paths[entry], rows[entry].kind) for entry in above if entry is not None}
    if not directories:
        return dict(paths)
    pages = [path for directory in directories.values() for path in owner_paths(directory)[:2]]
    async with sides.database.transaction(sides.tenant) as connection:
        bases = await states.load_bases(connection, sides.tenant, sides.mirror, states.Wanted(pages))
    owners = {(directory_of(base.path, base.kind), base.entry) for base in bases if base.path is not None}
    owned = {directory for directory, _ in owners}
    hosted = {one for one, directory in directories.items() if directory in owned and (directory, one) not in owners}
    return {entry: path for entry, path in paths.items() if not _is_below(entry, hosted, rows)}


def _is_below(entry: EntryId, hosts: set[EntryId], rows: Mapping[EntryId, Row]) -> bool:
    seen = {entry}
    while entry in rows and (parent := rows[entry].place.parent) is not None and parent not in seen:
        if parent in hosts:
            return True
        seen.add(parent)
        entry = parent
    return False


def resolve_paths(rows: Mapping[EntryId, Row], bases: Mapping[EntryId, Base]) -> dict[EntryId, str]:
    """
    The path of every row whose chain of parents is known: those of this batch by their rows, others by bases.

    A directory known by its base is where it will be when those of this batch that are above it have moved. One whose
    page's path another page of this batch gets is that page's from then on: what belongs in it waits until its own page
    is somewhere. So does what belongs in a directory that is still below it: rows are no circle, but that directory's
    own move is not of this batch.
    """
    paths = _resolved(rows, bases)
    whose = {path: entry for entry, path in paths.items()}
    staying = {
        entry: base for entry, base in bases.items() if entry in rows or whose.get(base.path or "", entry) == entry
    }
    return paths if len(staying) == len(bases) else _resolved(rows, staying)


def _resolved(rows: Mapping[EntryId, Row], bases: Mapping[EntryId, Base]) -> dict[EntryId, str]:
    paths: dict[EntryId, str] = {}
    shown = {entry: directory_of(base.path, base.kind) for entry, base in bases.items() if base.path is not None}
    moving = {path: entry for entry, path in shown.items() if entry in rows}
    under_way: set[EntryId] = set()

    def taken_along(path: str) -> str | None:
        above = parent_of(path)
        while above and above not in moving:
            above = parent_of(above)
        if not above:
            return path
        target = directory(moving[above])
        return None if target is None else target + path[len(above) :]

    def directory(entry: EntryId | None) -> str | None:
        if entry is None:
            return ""
        row = rows.get(entry)
        if row is not None and len(under_way) < DEEPEST:
            path = resolve(entry, row)
            return directory_of(path, row.kind) if path is not None else None
        path = shown.get(entry)
        return taken_along(path) if path is not None and row is None else path

    def resolve(entry: EntryId, row: Row) -> str | None:
        if entry not in paths:
            if entry in under_way:
                return None
            under_way.add(entry)
            above = directory(row.place.parent)
            under_way.remove(entry)
            if above is None:
                return None
            paths[entry] = path_in(above, row.kind, row.place)
        return paths[entry]

    for entry, row in rows.items():
        resolve(entry, row)
    return paths
