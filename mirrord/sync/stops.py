"""
What is stopped: deletions that wait for a person, and entries in a livelock.

Deletions are collected, checked again, weighed together, then carried over or halted. Entries in a livelock are listed,
and do not hold up others.
"""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mirrord.db import open_issues
from mirrord.db.content import entry_states, entry_versions
from mirrord.db.database import Connection
from mirrord.db.open_issues import Halt, Problem
from mirrord.domain.entry import Digest, EntryId, File, Kind, State
from mirrord.domain.place import RECORD_DIRECTORIES
from mirrord.mirror.tree.tree_layout import parent_of
from mirrord.sync import deletions, known_losses
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove, Step, is_plain_save
from mirrord.sync.decisions.guard import ADVICE, Alarm, check_all, check_emptied, weigh_deletions
from mirrord.sync.decisions.move_history import (
    MAX_OWN_MOVES,
    NOTHING_SHOWN,
    Direction,
    MoveHistories,
    MoveHistory,
    PlannedMove,
    ShownState,
)
from mirrord.sync.decisions.tree_history import Rewind, rewind_sentence
from mirrord.sync.deletions import GatheredDeletions, find_segments_deleted_with_page
from mirrord.sync.observation.copied_files import take_places_of_copies
from mirrord.sync.observation.mirror_handles import DAEMON_ACTOR, Sides
from mirrord.sync.writing.apply import problem_path
from mirrord.sync.writing.row_rendering import load_digests
from mirrord.sync.writing.row_writes import write_to_rows
from mirrord.sync.writing.write_outcomes import Outcome

log = logging.getLogger(__name__)

CONTENT_SIDE = "content"  # of halts about documents of apps that are held (sync.held_contents)
_APP_SIDES = frozenset({"row", "vanished"})


