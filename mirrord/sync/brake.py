"""The brake: deletions are gathered, looked at once more, weighed together, and carried over or halted."""

import logging
from collections.abc import Iterable, Sequence

from mirrord.db import attention, states
from mirrord.db.attention import Halt
from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.record import DIRECTORIES
from mirrord.domain.state import State
from mirrord.mirror.layout import parent_of
from mirrord.sync import deletions
from mirrord.sync.along import following
from mirrord.sync.copied import take_places_of_copies
from mirrord.sync.decision import Decision, Step
from mirrord.sync.deletions import Gathered
from mirrord.sync.guard import Alarm, check_all, check_emptied, weigh
from mirrord.sync.plan import Move
from mirrord.sync.rewind import Rewind, sentence
from mirrord.sync.rows import Outcome, to_rows
from mirrord.sync.sides import DAEMON_ACTOR, Sides

log = logging.getLogger(__name__)

ADVICE = " `mirrord halts` shows it with the two commands that settle it."


class Brake:
    """
    Decides whether deletions of one mirror may spread. While a halt waits for a person, no others do.

    resting: until when decisions are not tried again that could not be carried out, by the monotonic clock.
    """

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self.gathered = Gathered()
        self.resting = 0.0
        self._open: list[Halt] = []

    @property
    def halted(self) -> bool:
        """Whether a halt stands, decided or not."""
        return bool(self._open)

    async def load(self) -> None:
        """See what halts stand, and what was decided about them."""
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            self._open = await attention.halts(connection, self._sides.tenant, self._sides.mirror)

    async def carry_over(self, gone: Sequence[Decision], allowed: frozenset[EntryId] = frozenset()) -> Outcome:
        """Carry deletions over to the other side, or halt. allowed: entries a person has decided about."""
        outcome = Outcome()
        for side in deletions.SIDES:
            of_side = [one for one in gone if deletions.side_of(one) == side]
            outcome.add(await self._carry_over(side, of_side, allowed))
        return outcome

    async def take_decisions(self) -> list[Halt]:
        """Halts a person has decided about; call close() when that is carried out."""
        await self.load()
        return [halt for halt in self._open if halt.decision is not None]

    async def close(self, halt: Halt) -> None:
        """What was decided has been done."""
        sides = self._sides
        async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
            await attention.close_halt(connection, sides.tenant, halt.id)
        await self.load()

    async def halt_rewind(self, rewind: Rewind, settled: Iterable[EntryId]) -> None:
        """A side went back in time and has been settled with the other: say what was done; no deletion spreads."""
        entries = list(settled)
        text = sentence(rewind, len(entries))
        if text is not None:
            await self._halt(Alarm(rewind.value, text), None, entries)

    async def _carry_over(self, side: str, gone: Sequence[Decision], allowed: frozenset[EntryId]) -> Outcome:
        waiting = self._waiting(side) - allowed
        gone = [one for one in gone if one.state.entry not in waiting]
        outcome = Outcome()
        if side == "file":
            outcome.stale = await take_places_of_copies(self._sides, gone)
            elsewhere = {one.state.entry for one in outcome.stale}
            gone = [one for one in gone if one.state.entry not in elsewhere]
        asked = [one.state.entry for one in gone if one.state.entry not in allowed]
        uncounted = allowed | await following(self._sides, gone)
        counted = [entry for entry in asked if entry not in uncounted]
        alarm = await self._alarm(side, counted, sum(1 for one in gone if is_page_or_attachment(one.state)))
        if alarm is not None:
            await self._halt(alarm, side, asked)
            gone = [one for one in gone if one.state.entry in allowed]
        if gone:
            outcome.add(await self._act(side, gone, allowed))
        self.gathered.happened(side, sum(1 for one in outcome.done if one.state.entry not in uncounted))
        return outcome

    async def _act(self, side: str, gone: Sequence[Decision], allowed: frozenset[EntryId]) -> Outcome:
        """Few rows that vanished are made again from their files; only a person can mean that they vanished."""
        if side == "file":
            return await deletions.entomb(self._sides, gone)
        if side == "row":
            return await deletions.trash(self._sides, gone)
        meant = [one for one in gone if side == "vanished" and one.state.entry in allowed]
        others = [one for one in gone if side != "vanished" or one.state.entry not in allowed]
        outcome = await deletions.trash(self._sides, meant) if meant else Outcome()
        outcome.add(await to_rows(self._sides, others, {}))
        return outcome

    async def _alarm(self, side: str, asked: Sequence[EntryId], files: int) -> Alarm | None:
        if not asked:
            return None
        if any(halt.decision is None for halt in self._open):  # those that are decided delay nothing else
            return Alarm("halted", "More deletions wait, because deletions of this tenant are halted.")
        seen, hidden = await self._count_based()  # `rm -rf *` spares the records, and is an accident all the same
        if side == "file" and (alarm := check_emptied(self._count_files(), seen)):
            return alarm
        if side != "file" and (alarm := check_all(side, files, seen)):
            return alarm
        return weigh(side, len(asked), self.gathered.count_recent(side), seen + hidden)

    async def _halt(self, alarm: Alarm, side: str | None, entries: Sequence[EntryId]) -> None:
        sides = self._sides
        async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
            await attention.add_halt(
                connection, sides.tenant, sides.mirror, alarm.reason, side, alarm.sentence + ADVICE, entries
            )
        await self.load()
        log.warning("halted", extra={"tenant": sides.name, "reason": alarm.reason, "entries": len(entries)})

    def _waiting(self, side: str) -> frozenset[EntryId]:
        """Deletions that wait for a person, or to be carried out: nobody is asked about them twice."""
        return frozenset(entry for halt in self._open if halt.side == side for entry in halt.entries)

    async def _count_based(self) -> tuple[int, int]:
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            return await states.count_based(connection, self._sides.tenant, self._sides.mirror)

    def _count_files(self) -> int:
        """Of the files that are no records."""
        paths = self._sides.looker.index.paths()
        return sum(1 for path in paths if "." in path.rpartition("/")[2] and parent_of(path) not in DIRECTORIES)


def is_page_or_attachment(state: State) -> bool:
    """Whether the entry is more than a folder, and no record."""
    return state.base is not None and state.base.kind in (Kind.PAGE, Kind.ATTACHMENT)


def restored(decisions: Iterable[Decision]) -> list[Decision]:
    """The losses among *decisions* turned round: files come back from rows, rows from files."""
    back = {
        Move.ENTOMB: (Step.FILE, Move.CREATE),
        Move.TRASH: (Step.ROW, Move.REVIVE),
        Move.TO_ROW: (Step.FILE, Move.TO_FILE),
        Move.REINSERT: (Step.ROW, Move.REINSERT),
    }
    return [Decision(one.state, *back[one.move], one.place) for one in decisions if one.step is Step.DELETE]
