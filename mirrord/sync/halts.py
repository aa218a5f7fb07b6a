"""Halts: deletions are collected, checked again, weighed together, then carried over or halted."""

import logging
from collections.abc import Iterable, Sequence

from mirrord.db import open_issues
from mirrord.db.content import entry_states
from mirrord.db.open_issues import Halt
from mirrord.domain.entry import EntryId, Kind, State
from mirrord.domain.place import RECORD_DIRECTORIES
from mirrord.mirror.tree.tree_layout import parent_of
from mirrord.sync import deletions
from mirrord.sync.decisions.entry_decision import Decision, Move, Step
from mirrord.sync.decisions.guard import Alarm, check_all, check_emptied, weigh_deletions
from mirrord.sync.decisions.tree_history import Rewind, rewind_sentence
from mirrord.sync.deletions import GatheredDeletions, find_segments_deleted_with_page
from mirrord.sync.observation.copied_files import take_places_of_copies
from mirrord.sync.observation.mirror_handles import DAEMON_ACTOR, Sides
from mirrord.sync.writing.row_writes import Outcome, write_to_rows

log = logging.getLogger(__name__)

ADVICE = " `mirrord halts` shows it with the two commands that settle it."


class Halts:
    """
    Decides whether deletions of one mirror may spread. While a halt waits for a person, no other deletion does.

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

    async def load(self) -> None:
        """Read the halts and the decisions about them."""
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            self._standing_halts = await open_issues.load_halts(connection, self._sides.tenant, self._sides.mirror)

    async def carry_over(self, decisions: Sequence[Decision], allowed: frozenset[EntryId] = frozenset()) -> Outcome:
        """Carry deletions over to the other side, or halt. allowed: entries a person has decided about."""
        outcome = Outcome()
        for side in deletions.SIDES:
            of_side = [decision for decision in decisions if deletions.side_of(decision) == side]
            outcome.add(await self._carry_over(side, of_side, allowed))
        return outcome

    async def load_decided_halts(self) -> list[Halt]:
        """Read the halts that a person has decided about; call close() when the decision is carried out."""
        await self.load()
        return [halt for halt in self._standing_halts if halt.decision is not None]

    async def close(self, halt: Halt) -> None:
        """Close a halt whose decision has been carried out."""
        sides = self._sides
        async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
            await open_issues.close_halt(connection, sides.tenant, halt.id)
        await self.load()

    async def halt_rewind(self, rewind: Rewind, settled: Iterable[EntryId]) -> None:
        """Halt deletions because a side went back in time; the halt says what the comparison has changed."""
        entries = list(settled)
        text = rewind_sentence(rewind, len(entries))
        if text is not None:
            await self._add_halt(Alarm(rewind.value, text), None, entries)

    async def _carry_over(self, side: str, decisions: Sequence[Decision], allowed: frozenset[EntryId]) -> Outcome:
        waiting_ids = self._waiting_entries(side) - allowed
        decisions = [decision for decision in decisions if decision.state.entry not in waiting_ids]
        outcome = Outcome()
        if side == "file":
            outcome.stale = await take_places_of_copies(self._sides, decisions)
            moved_ids = {decision.state.entry for decision in outcome.stale}
            decisions = [decision for decision in decisions if decision.state.entry not in moved_ids]
        asked_ids = [decision.state.entry for decision in decisions if decision.state.entry not in allowed]
        uncounted_ids = allowed | await find_segments_deleted_with_page(self._sides, decisions)
        counted_ids = [entry for entry in asked_ids if entry not in uncounted_ids]
        alarm = await self._find_alarm(
            side, counted_ids, sum(1 for decision in decisions if is_page_or_attachment(decision.state))
        )
        if alarm is not None:
            await self._add_halt(alarm, side, asked_ids)
            decisions = [decision for decision in decisions if decision.state.entry in allowed]
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
        if any(halt.decision is None for halt in self._standing_halts):  # a decided halt does not delay other deletions
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

    async def _add_halt(self, alarm: Alarm, side: str | None, entries: Sequence[EntryId]) -> None:
        sides = self._sides
        async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
            halt = open_issues.NewHalt(alarm.reason, side, alarm.sentence + ADVICE, entries)
            await open_issues.add_halt(connection, sides.tenant, sides.mirror, halt)
        await self.load()
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
