"""One tenant's running mirror: its engine, and the other readers of changes in its tree."""

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
    """One tenant's running mirror."""

    opened: app.Opened
    engine: Engine
    consequences: Consequences
    events: EventReader
    outbox: Outbox
    approver: Approver

    def mark(self, path: str) -> None:
        """Mark a change at *path*; the root's path is ""."""
        if not path:
            self.look_everywhere()
        elif path in GOVERNING or may_be_synced(path):
            self.engine.queue.mark([path], noticed=time.monotonic())
        if path == RECORDS or path.startswith(FOLDER):
            self.events.mark(path)
        if path == RECORDS or path.startswith(REQUESTS):
            self.approver.mark(path)

    def is_told(self, path: str) -> bool:
        """Whether the change at *path* is complete, not half of a rename or of a save."""
        looker = self.engine.sides.looker
        return path != "" and is_told(looker.tree, looker.index, looker.ignore, path)

    def look_everywhere(self) -> None:
        """Mark the whole tree as possibly changed."""
        self.engine.look_everywhere()
        self.events.look_everywhere()
        self.approver.look_everywhere()

    def look(self, *, thoroughly: bool) -> None:
        """Look at both sides; thoroughly: read unchanged-looking files, too."""
        self.look_everywhere()
        self.engine.ring()
        self.engine.acknowledge_soon()
        if thoroughly:
            self.engine.read_everything()
            self.engine.compare_soon()

    def long_work(self) -> list[Work]:
        """The long work under way."""
        others = (self.consequences.long_work, self.approver.long_work)
        return [*self.engine.long_work(), *(work for work in others if work is not None)]

    @property
    def idle(self) -> bool:
        """Whether no change known now waits."""
        return self.engine.idle and self.events.idle and self.approver.idle
