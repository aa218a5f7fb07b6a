"""What all mirrors of a daemon share, and the parts that work at one mirror, made of it."""

from dataclasses import dataclass, field

from mirrord import app
from mirrord.config import Config
from mirrord.daemon.question_desk import QuestionDesk
from mirrord.daemon.running_mirror import RunningMirror
from mirrord.documents.derivation_schedule import DerivationLoop
from mirrord.documents.document_derivation import Deriver, PageRate, Workers
from mirrord.intake.approver import Approver
from mirrord.intake.event_derivation import Outbox
from mirrord.intake.event_files import EventReader
from mirrord.intake.request_execution import TenantContext
from mirrord.sync.decisions.pacing import FairShares
from mirrord.sync.engine import Engine


@dataclass(slots=True)
class SharedParts:
    """What all mirrors of a daemon share."""

    config: Config
    workers: Workers = field(default_factory=Workers)
    page_rate: PageRate = field(default_factory=PageRate)
    fair_shares: FairShares = field(default_factory=FairShares)

    def make_mirror(self, opened: app.OpenMirror) -> RunningMirror:
        """The mirror with everything that works at it; nothing works yet."""
        engine = Engine(opened.sides, is_adopting=opened.adopting, fair_shares=self.fair_shares)
        reader = EventReader(opened.sides, self.config.sources_dir, lambda: engine.is_idle)
        outbox = Outbox(opened.sides, reader, self.config.sources_dir)
        consequences = DerivationLoop(engine, Deriver(opened.sides, self.workers, self.page_rate), outbox.due)
        context = TenantContext(opened.sides, self.config)
        approver = Approver(context, lambda: engine.root.suspended is None)
        questions = QuestionDesk(
            context, approver.may_act, lambda: engine.is_idle and reader.has_named, reader.mark_everywhere
        )
        return RunningMirror(opened, engine, consequences, reader, outbox, approver, questions)
