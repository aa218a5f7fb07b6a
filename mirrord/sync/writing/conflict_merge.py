"""Both sides changed: merge, or keep the row's text under the name and the file's in a conflict sibling."""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

from psycopg.errors import UniqueViolation

from mirrord.db import open_issues
from mirrord.db.content import derived_rows, entry_states, record_rows, stored_bytes
from mirrord.db.content.entry_writes import AttachmentContent, PageValues, Statement, run_statements
from mirrord.db.content.record_rows import RecordRow, record_text
from mirrord.db.database import Connection, set_parents
from mirrord.db.open_issues import ConflictRow
from mirrord.domain.entry import (
    FILE_ACTOR,
    Base,
    Digest,
    EntryId,
    File,
    Kind,
    Place,
    Row,
    State,
    digest_of,
    new_id,
    operation_id,
)
from mirrord.domain.place import record_sort_of
from mirrord.errors import Damaged, Stale
from mirrord.markdown.frontmatter.page_text import PageText, decode
from mirrord.merge.edit_merge import merge, merge_record
from mirrord.sync.observation.mirror_handles import DAEMON_ACTOR, Sides
from mirrord.sync.writing.entry_bodies import conflict_name, media_type_of, text_of, with_id


@dataclass(frozen=True, slots=True)
class UnmergedConflict:
    """
    Bytes of a file whose row changed differently.

    ancestor: digest of the common ancestor; None: unknown.
    base: the base after the merge; None: the file with these bytes is no longer in the tree.
    stale: an editor made the bytes from a text that was no longer in the file.
    """

    row: Row
    path: str
    place: Place
    data: bytes
    ancestor: Digest | None
    ancestor_version: int | None
    base: Base | None
    stale: bool = False


def conflict_of(state: State, data: bytes) -> UnmergedConflict:
    """The conflict of an entry that has both a file and a row."""
    row, file, base = state.row, state.file, state.base
    assert row is not None
    assert isinstance(file, File)
    place = base.place if base is not None else file.place
    agreed = Base(state.entry, file.kind, file.path, place, row.version, file.digest, file.claimed)
    if base is None:
        return UnmergedConflict(row, file.path, row.place, data, None, None, agreed)
    return UnmergedConflict(row, file.path, row.place, data, base.digest, base.version, agreed)


async def merge_record_conflict(sides: Sides, clash: UnmergedConflict) -> list[EntryId]:
    """
    Take both sides into the row; returns the entries to look at afterwards.

    Raises:
        Stale: the row changed meanwhile; nothing was written.
        Damaged: the file cannot be read; both sides stay as they are until it is repaired.
    """
    async with sides.database.transaction(sides.tenant) as connection:
        rows = await record_rows.load_records(connection, sides.tenant, [clash.row.entry])
        base = None
        if clash.ancestor is not None:
            base = await record_rows.load_text_of_digest(connection, sides.tenant, clash.row.entry, clash.ancestor)
    if not rows or rows[0].version != clash.row.version:
        raise Stale(f"The row of {clash.path!r} changed meanwhile.")
    file = decode(clash.data)
    merged = await asyncio.to_thread(_merge_texts, clash, rows[0], base, file)
    if merged is None:
        await _keep_record_conflict(sides, clash, (base, file, rows[0].text))
    else:
        await _store_merged(sides, clash, merged, file)
    return [clash.row.entry]


def _merge_texts(clash: UnmergedConflict, row: RecordRow, base: str | None, file: str) -> str | None:
    if clash.row.deleted or row.is_unrendered or row.text is None:
        return None
    try:
        return merge_record(record_sort_of(clash.row.place.name).form, base, file, row.text)
    except Damaged as error:
        if clash.base is None:  # the text is in no file any more, so it cannot be repaired there
            return None
        sentence = f"{clash.path!r}: {error}. Its row changed too; both stay as they are until the file is mended."
        raise Damaged(sentence) from error


async def _store_merged(sides: Sides, clash: UnmergedConflict, merged: str, file: str) -> None:
    """Store the file's text as a version and the merge as the next; the file follows as after any change of a row."""
    name, version, entry = clash.row.place.name, clash.row.version, clash.row.entry
    texts, newest = [file] if merged == file else [file, merged], version
    async with sides.database.transaction(sides.tenant, sides.fence, FILE_ACTOR) as connection:
        for text in texts:
            statement = sides.writer.rewrite(entry, newest, digest_of(text.encode()), record_text(name, text))
            newest = await _run_expected(connection, sides, clash, statement)
        if clash.base is not None:
            await run_statements(connection, [sides.writer.store_base(replace(clash.base, saved=version + 1))])


async def _run_expected(connection: Connection, sides: Sides, clash: UnmergedConflict, statement: Statement) -> int:
    """
    Run *statement*; returns the version of the row after it, and after what triggers of apps answered.

    Raises Stale if the row changed meanwhile.
    """
    if await run_statements(connection, [statement]) == [None]:
        raise Stale(f"The row of {clash.path!r} changed meanwhile.")
    entry = clash.row.entry
    return (await entry_states.load_rows(connection, sides.tenant, [entry]))[entry].version


