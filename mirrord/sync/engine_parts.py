"""The parts of one engine, the state of its passes, and its recent activity, for `status` and the log."""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from traceback import clear_frames

from mirrord.db.content.altered_rows import refusal_of
from mirrord.db.content.entry_states import LoadedEntries
from mirrord.domain.entry import Base, EntryId
from mirrord.domain.measures import Latencies, Work
from mirrord.errors import Fenced, OutOfMemory, Unavailable
from mirrord.mirror.process_setup import has_memory
from mirrord.sync.decisions.entry_decision import Decision, Move, Step
from mirrord.sync.decisions.tree_history import Adoption
from mirrord.sync.handshake import Handshake
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.observe import Dirty, Terms
from mirrord.sync.observation.retries import Retries
from mirrord.sync.observation.waiting_plans import WaitingPlans
from mirrord.sync.problem_list import ProblemList
from mirrord.sync.stops import Halts, Restraint
from mirrord.sync.work_queue import Intake, Queue
from mirrord.sync.writing.apply import problem_path
from mirrord.sync.writing.leftover_saves import Recovery

IMPORT_ENTRIES = 200  # entries waiting: an import
LONG_SCAN_SECONDS = 1.0  # seconds after which a scan is reported


@dataclass(slots=True)
class ImportProgress:
    """The progress of an import: a time in which many entries wait."""

    _done_before: int = 0  # entries done when it began

    def progress(self, waiting: int, done: int) -> Work | None:
        """
        The progress; None: few entries wait. done: since the start of the daemon.

        Poll every few seconds: the import is taken to begin at the first poll that finds many.
        """
        if waiting < IMPORT_ENTRIES:
            self._done_before = done
            return None
        return Work("import", done - self._done_before, done - self._done_before + waiting)


@dataclass(slots=True)
class ScanProgress:
    """A scan of a whole tree. expected: the probable number of files and directories; seen: their number so far."""

    expected: int
    count: int = 0
    _started_at: float = 0.0

    def __post_init__(self) -> None:
        self._started_at = time.monotonic()

    def set_count(self, count: int) -> None:
        """Set the number seen so far; called by the thread that scans."""
        self.count = count

    def progress(self) -> Work | None:
        """The progress; None: the scan began just now, and is probably over soon."""
        if time.monotonic() - self._started_at < LONG_SCAN_SECONDS:
            return None
        return Work("scan", self.count, self.expected if self.expected >= self.count > 0 else None)


log = logging.getLogger(__name__)

MAX_RECENT_MOVES = 6  # things done that are remembered

FILE_TO_ROW, ROW_TO_FILE = "file → row", "row → file"


@dataclass(slots=True)
class Pulse:
    """
    The activity of one engine. Times are Unix seconds, None: not since the start; sentences: None is good.

    stepped_at: the engine's last step, by the monotonic clock; None: no step yet. recent_moves: (time, direction, path)
    of the last moves, the newest last. file_to_row, row_to_file: seconds from the notice of a change to the end of
    carrying it over. scans: seconds of scans of the whole tree.
    """

    last_file_to_row: float | None = None
    last_row_to_file: float | None = None
    outage: str | None = None
    moves: int = 0
    stepped_at: float | None = None
    recent_moves: deque[tuple[float, str, str]] = field(default_factory=lambda: deque(maxlen=MAX_RECENT_MOVES))
    file_to_row: Latencies = field(default_factory=Latencies)
    row_to_file: Latencies = field(default_factory=Latencies)
    scans: Latencies = field(default_factory=Latencies)

    def step(self) -> None:
        """Note a step: the engine took a turn, finished a pass, or came to the next part of a long one."""
        self.stepped_at = time.monotonic()

    def is_stuck(self, patience: float) -> bool:
        """Whether the engine stands still for longer than *patience* seconds; an idle one takes turns, too."""
        return self.stepped_at is not None and time.monotonic() - self.stepped_at > patience

    def note_done(self, tenant: str, decisions: Sequence[Decision], queue: Queue) -> None:
        """Note and log the decisions carried out for *tenant*. queue: has the times when changes were noticed."""
        self.moves += len(decisions)
        now = time.time()
        for decision in decisions:
            direction = _direction_of(decision)
            if direction == FILE_TO_ROW:
                self.last_file_to_row = now
            elif direction == ROW_TO_FILE:
                self.last_row_to_file = now
            self._measure(decision, queue)
        for decision in decisions[-MAX_RECENT_MOVES:]:
            if direction := _direction_of(decision):
                self.recent_moves.append((now, direction, problem_path(decision)))
        for (move, place), count in Counter(
            (decision.move.name, decision.place.name) for decision in decisions
        ).items():
            facts = {"tenant": tenant, "move": move, "place": place, "entries": count}
            log.info("moved", extra=facts | ({"entry": str(decisions[0].state.entry)} if len(decisions) == 1 else {}))

    def _measure(self, decision: Decision, queue: Queue) -> None:
        """Add the latency of one decision; deletions are not measured, because they wait on purpose."""
        now = time.monotonic()
        if decision.step is Step.ROW and decision.state.file is not None:
            if (noticed := queue.pop_notice_time(decision.state.file.path)) is not None:
                self.file_to_row.add(now - noticed, now)
        elif decision.step is Step.FILE and (noticed := queue.pop_notice_time(decision.state.entry)) is not None:
            self.row_to_file.add(now - noticed, now)