class Halts:
    """
    Decides whether deletions of one mirror may spread. While a halt waits for a person, no other deletion does, but for
    those that an undo meant or a person approved.

    retry_at: monotonic time before which a person's decision that failed is not tried again.
    """

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self.gathered_deletions = GatheredDeletions()
        self.retry_at = 0.0
        self._standing_halts: list[Halt] = []

    @property
    def is_halted(self) -> bool:
        """Whether there is a halt, decided or not."""
        return bool(self._standing_halts)

    @property
    def content_halts(self) -> list[Halt]:
        """The halts about documents of apps that are held, decided or not."""
        return [halt for halt in self._standing_halts if halt.side == CONTENT_SIDE]

    async def load(self, connection: Connection) -> None:
        """Read the halts and the decisions about them in an open transaction."""
        self._standing_halts = await open_issues.load_halts(connection, self._sides.tenant, self._sides.mirror)
        self._sides.is_content_halted = any(halt.decision is None for halt in self.content_halts)

    async def _load_again(self) -> None:
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            await self.load(connection)

    async def carry_over(self, decisions: Sequence[Decision], allowed: frozenset[EntryId] = frozenset()) -> Outcome:
        """Carry deletions over to the other side, or halt. allowed: entries a person has decided about."""
        outcome = Outcome()
        for side in deletions.SIDES:
            of_side = [decision for decision in decisions if deletions.side_of(decision) == side]
            outcome.add(await self._carry_over(side, of_side, allowed))
        return outcome

    async def may_remove(self, decisions: Sequence[Decision], *, is_approved: bool) -> bool:
        """
        Whether the deletions of a change set may spread at once; else they are gathered as those of people are.

        is_approved: a person saw and accepted them.
        """
        if not self._waiting_entries("file").isdisjoint(decision.state.entry for decision in decisions):
            return False
        if is_approved:
            return True
        counted_ids = [decision.state.entry for decision in decisions]
        files = sum(1 for decision in decisions if is_page_or_attachment(decision.state))
        return await self._find_alarm("file", counted_ids, files) is None

    def note_removed(self, decisions: Sequence[Decision]) -> None:
        """Note deletions of a change set that were carried over; they count with those of the next minutes."""
        self.gathered_deletions.note_carried_over("file", len(decisions))

    async def load_decided_halts(self) -> list[Halt]:
        """Read the halts that a person has decided about; call close() when the decision is carried out."""
        await self._load_again()
        return [halt for halt in self._standing_halts if halt.decision is not None]

    async def close_past(self) -> None:
        """Close the halts of which nothing is lost any more: files were put back, or rows live again."""
        for halt in list(self._standing_halts):
            if halt.decision is None and await known_losses.is_over(self._sides, halt):
                log.info("halt_over", extra={"tenant": self._sides.name, "reason": halt.reason})
                await self.close(halt)

    async def close(self, halt: Halt) -> None:
        """Close a halt whose decision has been carried out."""
        sides = self._sides
        async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
            await open_issues.close_halt(connection, sides.tenant, halt.id)
        await self._load_again()

    async def halt_rewind(self, rewind: Rewind, settled: Iterable[EntryId]) -> None:
        """Halt deletions because a side went back in time; the halt says what the comparison has changed."""
        entries = list(settled)
        text = rewind_sentence(rewind, len(entries))
        if text is not None:
            await self.add_halt(Alarm(rewind.value, text), None, entries)

    async def _carry_over(self, side: str, decisions: Sequence[Decision], allowed: frozenset[EntryId]) -> Outcome:
        waiting_ids = self._waiting_entries(side) - allowed
        decisions = [decision for decision in decisions if decision.state.entry not in waiting_ids]
        outcome = Outcome()
        if side == "file":
            outcome.stale = await take_places_of_copies(self._sides, decisions)
            moved_ids = {decision.state.entry for decision in outcome.stale}
            decisions = [decision for decision in decisions if decision.state.entry not in moved_ids]
        meant_ids = await known_losses.select_meant(self._sides, side, decisions)
        meant_ids |= await known_losses.select_approved(self._sides, side, decisions)
        free_ids = allowed | meant_ids
        asked_ids = [decision.state.entry for decision in decisions if decision.state.entry not in free_ids]
        uncounted_ids = free_ids | await find_segments_deleted_with_page(self._sides, decisions)
        counted_ids = [entry for entry in asked_ids if entry not in uncounted_ids]
        suspects = [decision.state for decision in decisions if decision.state.entry not in meant_ids]
        alarm = await self._find_alarm(side, counted_ids, sum(map(is_page_or_attachment, suspects)))
        if alarm is not None:
            await self.add_halt(alarm, side, asked_ids)
            decisions = [decision for decision in decisions if decision.state.entry in free_ids]
        if decisions:
            outcome.add(await self._carry_out(side, decisions, allowed))
        self.gathered_deletions.note_carried_over(
            side, sum(1 for decision in outcome.carried_out if decision.state.entry not in uncounted_ids)
        )
        return outcome

    async def _carry_out(self, side: str, decisions: Sequence[Decision], allowed: frozenset[EntryId]) -> Outcome:
        """Carry over one side. Vanished rows are made again from their files unless a person confirmed the loss."""
        if side == "file":
            return await deletions.entomb_rows(self._sides, decisions)
        if side == "row":
            return await deletions.trash_files(self._sides, decisions)
        intended = [decision for decision in decisions if side == "vanished" and decision.state.entry in allowed]
        unintended = [decision for decision in decisions if side != "vanished" or decision.state.entry not in allowed]
        outcome = await deletions.trash_files(self._sides, intended) if intended else Outcome()
        outcome.add(await write_to_rows(self._sides, unintended, {}))
        return outcome

    async def _find_alarm(self, side: str, entries: Sequence[EntryId], files: int) -> Alarm | None:
        if not entries:
            return None
        if any(_delays_deletions(halt, side) for halt in self._standing_halts):
            return Alarm("halted", "More deletions wait, because deletions of this tenant are halted.")
        (
            based_files,
            based_records,
        ) = await self._count_based()  # `rm -rf *` spares the records, and may still be an accident
        if side == "file" and (alarm := check_emptied(self._count_files(), based_files)):
            return alarm
        if side != "file" and (alarm := check_all(side, files, based_files)):
            return alarm
        return weigh_deletions(
            side, len(entries), self.gathered_deletions.count_recent(side), based_files + based_records
        )

    async def add_halt(self, alarm: Alarm, side: str | None, entries: Sequence[EntryId]) -> None:
        """Note that *entries* wait for a person."""
        sides = self._sides
        async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
            halt = open_issues.NewHalt(alarm.reason, side, alarm.sentence + ADVICE, entries)
            await open_issues.add_halt(connection, sides.tenant, sides.mirror, halt)
        await self._load_again()
        log.warning("halted", extra={"tenant": sides.name, "reason": alarm.reason, "entries": len(entries)})

    def _waiting_entries(self, side: str) -> frozenset[EntryId]:
        """Deletions with a halt, decided or not: a person is asked only once about each."""
        return frozenset(entry for halt in self._standing_halts if halt.side == side for entry in halt.entries)

    async def _count_based(self) -> tuple[int, int]:
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            return await entry_states.count_bases(connection, self._sides.tenant, self._sides.mirror)

    def _count_files(self) -> int:
        """The number of files without records."""
        paths = self._sides.looker.index.paths()
        return sum(1 for path in paths if "." in path.rpartition("/")[2] and parent_of(path) not in RECORD_DIRECTORIES)


