"""
Many documents of apps that leave nothing of their pages halt the app's side of a tenant until a person decides.

Each such document is held by itself. What is held is known by its problem, so that a halt is found, joined and carried
out again after a crash at any step.
"""

import time
from collections.abc import Collection

from mirrord.db import open_issues
from mirrord.db.content import derived_rows, entry_edits, entry_states
from mirrord.db.database import Connection
from mirrord.db.open_issues import Halt
from mirrord.domain.entry import EntryId
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.sync.decisions.guard import Alarm, weigh_held_contents
from mirrord.sync.engine_parts import EngineParts
from mirrord.sync.observation.mirror_handles import DAEMON_ACTOR, Sides
from mirrord.sync.observation.observe import Dirty
from mirrord.sync.passes import run_deletion
from mirrord.sync.stops import CONTENT_SIDE
from mirrord.sync.writing.entry_bodies import text_of

MAX_NAMED_PAGES = 3  # in the sentence of a halt
MAX_PAGES_A_ROUND = 50  # that a decision is carried out for before edits get their turn


async def halt_held_contents(parts: EngineParts) -> None:
    """
    Halt if too many pages are held; later ones join the halt. A halt of which none is held any more is closed.

    The same pages are weighed once: the tree is counted for that, and a page may be held for weeks.
    """
    held_entries, halts = parts.problems.held_contents.keys(), parts.halts.content_halts
    for halt in halts:
        if halt.decision is None and held_entries.isdisjoint(halt.entries):
            await parts.halts.close(halt)
    unlisted = set(held_entries).difference(*(halt.entries for halt in halts))
    if not unlisted or held_entries == parts.weighed_contents:
        return
    if (alarm := await _find_alarm(parts, held_entries)) is not None:
        await parts.halts.add_halt(alarm, CONTENT_SIDE, sorted(unlisted))
    else:
        parts.weighed_contents = frozenset(held_entries)


async def _find_alarm(parts: EngineParts, held_entries: Collection[EntryId]) -> Alarm | None:
    sides = parts.sides
    async with sides.database.transaction(sides.tenant) as connection:
        pages_and_attachments, records = await entry_states.count_bases(connection, sides.tenant, sides.mirror)
        alarm = weigh_held_contents(
            len(held_entries), pages_and_attachments + records, is_halted=sides.is_content_halted
        )
        if alarm is None:
            return None
        paths = await open_issues.load_paths(connection, sides.tenant, list(held_entries), MAX_NAMED_PAGES)
    unnamed = len(held_entries) - len(paths)
    names = ", ".join(map(repr, paths)) + (f" and {unnamed} more" if unnamed else "")
    return Alarm(alarm.reason, f"{alarm.sentence} They are {names}.")


async def carry_out_content_halt(parts: EngineParts, halt: Halt) -> bool:
    """
    Carry out what a person decided about the pages of *halt* that are still held, some of them at a time.

    Returns whether no page of *halt* is held any more.
    """
    path_by_entry = parts.problems.held_contents
    entries = sorted(path_by_entry.keys() & set(halt.entries))
    retry_seconds = 0.0
    for entry in entries[:MAX_PAGES_A_ROUND]:
        parts.pulse.step()
        dirty = Dirty(frozenset({path_by_entry[entry]}), frozenset({entry}))
        retry_seconds = max(retry_seconds, await run_deletion(parts, dirty, _settle(parts, halt, entry)))
    parts.queue.mark(entries=entries[:MAX_PAGES_A_ROUND])
    parts.halts.retry_at = time.monotonic() + retry_seconds
    return not entries


async def _settle(parts: EngineParts, halt: Halt, entry: EntryId) -> None:
    sides = parts.sides
    async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
        if halt.decision == "apply":
            await derived_rows.confirm_content(connection, sides.tenant, entry)
        else:
            await _put_text_back(connection, sides, entry)
    await parts.problems.end_held_content(entry)


async def _put_text_back(connection: Connection, sides: Sides, entry: EntryId) -> None:
    """Give a row that waits for its app the text that it has, as the next version; one that changed is left."""
    rows = await derived_rows.load_page_rows(connection, sides.tenant, [entry])
    if not any("content" in row.ahead_columns for row in rows):
        return
    page = (await entry_edits.load_entries(connection, sides.tenant, [entry]))[entry]
    if not page.deleted and page.text is not None:
        await entry_edits.write_text(connection, sides.tenant, page, text_of(PageText(page.text, sides.dialect)))
