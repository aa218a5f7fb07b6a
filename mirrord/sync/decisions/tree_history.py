"""Whose tree is this, has a side gone back in time, and the pass after that, which deletes nothing. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto

from mirrord.domain.entry import EntryId, File, MirrorId, State, TenantId
from mirrord.mirror.tree_marker import Marker
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove, Step


class Start(Enum):
    """The ways a tree and its mirror row come together."""

    RESUME = auto()  # rule 1: the id matches
    MOVED = auto()  # rule 2: the same mirror at another path
    COPIED = auto()  # rule 2: the other path still carries it; a new mirror
    NEW = auto()  # rule 3: neither id nor mirror row
    RECLAIM = auto()  # rule 4: the id is lost, the tree is recognised
    HALT = auto()  # rules 2, 5: it cannot be decided


@dataclass(frozen=True, slots=True)
class KnownMirror:
    """A mirror row of this tenant."""

    mirror: MirrorId
    host: str | None
    root: str | None
    leased: bool  # a daemon holds its lease now


@dataclass(frozen=True, slots=True)
class Circumstances:
    """
    The facts that can be seen at start.

    host, root: of this tree. old_root_carries: whether the recorded root still has the same id; None: cannot be seen.
    recognised: share (0 to 1) of the recorded mirror's base paths that exist in this tree. is_current: whether the tree
    has the counters of its mirror's row, which another host wrote: it is that host's tree, or a copy since which
    nothing happened.
    """

    tenant: TenantId
    host: str
    root: str
    old_root_carries: bool | None = None
    recognised: float = 0.0
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class StartDecision:
    """mirror: None: a new id is made. adopting: the first pass deletes nothing."""

    start: Start
    mirror: MirrorId | None
    adopting: bool
    sentence: str = ""


def decide_start(marker: Marker | None, mirrors: list[KnownMirror], circumstances: Circumstances) -> StartDecision:
    """How to start on this tree."""
    if marker is not None and marker.tenant_id == circumstances.tenant:
        return _decide_with_marker(marker, mirrors, circumstances)
    at_root = next((row for row in mirrors if (row.host, row.root) == (circumstances.host, circumstances.root)), None)
    if at_root is None and marker is None:
        return StartDecision(Start.NEW, None, adopting=True)
    if at_root is not None and circumstances.recognised >= 0.5:
        return StartDecision(Start.RECLAIM, at_root.mirror, adopting=True)
    if at_root is None:
        sentence = "This tree's .mirrord/id belongs to another tenant."
    else:
        sentence = "This tree has no .mirrord/id and is not the one that was mirrored here: an unmounted disk?"
    return StartDecision(Start.HALT, None, adopting=True, sentence=sentence)


def _decide_with_marker(marker: Marker, mirrors: list[KnownMirror], circumstances: Circumstances) -> StartDecision:
    row = next((row for row in mirrors if row.mirror == marker.mirror), None)
    if row is None:
        # The database does not know this mirror (restored from before it): nothing may be deleted.
        return StartDecision(Start.NEW, marker.mirror, adopting=True)
    if (row.host, row.root) == (circumstances.host, circumstances.root):
        return StartDecision(Start.RESUME, row.mirror, adopting=False)
    if circumstances.old_root_carries is False and not row.leased:
        return StartDecision(Start.MOVED, row.mirror, adopting=False)
    if circumstances.old_root_carries:
        return StartDecision(Start.COPIED, None, adopting=True)
    if circumstances.is_current and (not row.leased or row.root == circumstances.root):
        return StartDecision(Start.MOVED, row.mirror, adopting=False)  # a lease that is held keeps it from writing
    return StartDecision(
        Start.HALT,
        None,
        adopting=True,
        sentence=f"This tree was mirrored at {row.host}:{row.root}; whether it was copied or moved cannot be seen.",
    )


class Rewind(Enum):
    """The side that is older than this mirror has seen it."""

    NONE = "none"
    FIRST = "first"  # no side: the mirror is new, or ended before its first adoption did, and made all its bases itself
    UNKNOWN = "unknown"  # the tree has no counters: it is new, or its state was lost
    MOVED = "moved"  # the database is on another cluster or timeline, and has everything
    TREE = "tree-rewind"
    DATABASE = "database-rewind"


@dataclass(frozen=True, slots=True)
class Counters:
    """
    The counters of both sides.

    tree_acks: None: the tree has none of this mirror; 0: its first adoption began here. remembered: the database still
    has the newest version of a page that the tree knows. same_epoch: the cluster, its timeline and its number are those
    that the tree knows.
    """

    tree_acks: int | None
    row_acks: int
    tree_seq: int
    row_seq: int
    remembered: bool
    same_epoch: bool


def find_rewind(counters: Counters) -> Rewind:
    """
    The side that went back.

    The tree is written first, so a crash between the two leaves it one ahead, never behind. A database that has the
    acknowledgement had the page before: if the page is missing nevertheless, it was removed on purpose.
    """
    if counters.tree_acks is None:
        return Rewind.UNKNOWN
    behind = counters.tree_acks - counters.row_acks
    if counters.row_seq < counters.tree_seq or behind > 1 or (behind == 1 and not counters.remembered):
        return Rewind.DATABASE
    if counters.tree_acks < counters.row_acks:
        return Rewind.TREE
    if counters.tree_acks == 0:
        return Rewind.FIRST
    return Rewind.NONE if counters.same_epoch else Rewind.MOVED


_SENTENCES = {
    Rewind.TREE: (
        "The tree was put back to an earlier state: {count} pages and files were brought up to the newest version "
        "again, and bytes no version ever had were taken as edits. Nothing was deleted, and no deletion spreads."
    ),
    Rewind.DATABASE: (
        "The database was put back to an earlier state: {count} pages and files were compared again, and texts that "
        "only the tree still had became versions again. Nothing was deleted, and no deletion spreads."
    ),
}


def rewind_sentence(rewind: Rewind, count: int) -> str | None:
    """The sentence for a person; None: nothing was lost, so there is nothing to decide."""
    text = _SENTENCES.get(rewind)
    return text.format(count=count) if text else None


_SILENT = frozenset({Move.NOTHING, Move.ADOPT, Move.FORGET})


@dataclass(slots=True)
class Adoption:
    """
    The state of an adoption.

    active: until all marked entries have been worked on. pending_entries: entries that are not finished by then; the
    rules hold for them until they are. changed_entries: entries of which the adoption changed a side. settled_entries:
    entries of which both sides were seen or made equal since the adoption began, so their past is known.
    """

    active: bool = False
    cause: Rewind = Rewind.UNKNOWN
    changed_entries: set[EntryId] = field(default_factory=set)
    pending_entries: set[EntryId] = field(default_factory=set)
    settled_entries: set[EntryId] = field(default_factory=set)

    def begin(self, cause: Rewind) -> None:
        """Start: the common past of the sides is not known, or one of them went back in time."""
        self.active, self.cause, self.changed_entries, self.settled_entries = True, cause, set(), set()

    @property
    def is_in_force(self) -> bool:
        """Whether the rules of adoption hold for any entry."""
        return self.active or bool(self.pending_entries)

    @property
    def is_rewinding(self) -> bool:
        """Whether they hold because the tree went back in time."""
        return self.is_in_force and self.cause is Rewind.TREE

    def covers(self, state: State) -> bool:
        """Whether the rules of adoption hold for the entry of *state*: its past in this tree is not known."""
        if self.cause is Rewind.FIRST and state.base is not None:
            return False
        return (self.active and state.entry not in self.settled_entries) or state.entry in self.pending_entries

    def has_stale_places(self, state: State) -> bool:
        """Whether a file outside its row's place is there because the tree went back in time."""
        return self.cause is Rewind.TREE and self.covers(state)

    def note_decisions(self, decisions: Iterable[Decision]) -> None:
        """Note pending decisions; these rules hold for them even after the adoption has ended."""
        for decision in decisions:
            if _is_agreed(decision):
                self._settle(decision.state.entry)
            elif self.active and decision.step is not Step.NOTHING and self.covers(decision.state):
                self.pending_entries.add(decision.state.entry)

    def note_carried_out(self, decisions: Iterable[Decision]) -> None:
        """Note decisions that were carried out."""
        for decision in decisions:
            entry = decision.state.entry
            if self.covers(decision.state) and (decision.move not in _SILENT or decision.place.changes_a_side):
                self.changed_entries.add(entry)
            if not decision.again:
                self._settle(entry)

    def _settle(self, entry: EntryId) -> None:
        self.pending_entries.discard(entry)
        if self.active and self.cause is not Rewind.FIRST:  # there the base alone tells
            self.settled_entries.add(entry)


def _is_agreed(decision: Decision) -> bool:
    """Whether the file was seen, and is what base and row say."""
    is_seen = decision.state.base is not None and isinstance(decision.state.file, File)
    return is_seen and decision.move is Move.NOTHING and decision.place is PlaceMove.NOTHING


def is_stale(decision: Decision) -> bool:
    """Whether a file came back although its row is deleted; its bytes are in the history, so nothing is lost."""
    return decision.move is Move.TRASH and decision.state.base is None
