"""Acting on rows: what files say is written to Postgres by compare-and-set, with the base in the same transaction."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import psycopg

from mirrord.codec.views import Views
from mirrord.db import blobs, states, statistics
from mirrord.db.attention import Problem
from mirrord.db.connect import Connection
from mirrord.db.locks import locked_rows
from mirrord.db.writes import Body, Bytes, Statement, Text, Writer, defer_names, run
from mirrord.domain.entry import FILE_ACTOR, EntryId, Kind, Place, operation_id
from mirrord.domain.place import name_key
from mirrord.domain.state import Base, File, Row, State
from mirrord.errors import Busy, Damaged, Locked, Refused, Stale
from mirrord.mirror.layout import printable
from mirrord.sync.bodies import body_of, data_of
from mirrord.sync.decision import Decision
from mirrord.sync.paths import agreed_base, by_depth, directory_above, moved_base, path_in
from mirrord.sync.place import PlaceMove
from mirrord.sync.plan import Move
from mirrord.sync.sides import Sides
from mirrord.sync.twins import free_names, names_like

BATCH = 200  # entries a transaction
SMALL = 20_000  # bytes of a text that the loop can take in without being held up
_NEW = frozenset({Move.INSERT, Move.REINSERT, Move.REVIVE})


@dataclass(slots=True)
class Outcome:
    """
    What became of decisions.

    done: the base is recorded. stale: look again now. later: look again in a while. refused: moves that would put a
    page below itself, because rows moved meanwhile. beside: what is in the way of those that wait, to be looked at
    together with them. barred: those that have a mount in their way, to be looked at with the whole tree. renamed:
    files and directories, from where to where. unsure: paths where a call failed, so that nobody knows what is there
    and below. reformed: paths of what moved and is another kind than the base says.
    """

    done: list[Decision] = field(default_factory=list)
    stale: list[Decision] = field(default_factory=list)
    later: list[Decision] = field(default_factory=list)
    refused: list[Decision] = field(default_factory=list)
    beside: dict[EntryId, set[EntryId]] = field(default_factory=dict)
    barred: set[EntryId] = field(default_factory=set)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    unsure: set[str] = field(default_factory=set)
    reformed: set[str] = field(default_factory=set)
    troubles: list[Problem] = field(default_factory=list)

    def add(self, other: "Outcome") -> None:
        """Take in the outcome of some more."""
        self.done += other.done
        self.stale += other.stale
        self.later += other.later
        self.refused += other.refused
        self.beside |= other.beside
        self.barred |= other.barred
        self.renamed += other.renamed
        self.unsure |= other.unsure
        self.reformed |= other.reformed
        self.troubles += other.troubles


@dataclass(frozen=True, slots=True)
class _Prepared:
    decision: Decision
    data: bytes
    body: Body


async def to_rows(sides: Sides, decisions: Sequence[Decision], views: Mapping[str, Views]) -> Outcome:
    """Carry out decisions for rows, parents first, many in a transaction. views: by path, of pages just read."""
    outcome = Outcome()
    ordered = sorted(decisions, key=_order)
    for start in range(0, len(ordered), BATCH):
        chunk = ordered[start : start + BATCH]
        if len(chunk) == 1 and _is_read(chunk[0]):  # a turn of a thread would delay an edit for nothing
            prepared = _read(sides, chunk, views, outcome)
        else:
            prepared = await asyncio.to_thread(_read, sides, chunk, views, outcome)
        outcome.add(await _write_together(sides, prepared))
    await statistics.keep(sides.database, sides.tenant, len(ordered))
    return outcome


def _order(decision: Decision) -> tuple[bool, int, str, bool]:
    """Bases are dropped first, then parents come before children."""
    file = decision.state.file
    return (decision.move is not Move.FORGET, *by_depth(file.path if isinstance(file, File) else ""))


def _read(sides: Sides, decisions: Sequence[Decision], views: Mapping[str, Views], outcome: Outcome) -> list[_Prepared]:
    prepared = []
    for decision in decisions:
        file = decision.state.file
        try:
            if not isinstance(file, File) or not _needs_body(decision):
                prepared.append(_Prepared(decision, b"", Text(None)))
                continue
            data = b"" if file.kind is Kind.FOLDER else data_of(sides.tree, file)
            known = views.get(file.path) if file.data is not None else None
            prepared.append(_Prepared(decision, data, body_of(file, data, known)))
        except (Stale, FileNotFoundError):
            outcome.stale.append(decision)
        except Busy:
            outcome.later.append(decision)
        except (Damaged, Refused) as error:
            path = printable(decision.state.file.path)  # type: ignore[union-attr]
            outcome.troubles.append(Problem(path, "damaged", str(error), decision.state.entry))
    return prepared


def _is_read(decision: Decision) -> bool:
    """Whether its file need not be read, and is no work to take in."""
    file = decision.state.file
    return isinstance(file, File) and file.data is not None and len(file.data) <= SMALL


def _needs_body(decision: Decision) -> bool:
    if decision.place is PlaceMove.TO_ROW:
        return False
    return decision.move in (Move.INSERT, Move.REINSERT, Move.TO_ROW, Move.REVIVE)


async def _write_together(sides: Sides, prepared: Sequence[_Prepared]) -> Outcome:
    """In one transaction; if a row's neighbours are in its way, one by one, so that it alone waits."""
    if not prepared:
        return Outcome()
    try:
        return await _write(sides, prepared)
    except psycopg.errors.IntegrityError:
        groups = _of_one_circle(prepared)
        outcome = Outcome()
        for group in groups:
            outcome.add(await (_write_alone(sides, group[0]) if len(group) == 1 else _write_circle(sides, group)))
        return outcome
    except Locked:
        return await _write_unlocked(sides, prepared)


