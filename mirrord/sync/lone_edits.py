"""
The short ways of the most frequent changes: one known page was saved, or an app wrote one, and nothing else waits.

Identifying, deciding, rendering and writing are those of every pass, but in one transaction. Where one of them shows
anything else, nothing is written or noted, and the pass goes its long way.
"""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

import psycopg

from mirrord.db.content.altered_rows import refusal_of
from mirrord.db.content.entry_states import LoadedEntries
from mirrord.db.content.entry_tables import keep_statistics
from mirrord.db.database import Connection
from mirrord.domain.entry import FILE_ACTOR, NO_TEXT, EntryId, Kind, digest_of
from mirrord.errors import Busy, Damaged, Locked, Refused, TooSlow, UserError
from mirrord.markdown.frontmatter.page_text import PageText, decode
from mirrord.mirror.seen_files import Index, Inode
from mirrord.mirror.state_file import CachedStat
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.contained_files import read
from mirrord.mirror.tree.tree_layout import SUFFIX, spot_of_file
from mirrord.mirror.write.applied_plans import list_notes
from mirrord.sync.change_sources import Feed
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove, Step, is_plain_save
from mirrord.sync.engine_parts import EngineParts, failure_of
from mirrord.sync.observation.file_look import UNKNOWN_ENTRY
from mirrord.sync.observation.identity_evidence import FoundFile
from mirrord.sync.observation.look_result import LookResult
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.observe import Dirty, Observation, TreeView, observe_save
from mirrord.sync.observation.save_companion import JointSave, NoJointSave, PageSave
from mirrord.sync.pass_results import conclude
from mirrord.sync.writing.apply import PassOutcome
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


def find_lone_page(parts: EngineParts, dirty: Dirty) -> str | None:
    """The path that a pass is about, if that is one known page only, and nothing is under way or in doubt."""
    if len(dirty.paths) != 1 or dirty.entries or dirty.forced or parts.writing is not None:
        return None
    (path,) = dirty.paths
    is_known_page = path.endswith(SUFFIX) and path in parts.sides.looker.index
    return path if is_known_page and path not in parts.problems.paths and not parts.retries.has_doubts else None


@dataclass(frozen=True, slots=True)
class KnownPage:
    """
    A look at one known page, and at nothing else.

    view: as look_at_tree() would give it. page: its new text. record: what the index has to know of that, and does not
    yet. Both None: the file is unchanged.
    """

    view: TreeView
    page: PageText | None = None
    record: CachedStat | None = None


async def look_at_known_page(sides: Sides, path: str) -> KnownPage | None:
    """Look at the page at *path*; None: something else than its text may have changed, so look at the tree."""
    try:
        return await asyncio.to_thread(_read_known_page, sides, path)
    except (OSError, Refused, Busy, Damaged):
        return None


def _read_known_page(sides: Sides, path: str) -> KnownPage | None:
    """
    Like look_at_known_page(); blocking, and raises what a look at the tree reports.

    Nothing was renamed if a page file was at the path before, and the file there now has the same inode, or a new one:
    one that no path had, or that belongs to a file made since then. Whether it may be another page's file all the same,
    find_only_owner() decides as ever.
    """
    index = sides.looker.index
    record, stat, spot = index.get(path), sides.tree.stat(path), spot_of_file(path)
    parent = path.rpartition("/")[0]
    if record is None or record.entry == UNKNOWN_ENTRY or record.digest == NO_TEXT or stat is None:
        return None
    if spot is None or spot.kind is not Kind.PAGE or (parent and parent not in index) or list_notes(sides.tree):
        return None
    if record[:5] == stat[:5]:
        return KnownPage(TreeView(LookResult(looked_paths={path}), {}, frozenset()))
    with sides.tree.open_file(path, stat) as descriptor:
        data, stat = read(descriptor, path, MAX_LOOP_BYTES)
        born_ns = kernel.born_ns(descriptor)
    page, inode = PageText(decode(data)), (stat.device, stat.inode)
    was_open = path in sides.looker.open_files.due
    if _was_elsewhere(index, inode, path, born_ns) or page.views.error or was_open or list_notes(sides.tree):
        return None
    file = FoundFile(path, spot, digest_of(data), page.views.id, inode, data)
    look = LookResult({path: file}, {path: page.views}, looked_paths={path})
    written = sides.written_entries.of_tree(sides.tree)
    return KnownPage(TreeView(look, written, None), page, CachedStat(*stat[:5], file.digest, record.entry))


