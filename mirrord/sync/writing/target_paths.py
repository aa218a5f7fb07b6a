"""Where the files of rows belong: from places to paths, and back to the directory of a place."""

from collections.abc import Mapping, Set
from dataclasses import replace

from mirrord.db.content import entry_states
from mirrord.db.database import Connection
from mirrord.domain.entry import Base, EntryId, File, Kind, Place, Row
from mirrord.domain.place import ASSETS, record_path
from mirrord.mirror.tree.tree_layout import attachment_path, directory_of, page_path, parent_of
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.state_assembly import owner_paths


def path_in(directory: str, kind: Kind, place: Place) -> str:
    """The path of an entry in the directory of its parent."""
    if kind is Kind.ATTACHMENT:
        return attachment_path(directory, place.name)
    if kind is Kind.RECORD:
        return record_path(place.name)
    if kind is Kind.FOLDER:
        return f"{directory}/{place.name}" if directory else place.name
    return page_path(directory, place.name, place.index)


def directory_above(path: str, kind: Kind, *, index: bool) -> str:
    """The directory of the parent of the entry at *path*."""
    if kind is Kind.RECORD:
        return ""
    if kind is Kind.ATTACHMENT and f"/{ASSETS}/" in f"/{path}":
        return f"/{path}".partition(f"/{ASSETS}/")[0].lstrip("/")
    return parent_of(parent_of(path)) if index else parent_of(path)


def agreed_base(base: Base, file: File, row: Row) -> Base:
    """*base* with the text that both sides have; unchanged if they differ, or are of another kind than the base."""
    if file.digest != row.digest or not (base.digest == file.digest or base.kind is file.kind is row.kind):
        return base
    return replace(base, version=row.version, digest=file.digest, claimed=file.claimed)


def moved_base(base: Base, kind: Kind, path: str, place: Place) -> Base:
    """
    The base after an entry shown as *kind* moved to *path*, its *place*; its content is still that of *base*.

    A page that lost its file, or a folder that got one, keeps its kind in the base, with the path that its file or
    its directory would have there.
    """
    if base.kind is kind:
        return replace(base, path=path, place=place)
    directory, index = directory_of(path, kind), base.place.index
    base_path = directory if base.kind is Kind.FOLDER else page_path("", directory, index)
    return replace(base, path=base_path, place=replace(place, index=index))


MAX_DEPTH = 200  # nested directories of one batch whose moves are followed


async def target_paths(connection: Connection, sides: Sides, rows: Mapping[EntryId, Row]) -> dict[EntryId, str]:
    """The path of every row; rows whose parent has no path yet are left out."""
    parents = {row.place.parent for row in rows.values() if row.place.parent is not None}
    query = entry_states.BaseKeys(entries=list(parents | rows.keys()))
    bases = await entry_states.load_bases(connection, sides.tenant, sides.mirror, query)
    return resolve_paths(rows, {base.entry: base for base in bases})


async def without_hosted(
    sides: Sides,
    rows: Mapping[EntryId, Row],
    paths: Mapping[EntryId, str],
    owners: Set[EntryId],
    leaving: Set[EntryId] = frozenset(),
) -> dict[EntryId, str]:
    """
    *paths* without those in directories of *owners* that another page or folder still owns.

    They wait until that has moved, or is deleted: else they would move with it. leaving: entries that move now.
    """
    parents = {row.place.parent for row in rows.values()} & paths.keys() & owners
    directories = {entry: directory_of(paths[entry], rows[entry].kind) for entry in parents if entry is not None}
    if not directories:
        return dict(paths)
    candidates = [path for directory in directories.values() for path in owner_paths(directory)]
    async with sides.database.transaction(sides.tenant) as connection:
        keys = entry_states.BaseKeys(candidates)
        bases = await entry_states.load_bases(connection, sides.tenant, sides.mirror, keys)
        strangers = {base.entry for base in bases} - directories.keys()
        stranger_rows = await entry_states.load_rows(connection, sides.tenant, strangers) if strangers else {}
    going = leaving | {entry for entry, row in stranger_rows.items() if row.deleted}
    owned = {
        (directory_of(base.path, base.kind), base.entry)
        for base in bases
        if base.path is not None and base.entry not in going
    }
    occupied = {directory for directory, _ in owned}
    hosted = {
        entry for entry, directory in directories.items() if directory in occupied and (directory, entry) not in owned
    }
    return without_content(hosted, rows, paths)


def without_content(
    owners: Set[EntryId], rows: Mapping[EntryId, Row], paths: Mapping[EntryId, str]
) -> dict[EntryId, str]:
    """*paths* without those of *rows* that lie below *owners*."""
    return {entry: path for entry, path in paths.items() if not _is_below_any(entry, owners, rows)}


def split_into_generations(rows: Mapping[EntryId, Row]) -> list[set[EntryId]]:
    """The entries of *rows*, parents before their children: each generation has its parents in earlier ones."""
    generations: list[set[EntryId]] = []
    waiting = dict(rows)
    while waiting:
        oldest = {entry for entry, row in waiting.items() if row.place.parent not in waiting}
        generations.append(oldest or set(waiting))  # rows that were read one by one may form a circle
        waiting = {entry: row for entry, row in waiting.items() if entry not in generations[-1]}
    return generations


def _is_below_any(entry: EntryId, hosts: Set[EntryId], rows: Mapping[EntryId, Row]) -> bool:
    visited = {entry}
    while entry in rows and (parent := rows[entry].place.parent) is not None and parent not in visited:
        if parent in hosts:
            return True
        visited.add(parent)
        entry = parent
    return False


def resolve_paths(rows: Mapping[EntryId, Row], bases: Mapping[EntryId, Base]) -> dict[EntryId, str]:
    """
    The path of every row whose chain of parents is known: parents of this batch by their rows, others by bases.

    A directory known by its base has the path after the moves of this batch above it. If another page of this batch
    gets the path of its page, the directory becomes that page's: its own children wait until their page has a path.
    So do children of a directory that is still below it: rows form no circle, but that directory's own move is not of
    this batch.
    """
    paths = _resolve(rows, bases)
    owner_of = {path: entry for entry, path in paths.items()}
    still_owning = {
        entry: base for entry, base in bases.items() if entry in rows or owner_of.get(base.path or "", entry) == entry
    }
    return paths if len(still_owning) == len(bases) else _resolve(rows, still_owning)


def _resolve(rows: Mapping[EntryId, Row], bases: Mapping[EntryId, Base]) -> dict[EntryId, str]:
    paths: dict[EntryId, str] = {}
    base_directories = {
        entry: directory_of(base.path, base.kind) for entry, base in bases.items() if base.path is not None
    }
    moving = {path: entry for entry, path in base_directories.items() if entry in rows}
    under_way: set[EntryId] = set()

    def after_moves(path: str) -> str | None:
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
        if row is not None and len(under_way) < MAX_DEPTH:
            path = resolve(entry, row)
            return directory_of(path, row.kind) if path is not None else None
        path = base_directories.get(entry)
        return after_moves(path) if path is not None and row is None else path

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
