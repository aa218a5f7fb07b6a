"""Texts that were written into rows with the triggers off: they have no version, so the feed does not report them."""

import logging

from mirrord.db import comparison
from mirrord.db.writes import run_statements
from mirrord.domain.entry import digest_of
from mirrord.sync.bodies import text_of
from mirrord.sync.sides import DAEMON_ACTOR, Sides

log = logging.getLogger(__name__)


async def add_missing_versions(sides: Sides) -> int:
    """
    Make every such text a version, after the one it replaced; returns their number. Then the feed reports them.

    Reads all texts of the tenant, in Postgres.
    """
    async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
        pages = await comparison.load_unversioned(connection, sides.tenant)
        for page in pages:
            steps = [(page.version, page.version_text), (page.version + 1, page.row_text)]
            for version, text in steps:  # the first gives the row the text of its version back
                await run_statements(
                    connection, [sides.writer.rewrite(page.entry, version, digest_of(text.encode()), text_of(text))]
                )
    if pages:
        log.warning("unversioned_texts", extra={"tenant": sides.name, "entries": len(pages)})
    return len(pages)