def _was_elsewhere(index: Index, inode: Inode, path: str, born_ns: int | None) -> bool:
    """Whether the file at *path* may have come from another one; the number of a replaced file's inode says nothing."""
    if index.origin_of(inode) in (None, path):
        return False
    changed_ns = index.changed_ns(inode)
    return changed_ns is None or born_ns is None or born_ns <= changed_ns


async def carry_over_save(parts: EngineParts, known_page: KnownPage) -> bool:
    """Identify, decide and write in one transaction; False: it is no plain save, or not now, and nothing is written."""
    sides, page, record, applied = parts.sides, known_page.page, known_page.record, PassOutcome()
    joint: JointSave | None = None
    if page is None or record is None or _may_be_stale(sides, record):
        return False
    parts.known_entries = None
    try:
        async with (
            sides.own_changes.committing() as changes,
            sides.database.transaction(sides.tenant, sides.fence, FILE_ACTOR, changes) as connection,
        ):
            joint = await _begin_joint_save(connection, sides, record.entry)
            observation = await observe_save(connection, sides, known_page.view)
            decision = await _decide_save(parts, observation, applied) if observation is not None else None
            if decision is not None:
                if joint is not None:
                    await joint.ask()
                version = await write_save(connection, sides, decision, page, changes)
                if version is not None:
                    applied.carried_out.append(decision)
                    if joint is not None:
                        await joint.carry(PageSave(decision.state.entry, version, page.text))
    except NoJointSave:
        return False
    except (Locked, TooSlow, psycopg.Error, UserError) as error:
        if joint is None and not (isinstance(error, Locked) or _concerns_row(error)):
            raise
        return False
    if observation is None or not applied.carried_out:
        return False
    if joint is not None:
        joint.conclude()
    ((path, file),) = known_page.view.look.found_files.items()
    if sides.looker.index.origin_of(file.inode) not in (None, path):
        sides.looker.index.forget_inode(file.inode)
    sides.looker.index.record(path, record)
    await conclude(parts, observation, applied)
    await keep_statistics(sides.database, sides.tenant, 1)
    return True


async def _begin_joint_save(connection: Connection, sides: Sides, entry: EntryId) -> JointSave | None:
    return await sides.companion.begin(connection, sides.tenant, entry) if sides.companion is not None else None


def _concerns_row(error: Exception) -> bool:
    return isinstance(error, (psycopg.Error, UserError)) and concerns_rows(error)


def _may_be_stale(sides: Sides, record: CachedStat) -> bool:
    """Whether the save came soon after mirrord wrote the file, so that it may be that of an older text."""
    buffers = sides.old_buffers
    return record.entry in buffers.writes and buffers.may_show_older(record.entry, record.ctime_ns)


async def _decide_save(parts: EngineParts, observation: Observation, applied: PassOutcome) -> Decision | None:
    """
    The decision on a plain save whose entry is not stopped.

    A livelock needs moves of mirrord: an entry without any in the last time is not followed from its first save on.
    """
    (state,) = observation.states.values()
    decision = Decision(state, Step.ROW, Move.TO_ROW, PlaceMove.NOTHING)
    if not is_plain_save(state) or state.entry not in parts.restraint.followed:
        return decision if is_plain_save(state) else None
    (decision,) = await parts.restraint.restrain([decision], applied.troubles)
    return decision if decision.step is Step.ROW else None
