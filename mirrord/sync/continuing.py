"""Which entry a file continues of which no evidence of its own says whose it is."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from mirrord.codec.text import decode
from mirrord.db import sightings, states, views
from mirrord.db.connect import Connection
from mirrord.domain.entry import EMPTY, Digest, EntryId, Kind, id_of_path, parse_id
from mirrord.domain.state import NO_TEXT, Base, Row
from mirrord.sync.assembly import Assembly
from mirrord.sync.evidence import Found, Memory
from mirrord.sync.likeness import made_of
from mirrord.sync.look import Look
from mirrord.sync.sides import Sides

MOST = 100  # lost pages, and files, whose texts are compared: among more of them a likeness says little


async def continued(
    connection: Connection,
    sides: Sides,
    look: Look,
    memory: Memory,
    owners: dict[str, EntryId],
    rows: Mapping[EntryId, Row],
) -> dict[str, EntryId]:
    """
    *owners*, with strangers made continuations of what is lost or has no file.

    A file that says most of what a lost page said is that page: it was renamed, and saved anew before we looked. So is
    one at the path where a page began of which this mirror has recorded nothing yet.
    New pages at the place of a tombstone, or of a row that has no file here yet, continue that row. One with the very
    bytes of such a row of *rows*, where that was when it had them, was written for it by a daemon that did not live to
    record it, before the row was renamed.

    So do those at the place of a page whose file is missing, be it since an earlier look: its folder was renamed, and
    it was saved again. In a tree that meets its rows just now a directory's own row comes first, then what lies in it:
    so from the root down. At last a file that has the name and most of the text of such a row is that page, too: its
    folder was renamed before the daemon recorded anything.
    """
    owners = owners | await _made_of_lost(connection, sides, look, memory, owners)
    waiting = {row.entry: row.digest for row in rows.values() if row.entry not in memory.of_entry and not row.deleted}
    asked: set[_Place] = set()
    while True:
        places = Assembly(sides.looker.index, look, memory, owners)
        strangers = {place: path for place, path in _strangers(places).items() if place not in asked}
        taken = set(owners.values())
        continued = await _rows_at(connection, places, sides, strangers) if strangers else {}
        if unrecorded := {entry: digest for entry, digest in waiting.items() if entry not in taken}:
            continued = await _written_for(connection, sides, look, strangers, unrecorded) | continued
        if not continued:
            return owners | await _made_of_namesakes(connection, sides, look, memory, owners, rows)
        owners = owners | continued
        asked |= strangers.keys()


_Place = tuple[bool, EntryId | None, str]  # whether of an attachment; parent, name


def _strangers(places: Assembly) -> dict[_Place, str]:
    """Where files are of which no evidence says whose they are: paths by place."""
    found: dict[_Place, str] = {}
    for path, one in places.look.found.items():
        if not _is_known(one, places.owners[path], places.memory):
            with suppress(KeyError):
                found[one.spot.kind is Kind.ATTACHMENT, places.owner(one.spot.folder), one.spot.name] = path
    return found


async def _rows_at(
    connection: Connection, assembly: Assembly, sides: Sides, strangers: Mapping[_Place, str]
) -> dict[str, EntryId]:
    """By path, the entry that a file at that place continues. Adds to the memory which files of such are missing."""
    memory, taken = assembly.memory, set(assembly.owners.values())
    pages = [(parent, name) for is_attachment, parent, name in strangers if not is_attachment]
    attachments = [(parent, name) for is_attachment, parent, name in strangers if is_attachment]
    found: list[Row | Base] = []
    if pages:
        rows, bases = await states.rows_at(connection, sides.tenant, sides.mirror, pages)
        memory.add_missing([base for base in bases if assembly.is_missing(base) and base.entry not in memory.of_entry])
        found += rows
    if attachments:
        found += await states.attachments_at(connection, sides.tenant, sides.mirror, attachments)
    found += [base for base in memory.bases if base.path in memory.missing and base.kind is not Kind.ATTACHMENT]
    free = [one for one in found if one.entry not in taken]
    places = [((one.kind is Kind.ATTACHMENT, one.place.parent, one.place.name), one.entry) for one in free]
    return {strangers[place]: entry for place, entry in places if place in strangers}


async def _written_for(
    connection: Connection,
    sides: Sides,
    look: Look,
    strangers: Mapping[_Place, str],
    rows: Mapping[EntryId, Digest | None],
) -> dict[str, EntryId]:
    """By path, the row whose file it is. Bytes alone would not do: they may come from a template."""
    digests = {look.found[path].digest for path in strangers.values()} - {EMPTY, NO_TEXT}
    questions = [(entry, digest) for entry, digest in rows.items() if digest in digests]
    found = await sightings.places(connection, sides.tenant, questions) if questions else []
    at = [(strangers.get((False, parent, name)), entry, digest) for entry, digest, parent, name in found]
    return {path: entry for path, entry, digest in at if path is not None and look.found[path].digest == digest}


async def _made_of_lost(
    connection: Connection, sides: Sides, look: Look, memory: Memory, owners: Mapping[str, EntryId]
) -> dict[str, EntryId]:
    taken = set(owners.values())
    files = [found for path, found in look.found.items() if _is_strange_page(found, owners[path], memory)]
    lost = {base.entry: base.digest for base in memory.bases if _is_lost(base, memory)} | _unrecorded(
        sides, files, memory
    )
    lost = {entry: digest for entry, digest in lost.items() if entry not in taken}
    if not (lost and files) or max(len(lost), len(files)) > MOST:
        return {}
    texts = await views.texts_of_digests(connection, sides.tenant, lost)
    claims = {entry: memory.of_entry[entry].claimed if entry in memory.of_entry else None for entry in texts}
    made = made_of(texts, {found.path: decode(found.data) for found in files if found.data is not None})
    return {path: entry for path, entry in made.items() if claims[entry] == look.found[path].claimed}


async def _made_of_namesakes(
    connection: Connection,
    sides: Sides,
    look: Look,
    memory: Memory,
    owners: Mapping[str, EntryId],
    rows: Mapping[EntryId, Row],
) -> dict[str, EntryId]:
    """By path, the row of *rows* without a file here that has the file's name and most of whose text the file has."""
    strange = [found for path, found in look.found.items() if _is_strange_page(found, owners[path], memory)]
    names, taken = {found.spot.name for found in strange if owners[found.path] not in rows}, set(owners.values())
    waiting = [row for row in rows.values() if row.place.name in names and row.entry not in taken]
    pages = {row.entry: row.digest for row in waiting if _is_unrecorded_page(row, memory) and row.digest is not None}
    files = {
        found.path: decode(found.data)
        for found in strange
        if found.data is not None and owners[found.path] not in rows and found.claimed is None
    }
    if not (pages and files) or max(len(pages), len(files)) > MOST:
        return {}
    made = made_of(await views.texts_of_digests(connection, sides.tenant, pages), files)
    return {path: entry for path, entry in made.items() if rows[entry].place.name == look.found[path].spot.name}