def _delays_deletions(halt: Halt, side: str) -> bool:
    """Whether deletions seen on *side* wait for *halt*; for one that is decided, or about another side, they do not."""
    return halt.decision is None and (halt.side != CONTENT_SIDE or side in _APP_SIDES)


def is_page_or_attachment(state: State) -> bool:
    """Whether the entry is neither a folder nor a record."""
    return state.base is not None and state.base.kind in (Kind.PAGE, Kind.ATTACHMENT)


def reverse_losses(decisions: Iterable[Decision]) -> list[Decision]:
    """The losses among *decisions* reversed: files come back from rows, rows from files."""
    reversed_moves = {
        Move.ENTOMB: (Step.FILE, Move.CREATE),
        Move.TRASH: (Step.ROW, Move.REVIVE),
        Move.TO_ROW: (Step.FILE, Move.TO_FILE),
        Move.REINSERT: (Step.ROW, Move.REINSERT),
    }
    return [
        Decision(decision.state, *reversed_moves[decision.move], decision.place)
        for decision in decisions
        if decision.step is Step.DELETE
    ]


ANSWER_SECONDS = 5.0  # at most, until mirrord sees a trigger's write in its own transaction
_CONFLICT_MOVES = frozenset({Move.MERGE, Move.SIBLING})
_PLACE_WAYS = {PlaceMove.TO_ROW: Direction.TO_ROW, PlaceMove.TO_FILE: Direction.TO_FILE}


