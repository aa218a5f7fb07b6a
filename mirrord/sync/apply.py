"""Applying: rows made ready, then rows written, then files; each act names what it replaces."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mirrord.codec.views import Views
from mirrord.db.attention import Problem
from mirrord.db.buffers import Revision
from mirrord.domain.entry import EntryId
from mirrord.domain.state import File, Row, State, Unknown
from mirrord.errors import Busy, Damaged, Refused, Stale
from mirrord.sync import merging
from mirrord.sync.bodies import data_of
from mirrord.sync.buffers import stale_saves
from mirrord.sync.clash import clash_of
from mirrord.sync.decision import Decision, Step
from mirrord.sync.doubts import Doubts
from mirrord.sync.files import FileOutcome, to_files
from mirrord.sync.place import PlaceMove
from mirrord.sync.plan import Move
from mirrord.sync.prepare import Rendered, place_row, render_rows
from mirrord.sync.rows import to_rows
from mirrord.sync.sides import Sides


@dataclass(slots=True)
class Applied(FileOutcome):
    """
    What became of a pass.

    entries: others to look at now, such as conflict siblings. texts: of rows that were rendered in it.
    """

    entries: list[EntryId] = field(default_factory=list)
    texts: dict[EntryId, bytes] = field(default_factory=dict)


async def prepare(sides: Sides, decisions: Sequence[Decision], doubts: Doubts, applied: Applied) -> list[State]:
    """Name and render rows that apps wrote; the states as they are then, to be decided on anew."""
    rows = {one.state.entry: one.state.row for one in decisions if one.state.row is not None}
    for decision in decisions:
        if decision.place is PlaceMove.NAME and decision.state.row is not None:
            try:
                rows[decision.state.entry] = await place_row(sides, decision.state.row)
            except Stale:
                applied.stale.append(decision)
                del rows[decision.state.entry]
    unrendered = {entry: row for entry, row in rows.items() if _is_unrendered(row)}
    rendered = await render_rows(sides, unrendered) if unrendered else Rendered()
    applied.texts |= rendered.texts
    by_entry = {one.state.entry: one for one in decisions}
    for refusal in rendered.refusals:
        doubts.refuse(refusal.entry, refusal.version)
        applied.troubles.append(Problem(where(by_entry[refusal.entry]), "render", refusal.sentence, refusal.entry))
    refused = {refusal.entry for refusal in rendered.refusals}
    applied.stale += [by_entry[entry] for entry in unrendered.keys() - rendered.rows.keys() - refused]
    changed = {entry: row for entry, row in rows.items() if entry not in unrendered} | rendered.rows
    return [replace(by_entry[entry].state, row=row) for entry, row in changed.items()]


def _is_unrendered(row: Row) -> bool:
    return not row.deleted and (bool(row.ahead) or row.digest is None)


async def apply(sides: Sides, decisions: Sequence[Decision], views: Mapping[str, Views], applied: Applied) -> None:
    """Write rows, then files. views: by path, of pages just read."""
    to_write = [one for one in decisions if one.step is Step.ROW]
    stale = await stale_saves(sides, [one for one in to_write if _is_content(one)])
    clashes = [one for one in to_write if _clashes(one) or one.state.entry in stale]
    plain = [one for one in to_write if not (_clashes(one) or one.state.entry in stale)]
    if plain:
        applied.add(await to_rows(sides, plain, views))
    for decision in clashes:
        await _settle(sides, decision, applied, stale.get(decision.state.entry))
    files = [one for one in decisions if one.step is Step.FILE]
    files += [replace(one, step=Step.FILE, place=PlaceMove.TO_FILE) for one in applied.refused]  # L7
    if files:
        written = await to_files(sides, files, applied.texts)
        applied.add(written)
        applied.written |= written.written
        applied.displaced += written.displaced
        applied.taken |= written.taken


def _is_content(decision: Decision) -> bool:
    return decision.place not in (PlaceMove.TO_ROW, PlaceMove.TO_FILE)


def _clashes(decision: Decision) -> bool:
    return _is_content(decision) and decision.move in (Move.MERGE, Move.SIBLING)


async def _settle(sides: Sides, decision: Decision, applied: Applied, made_from: Revision | None) -> None:
    """made_from: the version a stale buffer held; None: what the base says."""
    file = decision.state.file
    assert isinstance(file, File)
    try:
        data = await asyncio.to_thread(data_of, sides.tree, file)
        clash = clash_of(decision.state, data)
        if made_from is not None:
            sides.old_buffers.note_save(decision.state.entry, file.digest)
        if decision.move is Move.SIBLING:
            clash = replace(clash, ancestor=None)
        elif made_from is not None:
            clash = replace(clash, ancestor=made_from.digest, ancestor_version=made_from.version, stale=True)
        applied.entries += await merging.settle(sides, clash)
    except (Stale, FileNotFoundError):
        applied.stale.append(decision)
    except Busy:
        applied.later.append(decision)
    except (Damaged, Refused) as error:
        applied.troubles.append(Problem(file.path, "damaged", str(error), decision.state.entry))
    else:
        applied.done.append(replace(decision, move=Move.MERGE, again=True) if made_from else decision)


def path_of(decision: Decision) -> str | None:
    """Where the entry's file is, or was when both sides last agreed."""
    file, base = decision.state.file, decision.state.base
    return file.path if file is not None else base.path if base is not None else None


def where(decision: Decision) -> str:
    """How a problem names the entry: by its path, else by its name."""
    row = decision.state.row
    return path_of(decision) or (row.place.name if row and row.place.name else str(decision.state.entry))


def passes(decision: Decision) -> bool:
    """Whether what hinders the decision will be over without anybody's doing."""
    return isinstance(decision.state.file, Unknown) and decision.state.file.passing
