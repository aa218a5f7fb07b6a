"""What an engine does not believe yet, or does not try again yet."""

import time
from collections.abc import Callable
from dataclasses import replace

from mirrord.domain.entry import EMPTY, EntryId, Kind
from mirrord.domain.state import NO_TEXT, File, Row, State, Unknown
from mirrord.mirror.layout import directory_of
from mirrord.sync.adoption import Adoption
from mirrord.sync.decision import Decision, Step, decide
from mirrord.sync.guard import QUIET
from mirrord.sync.observe import Dirty, Observation
from mirrord.sync.place import PlaceMove
from mirrord.sync.plan import Move

FIRST_DELAY = 0.5  # seconds until something that cannot be done now is tried again, twice as long each time
QUICK_ATTEMPTS = 3  # at something that changed while it was done
LONGEST_DELAY = 30.0  # seconds


class Doubts:
    """
    Memory between passes; losing it costs a repeated attempt, nothing else.

    look_everywhere: called when only a look at the whole tree can tell.
    """

    def __init__(self, adoption: Adoption, look_everywhere: Callable[[], None]) -> None:
        self._adoption = adoption
        self._look_everywhere = look_everywhere
        self._looked = 0.0
        self._half_seen: dict[EntryId, tuple[float, str]] = {}  # since when, and where
        self._refused: dict[EntryId, int] = {}
        self._emptied: dict[str, float] = {}
        self._attempts: dict[EntryId, int] = {}
        self._quick_attempts: dict[EntryId, int] = {}

    def decide(self, observation: Observation, states: list[State]) -> list[Decision]:
        """Decisions for *states*, with what is known from earlier attempts."""
        tempered = [self._tempered(self._decide(observation, state)) for state in states]
        decisions = [self._confirmed(decision, observation) for decision in tempered]
        self._adoption.decided(decisions)
        return decisions

    def _decide(self, observation: Observation, state: State) -> Decision:
        entry = state.entry
        return decide(
            self._believed(state),
            seen=observation.seen.get(entry),
            adopting=self._adoption.covers(entry),
            stale_places=self._adoption.has_stale_places(entry),
        )

    def looked_everywhere(self, began: float) -> Dirty:
        """The whole tree was seen after *began*, by the monotonic clock; what waited for that."""
        self._looked = began
        return Dirty(frozenset(path for _, path in self._half_seen.values()), frozenset(self._half_seen))

    def refuse(self, entry: EntryId, version: int) -> None:
        """The views an app wrote as *version* have no faithful text; the next version may."""
        self._refused[entry] = version

    def is_refused(self, row: Row) -> bool:
        """Whether this version of the row was refused."""
        return self._refused.get(row.entry) == row.version

    def delay(self, entry: EntryId, *, at_once: bool = False) -> float:
        """How many seconds to wait before the next attempt on *entry*. at_once: the first few need not wait."""
        if at_once:
            quick = self._quick_attempts[entry] = self._quick_attempts.get(entry, 0) + 1
            if quick <= QUICK_ATTEMPTS:  # they say nothing of how long it takes, and make no later one wait longer
                return 0.0
        attempts = self._attempts[entry] = self._attempts.get(entry, 0) + 1
        return float(min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(attempts - 1, 10)))

    def done(self, entry: EntryId) -> None:
        """An attempt succeeded."""
        self._attempts.pop(entry, None)
        self._quick_attempts.pop(entry, None)
        self._half_seen.pop(entry, None)

    def _believed(self, state: State) -> State:
        """An editor empties a file before it writes it: an emptied file is believed when it stays so (row 19)."""
        file, base = state.file, state.base
        if not isinstance(file, File):
            return state
        if file.digest != EMPTY or base is None or base.digest in (EMPTY, NO_TEXT):
            self._emptied.pop(file.path, None)
            return state
        first = self._emptied.setdefault(file.path, time.monotonic())
        if not file.held and time.monotonic() - first >= QUIET:
            return state
        return replace(state, file=Unknown(file.path, f"{file.path!r} is empty just now."))

    def _tempered(self, decision: Decision) -> Decision:
        """A refused row waits for its author; a file edit meanwhile becomes its conflict sibling (DESIGN §4)."""
        row, file, base = decision.state.row, decision.state.file, decision.state.base
        if decision.move is not Move.RENDER or row is None or not self.is_refused(row):
            return decision
        if isinstance(file, File) and base is not None and file.digest != base.digest:
            return Decision(decision.state, Step.ROW, Move.SIBLING, PlaceMove.NOTHING)
        return Decision(decision.state, Step.NOTHING, decision.move, PlaceMove.NOTHING)

    def _confirmed(self, decision: Decision, observation: Observation) -> Decision:
        """What may only be half of what happens in the tree is decided after a look at all of it."""
        entry, path = decision.state.entry, _half_seen(decision, observation)
        if path is None or self._adoption.covers(entry):
            self._half_seen.pop(entry, None)
            return decision
        first, _ = self._half_seen.setdefault(entry, (time.monotonic(), path))
        if self._looked > first:
            return decision
        self._look_everywhere()
        unsure = Unknown(path, f"What is at {path!r} is on its way just now.")
        return Decision(replace(decision.state, file=unsure), Step.LATER, Move.WAIT, PlaceMove.NOTHING)


def _half_seen(decision: Decision, observation: Observation) -> str | None:
    """
    A path where more may have happened than was seen, if that matters.

    A file that is gone while its row changed, or went, may have another name by now; so may one at whose path another
    file is, and one that left its directory behind.
    """
    file, base = decision.state.file, decision.state.base
    if file is None and base is not None and decision.move in (Move.CREATE, Move.FORGET):
        return base.path
    if not isinstance(file, File) or decision.step is Step.NOTHING:
        return None
    if base is not None and base.path is not None and _left_directory(file, base.path):
        return base.path
    return file.path if file.path in observation.overtaken else None


def _left_directory(file: File, path: str) -> bool:
    """Whether of the page at *path* only its directory is there; elsewhere such a one is as it was found."""
    return file.kind is Kind.FOLDER and file.path != path and file.path == directory_of(path, Kind.PAGE)
