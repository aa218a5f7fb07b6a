"""The two sides of one mirror: its tree and its rows."""

from dataclasses import dataclass

from mirrord.db.connect import Database, Lease
from mirrord.db.writes import Writer
from mirrord.domain.entry import Actor, MirrorId, TenantId
from mirrord.mirror.journal import Journal
from mirrord.mirror.state import State
from mirrord.mirror.tree import Tree
from mirrord.sync.look import Looker

FILE_ACTOR = Actor("human", "file")  # whoever saved the file; a tool's name is joined from its event
DAEMON_ACTOR = Actor("daemon", "mirrord")


@dataclass(slots=True)
class Sides:
    """Everything an engine acts on, for one tenant's tree. lease None: not held, nothing is written."""

    name: str
    tenant: TenantId
    mirror: MirrorId
    tree: Tree
    journal: Journal
    state: State
    looker: Looker
    database: Database
    lease: Lease | None = None

    @property
    def writer(self) -> Writer:
        """Makes the statements of this mirror."""
        return Writer(self.tenant, self.mirror)
