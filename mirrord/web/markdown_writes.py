"""The text of a whole page, written only over the text that its writer read: views that wait to be rendered count."""

import asyncio
from dataclasses import dataclass

from mirrord.db.content import derived_rows
from mirrord.db.content.derived_rows import PageRow
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, TenantId, digest_of
from mirrord.errors import Damaged
from mirrord.sync.writing.row_rendering import render_page
from mirrord.web.rows import page_rows


@dataclass(frozen=True, slots=True)
class CurrentText:
    """
    The text of a page with all its changes. None: a folder.

    stored: the text in the row, without what waits to be rendered.
    """

    version: int
    markdown: str | None
    stored: str | None


def text_digest(markdown: str | None) -> str:
    """What a client states about the text that it read, to write over it."""
    return digest_of((markdown or "").encode()).hex()


async def load_current_text(connection: Connection, tenant: TenantId, page: EntryId) -> CurrentText | None:
    """
    The text of a page, also where the daemon has yet to render what was written into the row. None: not found.

    Where views have no faithful text, it is the one without them: a person mends the page there.
    """
    rows = await derived_rows.load_page_rows(connection, tenant, [page])
    if not rows:
        return None
    former = await derived_rows.load_former_texts(connection, tenant, rows[0]) if rows[0].content is not None else ()
    markdown = await asyncio.to_thread(_render, rows[0], former)
    return CurrentText(rows[0].version, markdown, rows[0].markdown)


def _render(row: PageRow, former: list[str] | tuple[()]) -> str | None:
    if not row.ahead_columns:
        return row.markdown
    try:
        return render_page(row, former)
    except Damaged:
        return row.markdown


async def write_markdown(
    connection: Connection, tenant: TenantId, page: EntryId, version: int, digest: str | None, markdown: str
) -> int | None:
    """
    Write the text over the one with *digest*; None: over any that waits for nothing.

    Returns the version; None: the page has another text or version.
    """
    await page_rows.lock_page(connection, page)
    current = await load_current_text(connection, tenant, page)
    if current is None or current.version != version or not _is_replaceable(current, digest, markdown):
        return None
    return await page_rows.write_markdown(connection, page, version, markdown)


def _is_replaceable(current: CurrentText, digest: str | None, markdown: str) -> bool:
    """A text equal to the stored one would be no write, so what waits to be rendered would come after it."""
    is_waiting = current.markdown != current.stored
    if digest is None or markdown == current.stored:
        return not is_waiting
    return digest == text_digest(current.markdown)
