"""States that are not yet believed, and decisions that wait for a retry."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from mirrord.domain.entry import EMPTY_DIGEST, NO_TEXT, EntryId, File, Kind, Row, State, UnreadableFile
from mirrord.mirror.tree.tree_layout import directory_of
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove, Step, decide
from mirrord.sync.decisions.guard import QUIET_SECONDS
from mirrord.sync.decisions.move_groups import moving_entries
from mirrord.sync.decisions.tree_history import Adoption
from mirrord.sync.observation.observe import Dirty, Observation

FIRST_DELAY_SECONDS = 0.5  # seconds until something that cannot be done now is tried again, twice as long each time
MAX_QUICK_ATTEMPTS = 3  # at something that changes during the attempt
MAX_DELAY_SECONDS = 30.0  # seconds


class Retries:
    """
    State between passes; its loss costs a repeated attempt, nothing else.

    request_scan: called when only a scan of the whole tree can confirm a change.
    """

    def __init__(self, adoption: Adoption, request_scan: Callable[[], None]) -> None:
        self._adoption = adoption
        self._look_everywhere = request_scan
        self._scanned_at = 0.0
        self._unconfirmed: dict[EntryId, tuple[float, str]] = {}  # since when, at which path
        self._refused_rows: dict[EntryId, tuple[int, bool]] = {}  # version, whether it was confirmed
        self._waiting_moves: dict[EntryId, float] = {}  # since when, monotonic
        self._emptied_at: dict[str, float] = {}
        self._attempts: dict[EntryId, int] = {}
        self._quick_attempts: dict[EntryId, int] = {}

    def decide(self, observation: Observation, states: list[State]) -> list[Decision]:
        """Decide on *states*, with the knowledge from earlier attempts."""
        checked = [self._hold_refused(self._decide_one(observation, state)) for state in states]
        scanned = [self._await_scan(decision, observation) for decision in checked]
        decisions = [self._await_directory(decision, observation) for decision in scanned]
        self._adoption.note_decisions(decisions)
        return decisions

    def _decide_one(self, observation: Observation, state: State) -> Decision:
        entry = state.entry
        return decide(
            self._doubt_emptied(state),
            seen_version=observation.seen_versions.get(entry),
            adopting=self._adoption.covers(state),
            stale_places=self._adoption.has_stale_places(state),
        )

    @property
    def has_doubts(self) -> bool:
        """Whether some files are not believed yet, so that what a look shows may not be decided on as it is."""
        is_adopting = self._adoption.active or self._adoption.pending_entries
        return bool(is_adopting or self._unconfirmed or self._waiting_moves or self._emptied_at)

    def note_scan(self, began: float) -> Dirty:
        """Note a scan of the whole tree begun at *began* (monotonic); return what waited for it."""
        self._scanned_at = began
        return Dirty(frozenset(path for _, path in self._unconfirmed.values()), frozenset(self._unconfirmed))

    def await_scan(self, entry: EntryId, path: str) -> None:
        """Note that *entry* waits for a scan, which may find at another path the file that was at *path*."""
        self._unconfirmed[entry] = time.monotonic(), path
        self._look_everywhere()

    def note_refused(self, row: Row) -> None:
        """Note that this version of *row*, written by an app, has no text; the next, or a confirmed one, may have."""
        self._refused_rows[row.entry] = row.version, row.is_confirmed

    def is_refused(self, row: Row) -> bool:
        """Whether this version of the row was refused, and not confirmed since."""
        return self._refused_rows.get(row.entry) == (row.version, row.is_confirmed)

    def note_waiting(self, decisions: Iterable[Decision]) -> None:
        """Note decisions that wait: until then it is unsure which entries own the directories that moved."""
        self._waiting_moves |= dict.fromkeys(moving_entries(decisions), time.monotonic())

    def note_rest(self, entries: Iterable[EntryId]) -> None:
        """Note that nothing is left to do for these entries."""
        for entry in entries:
            self._waiting_moves.pop(entry, None)

    def next_delay(self, entry: EntryId, *, at_once: bool = False) -> float:
        """Count a failed attempt on *entry*; return the seconds before the next. at_once: the first few do not wait."""
        if at_once:
            quick = self._quick_attempts[entry] = self._quick_attempts.get(entry, 0) + 1
            if quick <= MAX_QUICK_ATTEMPTS:  # quick attempts do not lengthen later delays
                return 0.0
        attempts = self._attempts[entry] = self._attempts.get(entry, 0) + 1
        return float(min(MAX_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** min(attempts - 1, 10)))

    def note_success(self, entry: EntryId) -> None:
        """Note a successful attempt."""
        self._attempts.pop(entry, None)
        self._quick_attempts.pop(entry, None)
        self._unconfirmed.pop(entry, None)
        self._waiting_moves.pop(entry, None)

    def _doubt_emptied(self, state: State) -> State:
        """Editors empty a file before they write it: act only if it stays empty (docs/design/sync.md, row 19)."""
        file, base = state.file, state.base
        if not isinstance(file, File):
            return state
        if file.digest != EMPTY_DIGEST or base is None or base.digest in (EMPTY_DIGEST, NO_TEXT):
            self._emptied_at.pop(file.path, None)
            return state
        first = self._emptied_at.setdefault(file.path, time.monotonic())
        if not file.is_held_open and time.monotonic() - first >= QUIET_SECONDS:
            return state
        return replace(state, file=UnreadableFile(file.path, f"{file.path!r} is empty just now."))

    def _hold_refused(self, decision: Decision) -> Decision:
        """
        A refused row waits for its author; a file edit in the meantime becomes its conflict sibling.

        A file that is removed in the meantime comes back with the last text: what an app wrote outlives a deletion.
        """
        row, file, base = decision.state.row, decision.state.file, decision.state.base
        if decision.move is not Move.RENDER or row is None or not self.is_refused(row):
            return decision
        if isinstance(file, File) and base is not None and file.digest != base.digest:
            return Decision(decision.state, Step.ROW, Move.SIBLING, PlaceMove.NOTHING)
        if file is None and base is not None and row.placed and row.digest not in (None, NO_TEXT):
            return Decision(decision.state, Step.FILE, Move.CREATE, PlaceMove.NOTHING)
        return Decision(decision.state, Step.NOTHING, decision.move, PlaceMove.NOTHING)

    def _await_scan(self, decision: Decision, observation: Observation) -> Decision:
        """Postpone a decision on what may be half of a rename until the whole tree was scanned."""
        entry, path = decision.state.entry, _unconfirmed_path(decision, observation)
        if path is None:
            self._unconfirmed.pop(entry, None)
            return decision
        first, _ = self._unconfirmed.setdefault(entry, (time.monotonic(), path))
        if self._scanned_at > first:
            return decision
        self._look_everywhere()
        unsure = UnreadableFile(path, f"What is at {path!r} is on its way just now.")
        return Decision(replace(decision.state, file=unsure), Step.LATER, Move.WAIT, PlaceMove.NOTHING)

    def _await_directory(self, decision: Decision, observation: Observation) -> Decision:
        """Postpone a decision on a file in a directory that moved while an app holds its row: its owner is unsure."""
        file, oldest = decision.state.file, time.monotonic() - 2 * MAX_DELAY_SECONDS
        parent = file.place.parent if isinstance(file, File) else None
        if file is None or parent is None or parent in observation.states:
            return decision
        if self._waiting_moves.get(parent, oldest) <= oldest or decision.step is Step.NOTHING:
            return decision
        self._waiting_moves[decision.state.entry] = time.monotonic()
        unsure = UnreadableFile(file.path, f"The folder of {file.path!r} moved, and an app holds its row.")
        return Decision(replace(decision.state, file=unsure), Step.LATER, Move.WAIT, PlaceMove.NOTHING)


def _unconfirmed_path(decision: Decision, observation: Observation) -> str | None:
    """
    The path where the rest of a rename may be unseen, if that affects the decision.

    A file may have a new name if it is gone while its row changed or was deleted, if another file is at its path, or if
    only its directory is left.
    """
    file, base = decision.state.file, decision.state.base
    if file is None and base is not None and decision.move in (Move.CREATE, Move.FORGET):
        return base.path
    if not isinstance(file, File) or decision.step is Step.NOTHING:
        return None
    left_path = base.path if base is not None and file.kind is Kind.FOLDER else None
    if left_path is not None and file.path != left_path and file.path == directory_of(left_path, Kind.PAGE):
        return left_path
    return file.path if file.path in observation.owners.overtaken_paths else None