def _of_one_circle(prepared: Sequence[_Prepared]) -> list[list[_Prepared]]:
    """Moves of which one takes the name that another gives up belong together, and come where their first one did."""
    group_of: dict[object, list[_Prepared]] = {}
    groups: list[list[_Prepared]] = []
    for one in prepared:
        known = [group_of[slot] for slot in _slots(one) if slot in group_of]
        group = known[0] if known else []
        for other in known[1:]:
            if other is not group:
                group += other
                other.clear()
        if not known:
            groups.append(group)
        group.append(one)
        group_of.update(dict.fromkeys((slot for member in group for slot in _slots(member)), group))
    return [group for group in groups if group]


def _slots(one: _Prepared) -> list[tuple[object, ...]]:
    """The names, each below its parent, that a move gives up or takes, and those that a new row takes."""
    file, is_move = one.decision.state.file, one.decision.place is PlaceMove.TO_ROW
    if not isinstance(file, File) or not (is_move or one.decision.move in _NEW):
        return []
    places = [file.place, one.decision.state.row.place] if is_move and one.decision.state.row else [file.place]
    return [(place.parent, name_key(place.name), file.kind is Kind.ATTACHMENT) for place in places]


async def _write_circle(sides: Sides, group: Sequence[_Prepared]) -> Outcome:
    try:
        return await _write(sides, group)
    except psycopg.errors.IntegrityError:
        outcome = Outcome()
        moves_first = sorted(group, key=lambda one: one.decision.place is not PlaceMove.TO_ROW)
        for one in moves_first:  # they give names up
            outcome.add(await _write_alone(sides, one))
        return outcome


async def _write_unlocked(sides: Sides, prepared: Sequence[_Prepared]) -> Outcome:
    """An app holds some of the rows: the others, and those later."""
    locked = await locked_rows(sides.database, sides.tenant, [one.decision.state.entry for one in prepared])
    held = [one for one in prepared if one.decision.state.entry in locked]
    if not held:  # it was released just now, or it holds something that all need
        return Outcome(later=[one.decision for one in prepared])
    outcome = Outcome(later=[one.decision for one in held])
    outcome.add(await _write_together(sides, [one for one in prepared if one.decision.state.entry not in locked]))
    return outcome


async def _write_alone(sides: Sides, prepared: _Prepared) -> Outcome:
    """Of a name that a sibling has the next that is free."""
    decision, file = prepared.decision, prepared.decision.state.file
    names = names_like(file.place.name, file.kind) if isinstance(file, File) else iter(("",))
    while (name := next(names, None)) is not None:
        try:
            outcome = await _write(sides, [prepared], name)
        except psycopg.errors.UniqueViolation as error:
            if error.diag.constraint_name == "record_key_is_free":
                return await _beside_namesake(sides, decision)
            if "name_is_free" not in (error.diag.constraint_name or "") or not isinstance(file, File):
                return Outcome(stale=[decision])
            names = iter(await free_names(sides, decision.state.entry, file.kind, file.place, list(names)))
        except psycopg.errors.CheckViolation:
            return Outcome(refused=[decision])
        except psycopg.errors.IntegrityError:
            return Outcome(stale=[decision])  # the parent went meanwhile
        else:
            if isinstance(file, File) and name != file.place.name and outcome.done:
                outcome.stale.append(decision)  # the file is still to be renamed
                outcome.troubles.append(_twin(decision, file, name))
            return outcome
    return Outcome(later=[decision])