async def _keep_record_conflict(
    sides: Sides, clash: UnmergedConflict, texts: tuple[str | None, str, str | None]
) -> None:
    """Keep the file's text in table `conflict`: a directory of records holds nothing else, so there is no sibling."""
    row = clash.row
    conflict = ConflictRow(row.entry, None, clash.path, Kind.RECORD, row.version, *texts)
    async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
        if clash.base is not None:
            await run_statements(connection, [sides.writer.store_base(clash.base)])
        await open_issues.add_conflict(connection, sides.tenant, sides.mirror, conflict)


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
        texts = await derived_rows.load_texts(connection, sides.tenant, [entry])
        version, row_text = texts.get(entry, (0, None))
        base_text = await _load_ancestor_text(connection, sides, entry, clash.ancestor)
    if version != clash.row.version:
        raise Stale(f"The row of {clash.path!r} changed meanwhile.")
    file_text = decode(clash.data)
    merged = None
    if base_text is not None and row_text is not None:
        merged = await asyncio.to_thread(merge, base_text, file_text, row_text, sides.dialect)
    if merged is None:
        return [entry, await _keep_both(sides, clash, base_text, row_text)]
    await store_merged(sides, clash, merged, (base_text, file_text, row_text))
    return [entry]


async def _load_ancestor_text(
    connection: Connection, sides: Sides, entry: EntryId, digest: Digest | None
) -> str | None:
    return await derived_rows.load_text_of_digest(connection, sides.tenant, entry, digest) if digest else None


async def store_merged(
    sides: Sides, clash: UnmergedConflict, merged: str, texts: tuple[str | None, str, str | None]
) -> None:
    """
    Store the file's text as a version and the merge as the next; the file follows as after any change of a row.

    texts: of the ancestor, the file and the row.
    """
    entry, version, writer = clash.row.entry, clash.row.version, sides.writer
    ancestor_version = version if clash.ancestor_version is None else clash.ancestor_version
    save_file = writer.rewrite(
        entry, version, digest_of(clash.data), text_of(PageText(texts[1])), _operation_of(sides, clash)
    )
    merged_page, merged_digest = text_of(PageText(merged)), digest_of(merged.encode())
    async with sides.database.transaction(sides.tenant, sides.fence, FILE_ACTOR) as connection:
        await set_parents(connection, [ancestor_version])
        file_version = await _run_expected(connection, sides, clash, save_file)
        await set_parents(connection, [version, file_version])
        await _run_expected(connection, sides, clash, writer.rewrite(entry, file_version, merged_digest, merged_page))
        if clash.base is not None:
            await run_statements(connection, [writer.store_base(replace(clash.base, saved=version + 1))])
        if clash.stale:
            buffer = stored_bytes.MergedBuffer(entry, clash.path, texts, version)
            await stored_bytes.add_merged_buffer(connection, sides.tenant, sides.mirror, buffer)


def _operation_of(sides: Sides, clash: UnmergedConflict) -> UUID:
    ancestor_version = clash.row.version if clash.ancestor_version is None else clash.ancestor_version
    return operation_id(sides.mirror, clash.row.entry, ancestor_version, digest_of(clash.data))


async def _keep_both(sides: Sides, clash: UnmergedConflict, base_text: str | None, row_text: str | None) -> EntryId:
    """Keep the row under the name; make the file's bytes a sibling, listed as a conflict."""
    sibling, writer = new_id(), sides.writer
    moment = datetime.now(UTC).strftime("%Y-%m-%d %H%M%SZ")
    name = conflict_name(clash.row.kind, clash.place.name, moment, sides.mirror.hex[:6])
    place = Place(clash.place.parent, name)
    data, body = _sibling_of(clash, sibling)
    async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
        if isinstance(body, AttachmentContent):
            await stored_bytes.store_blob(connection, sides.tenant, digest_of(data), data)
        statements = [writer.insert_unplaced(sibling, place, digest_of(data), body, _operation_of(sides, clash))]
        await run_statements(
            connection, statements + ([writer.store_base(clash.base)] if clash.base is not None else [])
        )
        await open_issues.add_conflict(
            connection, sides.tenant, sides.mirror, _conflict_row(clash, sibling, base_text, row_text)
        )
    return sibling


def _sibling_of(clash: UnmergedConflict, sibling: EntryId) -> tuple[bytes, PageValues | AttachmentContent]:
    """The file's bytes as those of the sibling, and its row."""
    if clash.row.kind is Kind.ATTACHMENT:
        return clash.data, AttachmentContent(len(clash.data), media_type_of(clash.path))
    page = with_id(PageText(decode(clash.data)), sibling)
    return page.text.encode(), text_of(page)


def _conflict_row(
    clash: UnmergedConflict, sibling: EntryId, base_text: str | None, row_text: str | None
) -> ConflictRow:
    row = clash.row
    if row.kind is Kind.ATTACHMENT:
        digests = (clash.ancestor, digest_of(clash.data), row.digest)
        return ConflictRow(row.entry, sibling, clash.path, row.kind, row.version, None, None, None, *digests)
    return ConflictRow(row.entry, sibling, clash.path, Kind.PAGE, row.version, base_text, decode(clash.data), row_text)
