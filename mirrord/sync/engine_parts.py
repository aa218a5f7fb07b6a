"""The parts of one engine, as one value that the engine, its passes and their conclusion share."""

from collections.abc import Callable
from dataclasses import dataclass

from mirrord.sync.activity import Pulse
from mirrord.sync.decisions.rewind import Adoption
from mirrord.sync.halts import Halts
from mirrord.sync.handshake import Handshake
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.retries import Retries
from mirrord.sync.problem_list import ProblemList
from mirrord.sync.work_queue import Intake, Queue
from mirrord.sync.writing.leftover_saves import Recovery


@dataclass(frozen=True, slots=True)
class EngineParts:
    """The parts of one engine. request_scan: called when the cache of the tree is in doubt."""

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
    pulse: Pulse


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
        pulse=Pulse(),
    )
