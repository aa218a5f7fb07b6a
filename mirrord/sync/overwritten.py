"""Texts that commands wrote and somebody overwrote before the daemon looked: each becomes a version, or is merged."""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass

from psycopg.errors import UniqueViolation

from mirrord.codec.text import decode
from mirrord.db import sightings, states, views
from mirrord.domain.entry import Digest, EntryId, Kind, digest_of
from mirrord.domain.state import Base, Row
from mirrord.errors import Busy, Damaged, Refused, Stale
from mirrord.mirror import copies
from mirrord.mirror.label import Label
from mirrord.sync.clash import Clash
from mirrord.sync.merge import merge
from mirrord.sync.merging import store_merged
from mirrord.sync.sides import Sides
from mirrord.sync.stale import merge_base

log = logging.getLogger(__name__)

ROWLESS = 3600.0  # seconds a copy waits for the row of its page


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of the pages of copies. versions: the texts of copies that are in the history."""

    bases: Mapping[EntryId, Base]
    rows: Mapping[EntryId, Row]
    versions: frozenset[tuple[EntryId, Digest]]


async def take_in(sides: Sides, labels: Mapping[str, Label]) -> list[EntryId]:
    """
    Drop copies of what became a version; of what did not and is no longer in place, make one. Entries to look at.

    labels: of the copies, by their name in the journal.
    """
    known = await _load(sides, labels)
    entries = []
    for name, label in labels.items():
        assert label.new is not None
        if (label.entry, label.new) in known.versions:
            sides.journal.discard(name)
        elif label.entry not in known.rows:
            await asyncio.to_thread(_wait_for_row, sides, name, label)
        elif known.rows[label.entry].deleted:
            await asyncio.to_thread(copies.retire, sides.journal, name, label)
        elif await asyncio.to_thread(_is_overwritten, sides, label, known):
            entries += await _keep(sides, name, label, known.rows[label.entry])
    return entries


async def _load(sides: Sides, labels: Mapping[str, Label]) -> _Known:
    pages = list({label.entry for label in labels.values()})
    digests = [(label.entry, label.new) for label in labels.values() if label.new is not None]
    async with sides.database.transaction(sides.tenant) as connection:
        wanted = states.Wanted(entries=pages)
        bases, rows = await states.load_both(connection, sides.tenant, sides.mirror, wanted, pages)
        seen = await sightings.texts(connection, sides.tenant, digests)
    return _Known({base.entry: base for base in bases}, rows, seen)


def _wait_for_row(sides: Sides, name: str, label: Label) -> None:
    found = sides.tree.stat(f"{sides.journal.path}/{name}")
    if found is not None and time.time() - found.ctime_ns / 1e9 > ROWLESS:
        copies.retire(sides.journal, name, label)


def _is_overwritten(sides: Sides, label: Label, known: _Known) -> bool:
    """Whether the file holds something else for sure, which both sides agree on; and nobody who saw it replaced it."""
    base, row = known.bases.get(label.entry), known.rows[label.entry]
    if base is None or base.path is None or (base.version, base.digest) != (row.version, row.digest) or row.ahead:
        return False
    try:
        if sides.tree.digest(base.path)[0] != base.digest:
            return False
    except (Busy, Refused, OSError):
        return False
    return row.kind in (Kind.PAGE, Kind.RECORD)


async def _keep(sides: Sides, name: str, label: Label, row: Row) -> list[EntryId]:
    if await asyncio.to_thread(copies.was_replaced, sides.tree, label):
        sides.journal.discard(name)
        return []
    if row.kind is Kind.RECORD:  # merging what its key means now with what a command meant would be a guess
        await asyncio.to_thread(copies.retire, sides.journal, name, label)
        return []
    try:
        data = await asyncio.to_thread(sides.journal.read, name)
        if digest_of(data) == label.new:  # else a crash cut it short, and the text never got to its place
            await _store(sides, label, row, data)
    except (Stale, Busy):
        return [label.entry]  # another time
    except UniqueViolation as error:
        if error.diag.constraint_name != "page_revision_by_operation":
            raise
    except Damaged as error:
        log.warning("copy_in_trash", extra={"entry": str(label.entry), "error": str(error)})
        await asyncio.to_thread(copies.retire, sides.journal, name, label)
        return []
    sides.journal.discard(name)
    log.info("copy_taken_in", extra={"entry": str(label.entry)})
    return [label.entry]


async def _store(sides: Sides, label: Label, row: Row, data: bytes) -> None:
    """
    The text a command wrote becomes a version, then the row's text the newest again.

    If whoever overwrote it did not know of it, the newest has the command's change as well.
    """
    text, before = decode(data), None
    async with sides.database.transaction(sides.tenant) as connection:
        version, now = (await views.load_texts(connection, sides.tenant, [label.entry])).get(label.entry, (0, None))
        if label.expected is not None:
            before = await views.text_of_digest(connection, sides.tenant, label.entry, label.expected)
    if version != row.version or now is None:
        raise Stale("The row changed meanwhile.")
    joined = None
    if before is not None and merge_base([before], text, now) is not None:
        joined = await asyncio.to_thread(merge, before, now, text)
    clash = Clash(row, row.place.name, row.place, data, label.expected, None, None)
    await store_merged(sides, clash, joined if joined is not None else now, (before, text, now))
