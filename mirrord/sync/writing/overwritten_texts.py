"""Texts of commands that were overwritten before the daemon looked: each becomes a version or is merged."""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass

from psycopg.errors import UniqueViolation

from mirrord.db.content import derived_rows, entry_states, stored_bytes
from mirrord.domain.entry import Base, Digest, EntryId, Kind, Row, digest_of
from mirrord.errors import Busy, Damaged, Refused, Stale
from mirrord.markdown.frontmatter.page_text import decode
from mirrord.merge.edit_merge import merge
from mirrord.mirror.write import written_copies
from mirrord.mirror.write.journal_labels import Label
from mirrord.sync.decisions.stale_buffers import merge_base
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.writing.conflict_merge import UnmergedConflict, store_merged

log = logging.getLogger(__name__)

ROWLESS_SECONDS = 3600.0  # seconds a copy waits for the row of its page


@dataclass(frozen=True, slots=True)
class _PageStates:
    """Bases and rows of the pages that copies belong to. versions: texts of copies that are in the history."""

    bases: Mapping[EntryId, Base]
    rows: Mapping[EntryId, Row]
    versions: frozenset[tuple[EntryId, Digest]]


async def take_in_copies(sides: Sides, labels: Mapping[str, Label]) -> list[EntryId]:
    """
    Drop copies of texts that became versions; make versions of the others that are not in place. Entries to look at.

    labels: of the copies, by their name in the journal.
    """
    page_states = await _load_states(sides, labels)
    entries = []
    for name, label in labels.items():
        assert label.new is not None
        if (label.entry, label.new) in page_states.versions:
            sides.journal.discard(name)
        elif label.entry not in page_states.rows:
            await asyncio.to_thread(_wait_for_row, sides, name, label)
        elif page_states.rows[label.entry].deleted:
            await asyncio.to_thread(written_copies.move_to_trash, sides.journal, name, label)
        elif await asyncio.to_thread(_is_overwritten, sides, label, page_states):
            entries += await _take_copy_in(sides, name, label, page_states.rows[label.entry])
    return entries


async def _load_states(sides: Sides, labels: Mapping[str, Label]) -> _PageStates:
    pages = list({label.entry for label in labels.values()})
    digests = [(label.entry, label.new) for label in labels.values() if label.new is not None]
    async with sides.database.transaction(sides.tenant) as connection:
        query = entry_states.BaseKeys(entries=pages)
        bases, rows = await entry_states.load_bases_and_rows(connection, sides.tenant, sides.mirror, query, pages)
        versions = await stored_bytes.find_texts(connection, sides.tenant, digests)
    return _PageStates({base.entry: base for base in bases}, rows, versions)


def _wait_for_row(sides: Sides, name: str, label: Label) -> None:
    stat = sides.tree.stat(f"{sides.journal.path}/{name}")
    if stat is not None and time.time() - stat.ctime_ns / 1e9 > ROWLESS_SECONDS:
        written_copies.move_to_trash(sides.journal, name, label)


def _is_overwritten(sides: Sides, label: Label, page_states: _PageStates) -> bool:
    """Whether the file certainly holds another text than the command's, the one that base and row agree on."""
    base, row = page_states.bases.get(label.entry), page_states.rows[label.entry]
    if base is None or base.path is None or (base.version, base.digest) != (row.version, row.digest) or row.ahead:
        return False
    try:
        if sides.tree.digest(base.path)[0] != base.digest:
            return False
    except (Busy, Refused, OSError):
        return False
    return row.kind in (Kind.PAGE, Kind.RECORD)


async def _take_copy_in(sides: Sides, name: str, label: Label, row: Row) -> list[EntryId]:
    if await asyncio.to_thread(written_copies.was_replaced, sides.tree, label):
        sides.journal.discard(name)
        return []
    if row.kind is Kind.RECORD:  # its key may mean something else now, so a merge would be a guess
        await asyncio.to_thread(written_copies.move_to_trash, sides.journal, name, label)
        return []
    try:
        data = await asyncio.to_thread(sides.journal.read, name)
        if digest_of(data) == label.new:  # else a crash truncated it, and the text never reached its file
            await _store_version(sides, label, row, data)
    except (Stale, Busy):
        return [label.entry]  # another time
    except UniqueViolation as error:
        if error.diag.constraint_name != "page_revision_by_operation":
            raise
    except Damaged as error:
        log.warning("copy_in_trash", extra={"entry": str(label.entry), "error": str(error)})
        await asyncio.to_thread(written_copies.move_to_trash, sides.journal, name, label)
        return []
    sides.journal.discard(name)
    log.info("copy_taken_in", extra={"entry": str(label.entry)})
    return [label.entry]


async def _store_version(sides: Sides, label: Label, row: Row, data: bytes) -> None:
    """
    Store the command's text as a version, then the row's text as the newest again.

    If the text that overwrote it was made without it, the newest has the command's change as well.
    """
    command_text, expected_text = decode(data), None
    async with sides.database.transaction(sides.tenant) as connection:
        version, row_text = (await derived_rows.load_texts(connection, sides.tenant, [label.entry])).get(
            label.entry, (0, None)
        )
        if label.expected is not None:
            expected_text = await derived_rows.load_text_of_digest(
                connection, sides.tenant, label.entry, label.expected
            )
    if version != row.version or row_text is None:
        raise Stale("The row changed meanwhile.")
    merged = None
    if expected_text is not None and merge_base([expected_text], command_text, row_text) is not None:
        merged = await asyncio.to_thread(merge, expected_text, row_text, command_text)
    clash = UnmergedConflict(row, row.place.name, row.place, data, label.expected, None, None)
    await store_merged(
        sides, clash, merged if merged is not None else row_text, (expected_text, command_text, row_text)
    )
