"""What a change set changed, by entry: its state before and after, and the difference of its texts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from mirrord.db.content import undo_rows
from mirrord.db.content.undo_rows import Chosen
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, Kind, TenantId
from mirrord.domain.history_rule import describe_removal
from mirrord.operations.three_way_diff import diff_lines
from mirrord.operations.undo import load_histories
from mirrord.operations.undo_plan import EntryHistory, EntryState


@dataclass(frozen=True, slots=True)
class ChangedEntry:
    """An entry before the first and after the last version of a change set. changes: such as `edited`."""

    entry: EntryId
    kind: Kind
    before: EntryState
    after: EntryState
    changes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name it got; of a deleted one the last."""
        return self.after.name or self.before.name or str(self.entry)

    @property
    def removal(self) -> str | None:
        """The sentence about a text of it that was removed; None: both are there, or they are equal."""
        before, after = self.before, self.after
        if (before.is_deleted, before.digest) == (after.is_deleted, after.digest):
            return None
        for state in (before, after):
            if state.text_removed_at is not None and not state.is_deleted:
                return describe_removal(state.version, state.text_removed_at)
        return None

    def diff(self) -> Sequence[str]:
        """The unified diff of its text; empty for attachments and moves; a sentence if one of the texts was removed."""
        if (sentence := self.removal) is not None:
            return [sentence]
        old = "" if self.before.is_deleted else self.before.text or ""
        new = "" if self.after.is_deleted else self.after.text or ""
        return diff_lines(old, new, self.before.name or "nothing", self.after.name or "nothing")


async def load_changed(connection: Connection, tenant: TenantId, change_set: UUID) -> list[ChangedEntry]:
    """The entries of a change set, those first that it created."""
    return await _load_entries(connection, tenant, await undo_rows.load_of_change_set(connection, tenant, change_set))


async def load_first_changed(
    connection: Connection, tenant: TenantId, change_set: UUID, limit: int
) -> tuple[list[ChangedEntry], int]:
    """As above, but of at most *limit* entries, as their texts take memory; and the number of the others."""
    chosen = await undo_rows.load_of_change_set(connection, tenant, change_set)
    first = _first_of(chosen, limit)
    return await _load_entries(connection, tenant, first), _count_entries(chosen) - _count_entries(first)


def _first_of(chosen: Chosen, limit: int) -> Chosen:
    first: dict[str, dict[EntryId, set[int]]] = {}
    for table, versions in chosen.items():
        if (room := limit - _count_entries(first)) > 0:
            first[table] = dict(sorted(versions.items())[:room])
    return first


def _count_entries(chosen: Chosen) -> int:
    return sum(map(len, chosen.values()))


async def _load_entries(connection: Connection, tenant: TenantId, chosen: Chosen) -> list[ChangedEntry]:
    changed = [changed_entry(history) for history in await load_histories(connection, tenant, chosen)]
    return sorted(changed, key=lambda entry: (entry.changes, entry.name))


def changed_entry(history: EntryHistory) -> ChangedEntry:
    """An entry before its first chosen version and after its last."""
    last = max(history.chosen)
    after = next(state for state in history.states if state.version == last)
    before = history.states[0]
    return ChangedEntry(history.entry, history.kind, before, after, _changes_between(before, after))


def with_states(changed: ChangedEntry, before: EntryState, after: EntryState) -> ChangedEntry:
    """The change as of an entry that was and is so."""
    return replace(changed, before=before, after=after, changes=_changes_between(before, after))


def _changes_between(before: EntryState, after: EntryState) -> tuple[str, ...]:
    if before.is_deleted:
        beginning = "created" if before.version == 0 else "restored"
        return ("created and deleted",) if after.is_deleted else (beginning,)
    if after.is_deleted:
        return ("deleted",)
    is_moved = (before.parent, before.name) != (after.parent, after.name)
    is_edited = before.digest != after.digest
    changes = (("edited",) if is_edited else ()) + (("moved",) if is_moved else ())
    return changes or ("as it was",)