def _direction_of(decision: Decision) -> str | None:
    """The direction of a move; None: it changed nothing that people see."""
    if decision.step is Step.ROW or decision.move is Move.ENTOMB:
        return FILE_TO_ROW
    return ROW_TO_FILE if decision.step is Step.FILE or decision.move is Move.TRASH else None


@dataclass(frozen=True, slots=True)
class Writing:
    """New entries that are being written into rows, and their future bases."""

    dirty: Dirty
    bases: list[Base]
    task: asyncio.Task[None]


@dataclass(slots=True)
class EngineParts:
    """
    The parts of one engine, and the state of its passes.

    request_scan: called when the cache of the tree is in doubt. restraint: the entries that are stopped.
    waiting_plans: the applied change sets that are not in rows yet.
    writing: new entries that are written while the next chunk is looked at. known_entries: what was just read for the
    feed's entries, so that the next look does not ask again. barred: entries that a mount blocked. weighed_contents:
    pages that are held and were not too many.
    rows_changed: set when a decision was carried out. last_done_at: monotonic time of the last one. last_done_count: of
    how many of one pass it was the last.
    """

    sides: Sides
    request_scan: Callable[[], None]
    adoption: Adoption
    queue: Queue
    intake: Intake
    retries: Retries
    halts: Halts
    problems: ProblemList
    recovery: Recovery
    handshake: Handshake
    restraint: Restraint
    waiting_plans: WaitingPlans
    pulse: Pulse = field(default_factory=Pulse)
    writing: Writing | None = None
    known_entries: LoadedEntries | None = None
    barred: set[EntryId] = field(default_factory=set)
    weighed_contents: frozenset[EntryId] = frozenset()
    rows_changed: asyncio.Event = field(default_factory=asyncio.Event)
    last_done_at: float = 0.0
    last_done_count: int = 0

    @property
    def terms(self) -> Terms:
        """What holds for an observation now."""
        coming_bases = self.writing.bases if self.writing else ()
        return Terms(coming_bases, self.adoption.is_in_force, self.adoption.is_rewinding)


async def failure_of(parts: EngineParts, work: Awaitable[None]) -> Exception | None:
    """
    Await *work*; returns the error with which it failed unexpectedly, or because a trigger of an app refuses it.

    Raises OutOfMemory if nearly no memory is left: another process has to go on.
    """
    try:
        await work
    except (Unavailable, Fenced, OutOfMemory):
        raise
    except Exception as error:  # one item must not stop the others
        if refusal_of(error) is None:
            _end_without_memory(parts, error)
            log.exception("pass_failed", extra={"tenant": parts.sides.name})
        return error
    return None


def _end_without_memory(parts: EngineParts, error: Exception) -> None:
    """Raise OutOfMemory if *error*, of any kind, came while no memory was left; not if one item wanted too much."""
    clear_frames(error.__traceback__)  # what was read for the item is in them
    if not has_memory():
        log.error("no_memory", extra={"tenant": parts.sides.name, "error": type(error).__name__})
        raise OutOfMemory("There is no memory left; this process ends, and is started again.") from None


def make_parts(sides: Sides, request_scan: Callable[[], None], *, is_adopting: bool) -> EngineParts:
    """New parts for the engine of *sides*. is_adopting: whether it begins with an adoption."""
    adoption, queue = Adoption(is_adopting), Queue()
    return EngineParts(
        sides=sides,
        request_scan=request_scan,
        adoption=adoption,
        queue=queue,
        intake=Intake(queue, sides.looker),
        retries=Retries(adoption, request_scan),
        halts=Halts(sides),
        problems=ProblemList(sides),
        recovery=Recovery(sides),
        handshake=Handshake(sides),
        restraint=Restraint(sides),
        waiting_plans=WaitingPlans(sides.tree),
    )
