"""The handles of one mirror: its tree and its rows."""

import time
from dataclasses import dataclass, field

from mirrord.db.content.entry_writes import StatementBuilder
from mirrord.db.database import Database, Lease
from mirrord.domain.dialect import USUAL_DAYS, DayFormats, Dialect
from mirrord.domain.entry import Actor, MirrorId, TenantId
from mirrord.domain.link_rule import LinkRule
from mirrord.errors import Fenced
from mirrord.markdown.content_loss import ContentLoss
from mirrord.mirror.mirror_state import State
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.written_copies import WrittenEntries
from mirrord.sync.decisions.stale_buffers import OldBuffers
from mirrord.sync.observation.file_look import Looker
from mirrord.sync.observation.former_paths import FormerPaths
from mirrord.sync.observation.identity_evidence import KnownCopies
from mirrord.sync.observation.occupied_paths import OccupiedPaths
from mirrord.sync.observation.own_changes import OwnChanges
from mirrord.sync.observation.save_companion import SaveCompanion
from mirrord.sync.observation.unrecorded_files import UnrecordedFiles

DAEMON_ACTOR = Actor("daemon", "mirrord")


FRESH_LEASE_SECONDS = (
    10.0  # seconds after its renewal for which a lease allows writes of files; it lasts longer in Postgres
)


@dataclass(slots=True)
class Sides:
    """
    Everything an engine acts on, for one tenant's tree.

    lease: None: not held, nothing is written. crowded: why no texts are written into files now; None: there is space.
    links: which renames and moves links follow. dialect: of the tenant's pages. content_loss: what becomes of tables
    that Markdown lacks. is_content_halted: many documents of apps are held. writer: makes the statements of this
    mirror. is_first: when the mirror was opened, its tenant had no past, neither mirrors nor changes, so that nothing
    of an earlier daemon has to be looked for. companion: what is written with a save, such as the row of an app.
    """

    name: str
    tenant: TenantId
    mirror: MirrorId
    tree: Tree
    journal: Journal
    state: State
    looker: Looker
    database: Database
    lease: Lease | None = None
    crowded: str | None = None
    is_first: bool = False
    old_buffers: OldBuffers = field(default_factory=OldBuffers)
    known_copies: KnownCopies = field(default_factory=KnownCopies)
    occupied_paths: OccupiedPaths = field(default_factory=OccupiedPaths)
    former_paths: FormerPaths = field(default_factory=FormerPaths)
    own_changes: OwnChanges = field(default_factory=OwnChanges)
    unrecorded_files: UnrecordedFiles = field(default_factory=UnrecordedFiles)
    written_entries: WrittenEntries = field(default_factory=WrittenEntries)
    links: LinkRule = LinkRule.TOOLS
    dialect: Dialect = Dialect.PLAIN
    days: DayFormats = USUAL_DAYS
    content_loss: ContentLoss = ContentLoss.DEGRADE
    is_content_halted: bool = False
    companion: SaveCompanion | None = None
    writer: StatementBuilder = field(init=False)
    _renewed: float = field(default_factory=lambda: _clock_seconds())

    def __post_init__(self) -> None:
        self.writer = StatementBuilder(self.tenant, self.mirror)

    def hold_lease(self, lease: Lease) -> None:
        """Note that the lease was taken just now."""
        self.lease = lease
        self.note_renewal()

    def note_renewal(self) -> None:
        """Note that the lease was renewed just now."""
        self._renewed = _clock_seconds()

    def check_lease(self) -> None:
        """
        Check that the lease is fresh; call this before a file is written, because a file has no fence of its own.

        Raises Fenced when the last renewal is too old, as after a long stop of this process or its machine.
        """
        if _clock_seconds() - self._renewed > FRESH_LEASE_SECONDS:
            raise Fenced("The lease on this mirror was not renewed lately; files are left as they are.")

    @property
    def fence(self) -> Lease:
        """The lease, which every write of rows names. Raises Fenced when it is no longer held."""
        if self.lease is None:
            raise Fenced("The lease on this mirror was lost; rows are left as they are.")
        return self.lease


def _clock_seconds() -> float:
    """A clock in seconds that goes on while the machine sleeps, independent of the wall clock."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
