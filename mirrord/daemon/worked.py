"""One tenant's mirror at work: its engine, and whoever else minds changes of its tree."""

import time
from dataclasses import dataclass

from mirrord import app
from mirrord.approving.approver import Approver
from mirrord.domain.approval import FOLDER as REQUESTS
from mirrord.domain.event import FOLDER
from mirrord.domain.measures import Work
from mirrord.domain.place import RECORDS
from mirrord.mirror.ignore import GOVERNING
from mirrord.mirror.layout import may_be_synced
from mirrord.mirror.saves import is_told
from mirrord.sync.consequences import Consequences
from mirrord.sync.engine import Engine
from mirrord.sync.events import EventReader
from mirrord.sync.outbox import Outbox


@dataclass(slots=True)
class Worked:
    """One tenant's mirror at work."""

    opened: app.Opened
    engine: Engine
    consequences: Consequences
    events: EventReader
    outbox: Outbox
    approver: Approver

    def mark(self, path: str) -> None:
        """Something changed at *path*; the root's is ""."""
        if not path:
            self.look_everywhere()
        elif path in GOVERNING or may_be_synced(path):
            self.engine.queue.mark([path], noticed=time.monotonic())
        if path == RECORDS or path.startswith(FOLDER):
            self.events.mark(path)
        if path == RECORDS or path.startswith(REQUESTS):
            self.approver.mark(path)

    def is_told(self, path: str) -> bool:
        """Whether nothing more is to come of what happened at *path*."""
        looker = self.engine.sides.looker
        return path != "" and is_told(looker.tree, looker.index, looker.ignore, path)

    def look_everywhere(self) -> None:
        """Anything in the tree may have changed."""
        self.engine.look_everywhere()
        self.events.look_everywhere()
        self.approver.look_everywhere()

    def look(self, *, thoroughly: bool) -> None:
        """On both sides; thoroughly: read what looks unchanged, too."""
        self.look_everywhere()
        self.engine.ring()
        self.engine.acknowledge_soon()
        if thoroughly:
            self.engine.read_everything()
            self.engine.compare_soon()

    def long_work(self) -> list[Work]:
        """What takes long now."""
        others = (self.consequences.long_work, self.approver.long_work)
        return [*self.engine.long_work(), *(one for one in others if one is not None)]

    @property
    def idle(self) -> bool:
        """Whether nothing known now waits."""
        return self.engine.idle and self.events.idle and self.approver.idle
