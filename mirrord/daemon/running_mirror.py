"""One tenant's mirror at work: its engine, and everybody else who needs changes of its tree."""

import time
from dataclasses import dataclass

from mirrord import app
from mirrord.documents.derivation_schedule import DerivationLoop
from mirrord.domain.approval import APPROVALS_FOLDER as REQUESTS
from mirrord.domain.event import EVENTS_FOLDER
from mirrord.domain.measures import Work
from mirrord.domain.place import RECORDS
from mirrord.intake.approver import Approver
from mirrord.intake.event_derivation import Outbox
from mirrord.intake.event_files import EventReader
from mirrord.mirror.seen_files import is_complete
from mirrord.mirror.tree.ignore_rules import PATTERN_FILES
from mirrord.mirror.tree.tree_layout import may_be_synced
from mirrord.sync.engine import Engine


@dataclass(slots=True)
class RunningMirror:
    """One tenant's running mirror."""

    opened: app.OpenMirror
    engine: Engine
    consequences: DerivationLoop
    events: EventReader
    outbox: Outbox
    approver: Approver

    def mark(self, path: str) -> None:
        """Mark a change at *path*; the root's path is ""."""
        if not path:
            self.look_everywhere()
        elif path in PATTERN_FILES or may_be_synced(path):
            self.engine.queue.mark([path], noticed=time.monotonic())
        if path == RECORDS or path.startswith(EVENTS_FOLDER):
            self.events.mark(path)
        if path == RECORDS or path.startswith(REQUESTS):
            self.approver.mark(path)

    def is_complete(self, path: str) -> bool:
        """Whether the change at *path* is complete, not half of a rename or of a save."""
        looker = self.engine.sides.looker
        return path != "" and is_complete(looker.tree, looker.index, looker.ignore, path)

    def look_everywhere(self) -> None:
        """Mark the whole tree as possibly changed."""
        self.engine.request_scan()
        self.events.mark_everywhere()
        self.approver.look_everywhere()

    def mark_both_sides(self, *, thoroughly: bool) -> None:
        """Look at both sides; thoroughly: read unchanged-looking files, too."""
        self.look_everywhere()
        self.engine.notify()
        self.engine.request_acknowledgement()
        if thoroughly:
            self.engine.request_reread()
            self.engine.request_comparison()

    def long_work(self) -> list[Work]:
        """The long work under way."""
        others = (self.consequences.long_work, self.approver.long_work)
        return [*self.engine.list_long_work(), *(work for work in others if work is not None)]

    @property
    def idle(self) -> bool:
        """Whether no change known now waits."""
        return self.engine.is_idle and self.events.is_idle and self.approver.idle
