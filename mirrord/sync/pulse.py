"""What an engine did lately, for `status` and the log."""

import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mirrord.sync.decision import Decision, Step
from mirrord.sync.plan import Move

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Pulse:
    """
    What `status` tells of an engine. Times are Unix seconds, None: not since the start; sentences: None is good.

    stepped_at: when it last went on, by the monotonic clock; None: it has not begun.
    """

    last_file_to_row: float | None = None
    last_row_to_file: float | None = None
    outage: str | None = None
    moves: int = 0
    stepped_at: float | None = None

    def step(self) -> None:
        """The engine goes on: it took a turn, finished a pass, or came to the next part of a long one."""
        self.stepped_at = time.monotonic()

    def is_stuck(self, patience: float) -> bool:
        """Whether the engine stands still for longer than *patience* seconds; an idle one takes turns, too."""
        return self.stepped_at is not None and time.monotonic() - self.stepped_at > patience

    def tick(self, tenant: str, done: Sequence[Decision]) -> None:
        """Note and log what was done for *tenant*."""
        self.moves += len(done)
        for decision in done:
            if decision.step is Step.ROW or decision.move is Move.ENTOMB:
                self.last_file_to_row = time.time()
            elif decision.step is Step.FILE or decision.move is Move.TRASH:
                self.last_row_to_file = time.time()
        for (move, place), count in Counter((one.move.name, one.place.name) for one in done).items():
            facts = {"tenant": tenant, "move": move, "place": place, "entries": count}
            log.info("moved", extra=facts | ({"entry": str(done[0].state.entry)} if len(done) == 1 else {}))
