"""The parts of one engine and the state of its passes, as one value."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from mirrord.db.content.entry_states import LoadedEntries
from mirrord.domain.entry import Base, EntryId
from mirrord.sync.activity import Pulse
from mirrord.sync.decisions.rewind import Adoption
from mirrord.sync.halts import Halts
from mirrord.sync.handshake import Handshake
from mirrord.sync.livelock_stops import Restraint
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.observe import Dirty
from mirrord.sync.observation.retries import Retries
from mirrord.sync.problem_list import ProblemList
from mirrord.sync.work_queue import Intake, Queue
from mirrord.sync.writing.leftover_saves import Recovery


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
    writing: new entries that are written while the next chunk is looked at. known_entries: what was just read for the
    feed's entries, so that the next look does not ask again. barred: entries that a mount blocked.
    rows_changed: set when a decision was carried out. last_done_at: monotonic time of the last one.
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
    pulse: Pulse = field(default_factory=Pulse)
    writing: Writing | None = None
    known_entries: LoadedEntries | None = None
    barred: set[EntryId] = field(default_factory=set)
    rows_changed: asyncio.Event = field(default_factory=asyncio.Event)
    last_done_at: float = 0.0


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
    )