def _unrecorded(sides: Sides, files: Sequence[Found], memory: Memory) -> dict[EntryId, Digest]:
    """
    Pages that began at the paths of *files* and have no base here, with what they say now.

    This tree may have got their files, and the rows may have been moved, before anything was recorded.
    """
    homes = (memory.rows.get(id_of_path(sides.tenant, found.path)) for found in files)
    pages = (row for row in homes if row is not None and _is_unrecorded_page(row, memory))
    return {row.entry: row.digest for row in pages if row.digest is not None}


def _is_unrecorded_page(row: Row, memory: Memory) -> bool:
    """Whether *row* is a living page that says something, and of which this mirror has no base."""
    says_something = row.digest is not None and row.digest not in (EMPTY, NO_TEXT)
    return says_something and row.kind is Kind.PAGE and not row.deleted and row.entry not in memory.of_entry


def _is_lost(base: Base, memory: Memory) -> bool:
    return memory.is_lost(base) and base.kind is Kind.PAGE and base.digest not in (EMPTY, NO_TEXT)


def _is_strange_page(found: Found, owner: EntryId, memory: Memory) -> bool:
    return found.spot.kind is Kind.PAGE and not _is_known(found, owner, memory)


def _is_known(found: Found, owner: EntryId, memory: Memory) -> bool:
    """Whether evidence says whose file it is. A record is what it is called: a tombstone's path says nothing."""
    row = memory.rows.get(owner)
    if row is not None and row.deleted and found.spot.kind is Kind.RECORD:
        row = None
    return owner in memory.of_entry or row is not None or parse_id(found.claimed) is not None
