"""Conflicts of records: merge both sides by key, or keep the row and list the file's text as a conflict."""

import asyncio
from dataclasses import replace

from mirrord.codec.text import decode
from mirrord.db import conflicts, records
from mirrord.db.conflicts import ConflictRow
from mirrord.db.records import RecordRow
from mirrord.db.writes import run_statements
from mirrord.domain.entry import FILE_ACTOR, EntryId, Kind, digest_of
from mirrord.domain.record import sort_of
from mirrord.errors import Damaged, Stale
from mirrord.sync.clash import UnmergedConflict
from mirrord.sync.record_merge import merge_record
from mirrord.sync.recorded import record_text
from mirrord.sync.sides import DAEMON_ACTOR, Sides


async def merge_record_conflict(sides: Sides, clash: UnmergedConflict) -> list[EntryId]:
    """
    Take both sides into the row; returns the entries to look at afterwards.

    Raises:
        Stale: the row changed meanwhile; nothing was written.
        Damaged: the file cannot be read; both sides stay as they are until it is repaired.
    """
    async with sides.database.transaction(sides.tenant) as connection:
        rows = await records.load_records(connection, sides.tenant, [clash.row.entry])
        base = None
        if clash.ancestor is not None:
            base = await records.load_text_of_digest(connection, sides.tenant, clash.row.entry, clash.ancestor)
    if not rows or rows[0].version != clash.row.version:
        raise Stale(f"The row of {clash.path!r} changed meanwhile.")
    file = decode(clash.data)
    merged = await asyncio.to_thread(_merge_texts, clash, rows[0], base, file)
    if merged is None:
        await _keep_both(sides, clash, (base, file, rows[0].text))
    else:
        await _store_merged(sides, clash, merged, file)
    return [clash.row.entry]


def _merge_texts(clash: UnmergedConflict, row: RecordRow, base: str | None, file: str) -> str | None:
    if clash.row.deleted or row.is_unrendered or row.text is None:
        return None
    try:
        return merge_record(sort_of(clash.row.place.name).form, base, file, row.text)
    except Damaged as error:
        if clash.base is None:  # the text is in no file any more, so it cannot be repaired there
            return None
        sentence = f"{clash.path!r}: {error}. Its row changed too; both stay as they are until the file is mended."
        raise Damaged(sentence) from error


async def _store_merged(sides: Sides, clash: UnmergedConflict, merged: str, file: str) -> None:
    """Store the file's text as a version and the merge as the next; the file follows as after any change of a row."""
    name, version, entry = clash.row.place.name, clash.row.version, clash.row.entry
    texts = [file] if merged == file else [file, merged]
    statements = [
        sides.writer.rewrite(entry, version + number, digest_of(text.encode()), record_text(name, text))
        for number, text in enumerate(texts)
    ]
    async with sides.database.transaction(sides.tenant, sides.fence, FILE_ACTOR) as connection:
        if None in await run_statements(connection, statements):
            raise Stale(f"The row of {clash.path!r} changed meanwhile.")
        if clash.base is not None:
            await run_statements(connection, [sides.writer.store_base(replace(clash.base, saved=version + 1))])


async def _keep_both(sides: Sides, clash: UnmergedConflict, texts: tuple[str | None, str, str | None]) -> None:
    """Keep the file's text in table `conflict`: a directory of records holds nothing else, so there is no sibling."""
    row = clash.row
    conflict = ConflictRow(row.entry, None, clash.path, Kind.RECORD, row.version, *texts)
    async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
        if clash.base is not None:
            await run_statements(connection, [sides.writer.store_base(clash.base)])
        await conflicts.add_conflict(connection, sides.tenant, sides.mirror, conflict)
