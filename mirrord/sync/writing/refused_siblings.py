"""Saves of a file beside a refused change of its row: each is a version of one conflict page, not a page of its own."""

from mirrord.db import open_issues
from mirrord.db.content.entry_writes import run_statements
from mirrord.db.database import Connection
from mirrord.db.open_issues import OpenSibling
from mirrord.domain.entry import FILE_ACTOR, EntryId, Kind, digest_of
from mirrord.errors import Stale
from mirrord.markdown.frontmatter.page_text import PageText, decode
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.writing.conflict_merge import UnmergedConflict
from mirrord.sync.writing.entry_bodies import text_of, with_id


async def renew_sibling(sides: Sides, clash: UnmergedConflict) -> list[EntryId] | None:
    """
    Take the file's text into the page that has the save before; returns the entries to look at afterwards.

    None: there is none, or a person or an app wrote into it since, or the file had another text after that save: then
    this save does not have its words.

    Raises:
        Stale: the sibling changed meanwhile; nothing was written.
        Damaged: the file's bytes are not text.
    """
    if clash.row.kind is not Kind.PAGE or not clash.row.ahead:
        return None
    file_text = decode(clash.data)
    async with sides.database.transaction(sides.tenant, sides.fence, FILE_ACTOR) as connection:
        sibling = await open_issues.load_open_sibling(connection, sides.tenant, sides.mirror, clash.row.entry)
        if sibling is None or digest_of(sibling.file_text.encode()) != clash.ancestor:
            return None
        if sibling.markdown != _text_beside(sibling.file_text, sibling.entry):
            return None
        await _write_save(connection, sides, clash, sibling, file_text)
    return [clash.row.entry, sibling.entry]


async def _write_save(
    connection: Connection, sides: Sides, clash: UnmergedConflict, sibling: OpenSibling, file_text: str
) -> None:
    text = _text_beside(file_text, sibling.entry)
    if text != sibling.markdown:
        body = text_of(PageText(text))
        statement = sides.writer.rewrite(sibling.entry, sibling.version, digest_of(text.encode()), body)
        if await run_statements(connection, [statement]) == [None]:
            raise Stale(f"The page beside {clash.path!r} changed meanwhile.")
        await open_issues.store_file_text(connection, sides.tenant, sibling.conflict, file_text)
    if clash.base is not None:
        await run_statements(connection, [sides.writer.store_base(clash.base)])


def _text_beside(file_text: str, sibling: EntryId) -> str:
    """The text of the page *sibling* that keeps *file_text*."""
    return with_id(PageText(file_text), sibling).text
