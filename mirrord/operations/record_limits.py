"""Records in an undo within the scope of a token: which of them it shows, and what it may not take back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mirrord.db.content import record_rows
from mirrord.db.content.record_rows import NamedText
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, Kind, TenantId, parse_id
from mirrord.domain.scope import Scope
from mirrord.errors import Damaged
from mirrord.operations.undo_plan import Step, UndoPlan
from mirrord.research.collections.collection_rules import COLLECTIONS, GROUP_KINDS, GroupKind, PageGroup, key_of
from mirrord.research.collections.collection_yaml import read_group
from mirrord.research.collections.group_visibility import directories_of_group, owns_directories, shows_directories

OUTSIDE = "it is, or would be, outside what this token may write"
WHOLE_TENANT = "a token with patterns makes, renames and removes no categories and collections"

Group = tuple[GroupKind, PageGroup]


@dataclass(frozen=True, slots=True)
class Groups:
    """
    Categories and collections that can be read.

    living: the present ones that a plan names, by entry. categories: those that they consist of, or would, by the key
    of the name.
    """

    living: Mapping[EntryId, Group]
    categories: Mapping[str, PageGroup]


@dataclass(frozen=True, slots=True)
class RecordLimits:
    """page_places: of each page with segments where the scope looks for it, then where the undo leaves it."""

    scope: Scope
    groups: Groups
    page_places: Mapping[EntryId, Sequence[str]]

    def shows(self, entry: EntryId, name: str) -> bool:
        """Whether the scope shows the record *name*: segments with their page, groups as they are now."""
        page = page_of_segments(name)
        if page is not None:
            places = self.page_places.get(page)
            return places is not None and self.scope.can_read(places[0])
        group = self.groups.living.get(entry)
        return group is not None and shows_directories(self.scope, self._directories_of(group))

    def obstacle(self, step: Step) -> str | None:
        """Why the token may not take *step* of a record that it sees; None: it may."""
        page = page_of_segments(step.now.name or "")
        if page is not None:
            return None if all(map(self.scope.can_write, self.page_places[page])) else OUTSIDE
        if step.after.is_deleted or step.is_placed:
            return WHOLE_TENANT
        before, after = self.groups.living[step.entry], parse_group(step.after.name, step.after.text)
        if after is None or not self._directories_of(after):  # without a category it would be hidden
            return OUTSIDE
        directories = [*self._directories_of(before), *self._directories_of(after)]
        return None if owns_directories(self.scope, directories) else OUTSIDE

    def _directories_of(self, group: Group) -> list[str | None]:
        return directories_of_group(*group, lambda name: self.groups.categories.get(key_of(name)))


async def load_groups(connection: Connection, tenant: TenantId, plan: UndoPlan) -> Groups:
    """The categories and collections that decide what a scope shows of the records in *plan*."""
    entries = [step.entry for step in plan.steps if step.kind is Kind.RECORD]
    entries += [clash.entry for clash in plan.clashes if clash.kind is Kind.RECORD]
    if not entries:
        return Groups({}, {})
    rows = await record_rows.load_living(connection, tenant, entries)
    living = {row.entry: group for row in rows if (group := _group_of(row)) is not None}
    planned = [parse_group(step.after.name, step.after.text) for step in plan.steps if step.kind is Kind.RECORD]
    keys = _category_keys([*living.values(), *(group for group in planned if group is not None)])
    categories = await record_rows.load_living_categories(connection, tenant, keys)
    groups = [group for row in categories if (group := _group_of(row)) is not None]
    return Groups(living, {key_of(category.name): category for _, category in groups})


def parse_group(name: str | None, text: str | None) -> Group | None:
    """The category or collection with the place *name* and this text; None: it is none, or cannot be read."""
    kind_name, _, key = (name or "").partition("/")
    if kind_name not in GROUP_KINDS or text is None:
        return None
    kind = GROUP_KINDS[kind_name]
    try:
        return kind, read_group(kind, key, text)
    except Damaged:
        return None


def page_of_segments(name: str) -> EntryId | None:
    """The page whose segments are the record with the place *name*; None: it is another record."""
    kind, _, key = name.partition("/")
    page = parse_id(key) if kind == "segment" else None
    return EntryId(page) if page is not None else None


def _group_of(row: NamedText) -> Group | None:
    return parse_group(row.name, row.text)


def _category_keys(groups: Iterable[Group]) -> set[str]:
    return {key_of(member) for kind, group in groups if kind is COLLECTIONS for member in group.members}
