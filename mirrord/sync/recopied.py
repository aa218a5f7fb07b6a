"""Files that were copied again to a path from which a twin was made: `rsync` copies files that its target lacks."""

from collections.abc import Iterator

from mirrord.db import names
from mirrord.db.connect import Connection
from mirrord.domain.entry import EMPTY_DIGEST, Kind, TenantId, id_of_path, parse_id
from mirrord.domain.place import name_key, numbered_attachment, numbered_name
from mirrord.domain.state import Base
from mirrord.mirror.layout import parent_of
from mirrord.sync.evidence import EarlierState, FoundFile
from mirrord.sync.look import LookResult
from mirrord.sync.sides import Sides
from mirrord.sync.twins import MAX_TWINS

_COPIED_KINDS = (Kind.PAGE, Kind.ATTACHMENT)


async def take_recopied(
    connection: Connection, sides: Sides, look: LookResult, memory: EarlierState
) -> dict[str, Base]:
    """
    Remove files from *look* that are a copy, or a save, of the twin made of their path; returns them with the twins.

    Only while a sibling still has the name: else a file may have it.
    """
    recopied: dict[str, Base] = {}
    for path, file in list(look.found_files.items()):
        twin = twin_of(file, memory, sides.tenant)
        if twin is not None and await _is_name_taken(connection, sides, twin, file.spot.name):
            recopied[path] = twin
            del look.found_files[path]
    return recopied


def twin_of(file: FoundFile, memory: EarlierState, tenant: TenantId) -> Base | None:
    """
    The page or attachment beside *file* that has its name with a number, and was made of it.

    It has the id of that path, or the same `id:`, or the same bytes. A page may have changed since: then *file* is a
    save of it. An attachment must be equal.
    """
    if file.spot.kind not in _COPIED_KINDS or file.path in memory.base_at_path:
        return None
    candidates = (base for base in _find_candidates(file, memory, tenant) if _is_beside(base, file, memory))
    return next((base for base in candidates if base.kind is Kind.PAGE or base.digest == file.digest), None)


def _find_candidates(file: FoundFile, memory: EarlierState, tenant: TenantId) -> Iterator[Base]:
    entries = (id_of_path(tenant, file.path), parse_id(file.claimed))
    same_id = [memory.base_of_entry[entry] for entry in entries if entry is not None and entry in memory.base_of_entry]
    same_bytes = memory.bases_of_digest.get(file.digest, ()) if file.digest != EMPTY_DIGEST else ()
    yield from (base for base in (*same_id, *same_bytes) if base.claimed == file.claimed)


def _is_beside(base: Base, file: FoundFile, memory: EarlierState) -> bool:
    """Whether the file of *base* is in the directory of *file*, and has its name with a number."""
    if base.path is None or memory.is_lost(base) or base.kind is not file.spot.kind:
        return False
    if parent_of(base.path) != parent_of(file.path) or base.place.index != file.spot.index:
        return False
    number = base.place.name.rpartition(" (")[2].partition(")")[0]
    if not (number.isascii() and number.isdigit() and 2 <= int(number[:5]) <= MAX_TWINS):
        return False
    suffixed = numbered_attachment if base.kind is Kind.ATTACHMENT else numbered_name
    return suffixed(file.spot.name, int(number)) == base.place.name


async def _is_name_taken(connection: Connection, sides: Sides, twin: Base, name: str) -> bool:
    key, is_attachment = name_key(name), twin.kind is Kind.ATTACHMENT
    return key in await names.load_names_in_use(
        connection, sides.tenant, twin.entry, twin.place.parent, [key], attachment=is_attachment
    )
