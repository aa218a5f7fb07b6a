"""Rules for sides without a known common past: nothing is deleted, old bytes are stale (docs/design/sync.md)."""

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
    The state of an adoption.

    active: until all marked entries have been worked on. pending_entries: entries that are not finished by then; the
    rules hold for them until they are. changed_entries: entries of which the adoption changed a side. inserted_entries:
    rows made from their files since the adoption began, so their past is known.
    """

    active: bool = False
    cause: Rewind = Rewind.UNKNOWN
    changed_entries: set[EntryId] = field(default_factory=set)
    pending_entries: set[EntryId] = field(default_factory=set)
    inserted_entries: set[EntryId] = field(default_factory=set)

    def begin(self, cause: Rewind) -> None:
        """Start: the common past of the sides is not known, or one of them went back in time."""
        self.active, self.cause, self.changed_entries, self.inserted_entries = True, cause, set(), set()

    @property
    def is_in_force(self) -> bool:
        """Whether the rules of adoption hold for any entry."""
        return self.active or bool(self.pending_entries)

    @property
    def is_rewinding(self) -> bool:
        """Whether they hold because the tree went back in time."""
        return self.is_in_force and self.cause is Rewind.TREE

    def covers(self, entry: EntryId) -> bool:
        """Whether the rules of adoption hold for *entry*."""
        return (self.active and entry not in self.inserted_entries) or entry in self.pending_entries

    def has_stale_places(self, entry: EntryId) -> bool:
        """Whether a file outside its row's place is there because the tree went back in time."""
        return self.cause is Rewind.TREE and self.covers(entry)

    def note_decisions(self, decisions: Iterable[Decision]) -> None:
        """Note pending decisions; these rules hold for them even after the adoption has ended."""
        if self.active:
            self.pending_entries |= {
                decision.state.entry for decision in decisions if decision.step is not Step.NOTHING
            }

    def note_carried_out(self, decisions: Iterable[Decision]) -> None:
        """Note decisions that were carried out."""
        for decision in decisions:
            entry = decision.state.entry
            if self.covers(entry) and (decision.move not in _SILENT or decision.place.changes_a_side):
                self.changed_entries.add(entry)
            if not decision.again:
                self.pending_entries.discard(entry)
                if self.active and decision.move is Move.INSERT:
                    self.inserted_entries.add(entry)


def is_stale(decision: Decision) -> bool:
    """Whether a file came back although its row is deleted; its bytes are in the history, so nothing is lost."""
    return decision.move is Move.TRASH and decision.state.base is None