class Restraint:
    """
    Follows the moves of one mirror's entries. Its state may be lost: then stopped entries try again.

    followed: the entries that have a history of moves.
    """

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._histories = MoveHistories()
        self.followed = self._histories.entries

    def release(self) -> list[EntryId]:
        """Let stopped entries try again; returns them."""
        return self._histories.forget_all()

    def discount(self, decisions: Iterable[Decision]) -> None:
        """Do not count the last moves of *decisions*: something was in their way, so they changed nothing."""
        for decision in decisions:
            self._histories.discount_last_move(decision.state.entry)

    async def restrain(self, decisions: Sequence[Decision], troubles: list[Problem]) -> list[Decision]:
        """*decisions*, but nothing for stopped entries; each of these is added to *troubles*."""
        turns = await self._turns_of(decisions)
        return [self._restrain_one(decision, turns.get(decision.state.entry), troubles) for decision in decisions]

    def _restrain_one(self, decision: Decision, turn: PlannedMove | None, troubles: list[Problem]) -> Decision:
        entry = decision.state.entry
        if turn is None:
            self._forget_at_rest(decision)
            return decision
        was_stopped = self._is_stopped(entry)
        course = self._histories.add(entry, turn)
        if not course.is_stopped:
            return decision
        problem = _problem_of(decision, course)
        troubles.append(problem)
        if not was_stopped:
            log.warning("entry_stopped", extra={"tenant": self._sides.name, "path": problem.path})
        return Decision(decision.state, Step.NOTHING, decision.move, decision.place)

    def _forget_at_rest(self, decision: Decision) -> None:
        """Forget the course of a stopped entry whose sides became equal, and of any entry that will be deleted."""
        is_equal = decision.step is Step.NOTHING and decision.move is Move.NOTHING
        if decision.step is Step.DELETE or (is_equal and self._is_stopped(decision.state.entry)):
            self._histories.forget(decision.state.entry)

    def _is_stopped(self, entry: EntryId) -> bool:
        return self._histories.history_of(entry).is_stopped

    async def _turns_of(self, decisions: Sequence[Decision]) -> dict[EntryId, PlannedMove]:
        """The turns that count. Rendering comes later, so of stopped entries the texts to be rendered are read here."""
        carried = [decision for decision in decisions if decision.step in (Step.ROW, Step.FILE)]
        moving = [
            decision for decision in carried if decision.move is not Move.INSERT and not self._is_first_save(decision)
        ]
        prepared = [decision for decision in decisions if decision.step is Step.PREPARE]
        unready = [decision for decision in prepared if self._is_stopped(decision.state.entry)]
        rows = [row for decision in unready if (row := decision.state.row)]
        digests = await load_digests(self._sides, rows) if unready else {}
        now = time.monotonic()
        moving += [decision for decision in unready if decision.state.entry in digests]
        turns = {decision.state.entry: _turn_of(decision, now, digests) for decision in moving}
        suspects = [entry for entry, turn in turns.items() if self._may_be_ours(entry, turn)]
        for entry in await self._select_written_by_us(suspects) if suspects else ():
            turns[entry] = replace(turns[entry], is_foreign=False)
        return turns

    def _is_first_save(self, decision: Decision) -> bool:
        """
        Whether a program saved a page that mirrord has not moved in the last time.

        A livelock needs moves of mirrord: an entry without any is not followed from its first save on.
        """
        is_save = decision.move is Move.TO_ROW and decision.place is PlaceMove.NOTHING
        return is_save and decision.state.entry not in self.followed and is_plain_save(decision.state)

    def _may_be_ours(self, entry: EntryId, turn: PlannedMove) -> bool:
        """Whether a trigger may have written the row's version in the transaction of the last move."""
        course = self._histories.history_of(entry)
        if not course.moves or turn.way is Direction.TO_ROW:
            return False
        last = course.moves[-1]
        return course.is_stopped or (turn.version > last.version and turn.planned_at - last.planned_at < ANSWER_SECONDS)

    async def _select_written_by_us(self, entries: Sequence[EntryId]) -> frozenset[EntryId]:
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            return await entry_versions.load_changed_by_triggers(connection, self._sides.tenant, entries)


def _turn_of(decision: Decision, at: float, digests: Mapping[EntryId, Digest]) -> PlannedMove:
    """The turn of *decision*. digests: of texts that are not rendered yet."""
    file, row, entry = decision.state.file, decision.state.row, decision.state.entry
    file_shown = ShownState(file.digest, file.path) if isinstance(file, File) else NOTHING_SHOWN
    row_shown = (
        ShownState(digests.get(entry, row.digest), row.place) if row is not None and not row.deleted else NOTHING_SHOWN
    )
    return PlannedMove(at, _way_of(decision), file_shown, row_shown, row.version if row is not None else 0)


def _way_of(decision: Decision) -> Direction:
    if decision.place in _PLACE_WAYS:
        return _PLACE_WAYS[decision.place]
    if decision.move in _CONFLICT_MOVES:
        return Direction.BOTH
    return Direction.TO_ROW if decision.step is Step.ROW else Direction.TO_FILE


def _problem_of(decision: Decision, course: MoveHistory) -> Problem:
    path = problem_path(decision)
    moves = ", ".join(turn.description for turn in course.moves)
    sentence = (
        f"{path!r} moved more than {MAX_OWN_MOVES} times within a minute although no program wrote anything new, and "
        f"was stopped; the last moves: {moves}. Two programs, or a trigger, change each other's text. Stop one of "
        "them, then save a new text. `mirrord history` says who; `mirrord check --fix` tries again with this text."
    )
    return Problem(path, "livelock", sentence, decision.state.entry)