async def _beside_namesake(sides: Sides, decision: Decision) -> Outcome:
    """
    A row with that very name was made just now, and the file may be of it; else it is one but for case.

    What was deleted gives its file up to it: a record is what it is called.
    """
    file = decision.state.file
    assert isinstance(file, File)
    async with sides.database.transaction(sides.tenant, sides.fence) as connection:
        if not await states.is_record(connection, sides.tenant, file.place.name):
            return Outcome(later=[decision], troubles=[_namesake(decision, file)])
        if decision.move in (Move.REVIVE, Move.REINSERT):
            await run(connection, [sides.writer.forget(decision.state.entry)])
    return Outcome(stale=[decision])


def _namesake(decision: Decision, file: File) -> Problem:
    """A record's name has no room for a number: what it is called is what it is."""
    sentence = f"{file.path!r} has the name of another record but for case; rename one of them, or delete it."
    return Problem(file.path, "in-the-way", sentence, decision.state.entry)


def _twin(decision: Decision, file: File, name: str) -> Problem:
    above = directory_above(file.path, file.kind, index=file.place.index)
    path = path_in(above, file.kind, replace(file.place, name=name))
    sentence = f"{path!r} was {file.path!r}: a sibling has the same name but for case or spelling, so it got a number."
    return Problem(path, "twin", sentence, decision.state.entry)


async def _write(sides: Sides, prepared: Sequence[_Prepared], name: str | None = None) -> Outcome:
    """name: of the row, if it is one and may not have its file's."""
    async with sides.database.transaction(sides.tenant, sides.fence, FILE_ACTOR) as connection:
        moves = [one for one in prepared if one.decision.place is PlaceMove.TO_ROW]
        succeeding = _successions(sides.writer, moves)
        if moves and (succeeding or len(prepared) > 1):
            await defer_names(connection)  # one may take the name that another gives up
        groups = [await _statements(connection, sides, one, name) for one in prepared]
        results = await run(connection, [*(statement for group in groups for statement in group), *succeeding])
    outcome = Outcome()
    at = 0
    for one, group in zip(prepared, groups, strict=True):
        at += len(group)
        (outcome.stale if results[at - 1] is None else outcome.done).append(one.decision)
    return outcome


async def _statements(connection: Connection, sides: Sides, one: _Prepared, name: str | None) -> list[Statement]:
    """The statements for one decision; the last tells whether it took effect."""
    state, writer = one.decision.state, sides.writer
    if one.decision.move is Move.FORGET:
        return [writer.forget(state.entry)]
    file, row = state.file, state.row
    assert isinstance(file, File)
    if one.decision.place is PlaceMove.TO_ROW:
        assert row is not None
        assert state.base is not None
        agreed = moved_base(agreed_base(state.base, file, row), file.kind, file.path, file.place)
        place = _called(file.place, name)
        return [*_before(writer, agreed, file), writer.move(agreed, row.version, place, name_key(place.name))]
    base = new_base(state, file)
    if isinstance(one.body, Bytes):
        await blobs.store(connection, sides.tenant, base.digest, one.data)
    return [*_before(writer, base, file), _content_statement(sides, one, base, row, name)]


def _successions(writer: Writer, moves: Sequence[_Prepared]) -> list[Statement]:
    """For pages that came to directories of folders; after all moves, because then their names tell."""
    came = ((one.decision.state.entry, one.decision.state.file) for one in moves)
    return [writer.succeed(entry, file.succeeds) for entry, file in came if isinstance(file, File) and file.succeeds]


def _before(writer: Writer, base: Base, file: File) -> list[Statement]:
    """What makes room for *base*'s path."""
    return [writer.yield_path(base)] if file.contested or base.path != file.path else []


def _content_statement(sides: Sides, one: _Prepared, base: Base, row: Row | None, name: str | None) -> Statement:
    writer, move = sides.writer, one.decision.move
    place = _called(base.place, name)
    if move is Move.REINSERT:
        return writer.reinsert(base, place, name_key(place.name), one.body)
    if move is Move.INSERT:
        return writer.insert(base, place, name_key(place.name), one.body)
    assert row is not None
    if move is Move.REVIVE:
        return writer.revive(base, row.version, place, name_key(place.name), one.body)
    if move is Move.TO_ROW:
        return writer.update(base, row.version, one.body, _operation(sides, one.decision.state, row, base))
    return writer.record(base)


def _operation(sides: Sides, state: State, row: Row, base: Base) -> UUID:
    came_from = state.base.version if state.base is not None else row.version
    return operation_id(sides.mirror, state.entry, came_from, base.digest)


def new_base(state: State, file: File) -> Base:
    """What is agreed once *file*'s content is in the row. A place that differs stays to be carried over."""
    row, base = state.row, state.base
    place = file.place
    if base is not None and row is not None and not row.deleted and file.place != row.place:
        place = replace(base.place, index=file.place.index)
    return Base(state.entry, file.kind, file.path, place, row.version if row else 0, file.digest, file.claimed)


def _called(place: Place, name: str | None) -> Place:
    return place if name is None else replace(place, name=name)
