"""The pass over sides whose common past is not known: nothing is deleted, old bytes are stale (DESIGN §3, SYNC 1.1)."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from mirrord.domain.entry import EntryId
from mirrord.sync.decision import Decision, Step
from mirrord.sync.plan import Move
from mirrord.sync.rewind import Rewind

_SILENT = frozenset({Move.NOTHING, Move.ADOPT, Move.FORGET})


@dataclass(slots=True)
class Adoption:
    """
    active: until all that was marked has been worked on; what could not be settled by then is waiting, and adopted
    when it can be. settled: entries of which a side was changed meanwhile. inserted: rows made from their files since
    it began, whose past is therefore known.
    """

    active: bool = False
    cause: Rewind = Rewind.UNKNOWN
    settled: set[EntryId] = field(default_factory=set)
    waiting: set[EntryId] = field(default_factory=set)
    inserted: set[EntryId] = field(default_factory=set)

    def begin(self, cause: Rewind) -> None:
        """Sides met of which the past is not known, or that went back."""
        self.active, self.cause, self.settled, self.inserted = True, cause, set(), set()

    @property
    def is_going_on(self) -> bool:
        """Whether the rules of adoption hold for anything."""
        return self.active or bool(self.waiting)

    @property
    def is_rewinding(self) -> bool:
        """Whether they hold because the tree went back."""
        return self.is_going_on and self.cause is Rewind.TREE

    def covers(self, entry: EntryId) -> bool:
        """Whether the rules of adoption hold for *entry*."""
        return (self.active and entry not in self.inserted) or entry in self.waiting

    def has_stale_places(self, entry: EntryId) -> bool:
        """Whether a file that is not in its row's place is there because the tree went back."""
        return self.cause is Rewind.TREE and self.covers(entry)

    def decided(self, decisions: Iterable[Decision]) -> None:
        """What is to be done now, and will be done by these rules even if it takes longer."""
        if self.active:
            self.waiting |= {one.state.entry for one in decisions if one.step is not Step.NOTHING}

    def done(self, decisions: Iterable[Decision]) -> None:
        """It has been."""
        for decision in decisions:
            entry = decision.state.entry
            if self.covers(entry) and (decision.move not in _SILENT or decision.place.changes_a_side):
                self.settled.add(entry)
            if not decision.again:
                self.waiting.discard(entry)
                if self.active and decision.move is Move.INSERT:
                    self.inserted.add(entry)


def is_stale(decision: Decision) -> bool:
    """Whether a file came back although its row is deleted: its bytes are in the history, so nothing is lost."""
    return decision.move is Move.TRASH and decision.state.base is None
