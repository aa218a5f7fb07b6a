"""
The short ways of the most frequent changes: one known page was saved, or an app wrote one, and nothing else waits.

Observing, deciding, rendering and writing are those of every pass, but in one transaction. Where one of them shows
anything else, nothing is written, and the pass goes its long way.
"""

from collections.abc import Collection
from contextlib import suppress

import psycopg

from mirrord.db.content.altered_rows import refusal_of
from mirrord.db.content.entry_states import LoadedEntries
from mirrord.db.content.entry_tables import keep_statistics
from mirrord.domain.entry import FILE_ACTOR, EntryId, Kind
from mirrord.errors import Locked, UserError
from mirrord.mirror.seen_files import Index
from mirrord.sync.change_sources import Feed
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove, Step, is_plain_save
from mirrord.sync.engine_parts import EngineParts, failure_of
from mirrord.sync.observation.file_look import UNKNOWN_ENTRY
from mirrord.sync.observation.observe import Dirty, Observation, TreeView, observe_save
from mirrord.sync.pass_results import conclude
from mirrord.sync.writing.apply import PassOutcome, may_be_stale
from mirrord.sync.writing.entry_bodies import MAX_LOOP_BYTES
from mirrord.sync.writing.row_writes import write_save
from mirrord.sync.writing.write_outcomes import concerns_rows


async def read_feed(parts: EngineParts, feed: Feed, hindered_entries: Collection[EntryId]) -> list[LoadedEntries]:
    """Read the feed; a lone page that an app wrote is rendered at once, if that is all there is to do with it."""
    pages = list[LoadedEntries]()

    async def read_rendered() -> None:
        try:
            pages.extend(await feed.read(hindered_entries, renders=True))
        except (psycopg.Error, UserError) as error:
            if refusal_of(error) is None:
                raise
            pages.extend(await feed.read(hindered_entries))  # the pass lists what a trigger refuses

    if not parts.adoption.is_in_force:
        with suppress(Locked):
            if await failure_of(parts, read_rendered()) is None:
                return pages
    return await feed.read(hindered_entries)


def is_lone_save(parts: EngineParts, dirty: Dirty, view: TreeView) -> bool:
    """Whether a pass is about one changed page file only, and nothing is under way or in doubt that may concern it."""
    is_at_rest = parts.writing is None and not parts.retries.has_doubts
    return is_at_rest and not (dirty.entries or view.notes) and shows_known_page(view, parts.sides.looker.index)


def shows_known_page(view: TreeView, index: Index) -> bool:
    """Whether a look shows one small page that is known by its path, and nothing else."""
    look = view.look
    if len(look.found_files) != 1 or look.gone_paths or look.unknown_files:
        return False
    ((path, file),) = look.found_files.items()
    if look.old_path.get(file.inode, path) != path:
        return False
    is_small_page = file.spot.kind is Kind.PAGE and file.data is not None and len(file.data) <= MAX_LOOP_BYTES
    cached_stat = index.get(path)
    return is_small_page and cached_stat is not None and cached_stat.entry != UNKNOWN_ENTRY


async def carry_over_save(parts: EngineParts, view: TreeView) -> bool:
    """Observe, decide and write in one transaction; False: it is no plain save, or not now, and nothing is written."""
    sides, applied = parts.sides, PassOutcome()
    parts.known_entries = None
    try:
        async with (
            sides.own_changes.committing() as changes,
            sides.database.transaction(sides.tenant, sides.fence, FILE_ACTOR, changes) as connection,
        ):
            observation = await observe_save(connection, sides, view)
            decision = await _decide_save(parts, observation, applied) if observation is not None else None
            if decision is not None and await write_save(connection, sides, decision, view.look.views, changes):
                applied.carried_out.append(decision)
    except (Locked, psycopg.Error, UserError) as error:
        if not (isinstance(error, Locked) or concerns_rows(error)):
            raise
        return False
    if observation is None or not applied.carried_out:
        return False
    await keep_statistics(sides.database, sides.tenant, 1)
    await conclude(parts, observation, applied)
    return True


async def _decide_save(parts: EngineParts, observation: Observation, applied: PassOutcome) -> Decision | None:
    """The decision on a plain save that is not made from a stale buffer, and whose entry is not stopped."""
    (state,) = observation.states.values()
    decision = Decision(state, Step.ROW, Move.TO_ROW, PlaceMove.NOTHING)
    if not is_plain_save(state) or may_be_stale(parts.sides, decision):
        return None
    (decision,) = await parts.restraint.restrain([decision], applied.troubles)
    return decision if decision.step is Step.ROW else None
