"""Conflicts: merge both sides, or keep the row's text under the name and the file's in a conflict sibling."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from psycopg.errors import UniqueViolation

from mirrord.codec.text import decode
from mirrord.db import blobs, buffers, conflicts, views
from mirrord.db.conflicts import ConflictRow
from mirrord.db.connect import Connection, set_parents
from mirrord.db.writes import AttachmentContent, run_statements
from mirrord.domain.entry import FILE_ACTOR, Digest, EntryId, Kind, Place, digest_of, new_id, operation_id
from mirrord.errors import Stale
from mirrord.sync.bodies import conflict_name, media_type_of, text_of, with_id
from mirrord.sync.clash import UnmergedConflict
from mirrord.sync.merge import merge
from mirrord.sync.record_clash import merge_record_conflict
from mirrord.sync.sides import DAEMON_ACTOR, Sides


async def merge_conflict(sides: Sides, clash: UnmergedConflict) -> list[EntryId]:
    """
    Take both sides into the rows; returns the entries to look at afterwards.

    Raises:
        Stale: the row changed meanwhile; nothing was written.
        Damaged: the file's bytes are not text.
    """
    try:
        return await _merge_or_keep_both(sides, clash)
    except UniqueViolation as error:
        if error.diag.constraint_name != "page_revision_by_operation":
            raise
        await _record_kept_file(sides, clash)
        return [clash.row.entry]


async def _record_kept_file(sides: Sides, clash: UnmergedConflict) -> None:
    """
    Record that the file's bytes are kept, so that the row's text may replace them.

    An editor saved the same bytes from the same text twice, or the reply to the commit that kept them was lost.
    """
    if clash.base is not None:
        async with sides.database.transaction(sides.tenant, sides.fence) as connection:
            await run_statements(connection, [sides.writer.store_base(clash.base)])


async def _merge_or_keep_both(sides: Sides, clash: UnmergedConflict) -> list[EntryId]:
    entry = clash.row.entry
    if clash.stale and clash.ancestor == digest_of(clash.data):
        await _record_kept_file(sides, clash)
        return [entry]
    if clash.row.kind is Kind.RECORD:
        return await merge_record_conflict(sides, clash)
    if clash.row.kind is Kind.ATTACHMENT or clash.row.deleted:
        return [entry, await _keep_both(sides, clash, None, None)]
    async with sides.database.transaction(sides.tenant) as connection:
        texts = await views.load_texts(connection, sides.tenant, [entry])
        version, row_text = texts.get(entry, (0, None))
        base_text = await _load_ancestor_text(connection, sides, entry, clash.ancestor)
    if version != clash.row.version:
        raise Stale(f"The row of {clash.path!r} changed meanwhile.")
    file_text = decode(clash.data)
    merged = None
    if base_text is not None and row_text is not None:
        merged = await asyncio.to_thread(merge, base_text, file_text, row_text)
    if merged is None:
        return [entry, await _keep_both(sides, clash, base_text, row_text)]
    await store_merged(sides, clash, merged, (base_text, file_text, row_text))
    return [entry]


async def _load_ancestor_text(
    connection: Connection, sides: Sides, entry: EntryId, digest: Digest | None
) -> str | None:
    return await views.load_text_of_digest(connection, sides.tenant, entry, digest) if digest else None


async def store_merged(
    sides: Sides, clash: UnmergedConflict, merged: str, texts: tuple[str | None, str, str | None]
) -> None:
    """
    Store the file's text as a version and the merge as the next; the file follows as after any change of a row.

    texts: of the ancestor, the file and the row.
    """
    entry, version, writer = clash.row.entry, clash.row.version, sides.writer
    ancestor_version = version if clash.ancestor_version is None else clash.ancestor_version
    save_file = writer.rewrite(entry, version, digest_of(clash.data), text_of(texts[1]), _operation_of(sides, clash))
    save_merge = writer.rewrite(entry, version + 1, digest_of(merged.encode()), text_of(merged))
    async with sides.database.transaction(sides.tenant, sides.fence, FILE_ACTOR) as connection:
        await set_parents(connection, [ancestor_version])
        file_results = await run_statements(connection, [save_file])
        await set_parents(connection, [version, version + 1])
        merge_results = await run_statements(connection, [save_merge])
        if None in (*file_results, *merge_results):
            raise Stale(f"The row of {clash.path!r} changed meanwhile.")
        if clash.base is not None:
            await run_statements(connection, [writer.store_base(replace(clash.base, saved=version + 1))])
        if clash.stale:
            await buffers.add_merged_buffer(connection, sides.tenant, sides.mirror, entry, clash.path, texts, version)


def _operation_of(sides: Sides, clash: UnmergedConflict) -> UUID:
    ancestor_version = clash.row.version if clash.ancestor_version is None else clash.ancestor_version
    return operation_id(sides.mirror, clash.row.entry, ancestor_version, digest_of(clash.data))


async def _keep_both(sides: Sides, clash: UnmergedConflict, base_text: str | None, row_text: str | None) -> EntryId:
    """Keep the row under the name; make the file's bytes a sibling, listed as a conflict."""
    sibling, writer = new_id(), sides.writer
    moment = datetime.now(UTC).strftime("%Y-%m-%d %H%M%SZ")
    name = conflict_name(clash.row.kind, clash.place.name, moment, sides.mirror.hex[:6])
    place = Place(clash.place.parent, name)
    data = clash.data if clash.row.kind is Kind.ATTACHMENT else with_id(decode(clash.data), sibling).encode()
    body = (
        AttachmentContent(len(data), media_type_of(clash.path))
        if clash.row.kind is Kind.ATTACHMENT
        else text_of(decode(data))
    )
    async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
        if isinstance(body, AttachmentContent):
            await blobs.store_blob(connection, sides.tenant, digest_of(data), data)
        statements = [writer.insert_unplaced(sibling, place, digest_of(data), body, _operation_of(sides, clash))]
        await run_statements(
            connection, statements + ([writer.store_base(clash.base)] if clash.base is not None else [])
        )
        await conflicts.add_conflict(
            connection, sides.tenant, sides.mirror, _conflict_row(clash, sibling, base_text, row_text)
        )
    return sibling


def _conflict_row(
    clash: UnmergedConflict, sibling: EntryId, base_text: str | None, row_text: str | None
) -> ConflictRow:
    row = clash.row
    if row.kind is Kind.ATTACHMENT:
        digests = (clash.ancestor, digest_of(clash.data), row.digest)
        return ConflictRow(row.entry, sibling, clash.path, row.kind, row.version, None, None, None, *digests)
    return ConflictRow(row.entry, sibling, clash.path, Kind.PAGE, row.version, base_text, decode(clash.data), row_text)
