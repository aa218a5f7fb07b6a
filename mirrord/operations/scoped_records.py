"""Records in lists of changes within the scope of a token: what it shows of a change of a group, or of segments."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mirrord.db.content import link_rows, record_rows
from mirrord.db.database import Connection
from mirrord.documents.link_places import Parents, paths_of
from mirrord.domain.entry import EntryId, Kind, TenantId
from mirrord.domain.scope import Scope
from mirrord.operations.change_diffs import ChangedEntry, with_states
from mirrord.operations.record_limits import Group, page_of_segments, parse_group
from mirrord.operations.restore import directories_of, path_of_state
from mirrord.operations.undo import load_histories
from mirrord.operations.undo_plan import NOWHERE, EntryHistory, EntryState
from mirrord.research.collections.collection_rules import CATEGORIES, COLLECTIONS, PageGroup, key_of
from mirrord.research.collections.group_visibility import shows_directories

Versions = Mapping[EntryId, Collection[int]]  # by entry, those since the beginning of the period
Categories = Mapping[str, Sequence[PageGroup | None]]


@dataclass(frozen=True, slots=True)
class RecordSights:
    """
    What a scope shows of groups and of the pages of segments, now and since the beginning of a period.

    living: categories and collections that are there now. categories, past_categories: by the key of a name what the
    category with it is, and what such a category was in the period; None: it cannot be read. shown_pages: of segments,
    those that the scope shows now. lasting_pages: those of them that it has shown all the time.
    """

    scope: Scope
    living: Mapping[EntryId, Group] = field(default_factory=dict)
    categories: Categories = field(default_factory=dict)
    past_categories: Categories = field(default_factory=dict)
    shown_pages: Collection[EntryId] = ()
    lasting_pages: Collection[EntryId] = ()

    def within(self, changed: ChangedEntry) -> ChangedEntry | None:
        """
        What is shown of a record's change: what was hidden at first came into being. None: nothing is shown.

        A group that is gone is never named: whether its name is free would tell of hidden groups.
        """
        page = page_of_segments(changed.name)
        if page is not None:
            is_shown, was_shown = page in self.shown_pages, page in self.lasting_pages
        else:
            is_shown = self._shows_now(self.living.get(changed.entry)) and self._shows_now(_group_of(changed.after))
            was_shown = self._showed(_group_of(changed.before))
        if not is_shown or (changed.after.is_deleted and not was_shown):
            return None
        return changed if was_shown else with_states(changed, NOWHERE, changed.after)

    def _shows_now(self, group: Group | None) -> bool:
        return group is not None and shows_directories(self.scope, _directories_of(group, self.categories))

    def _showed(self, group: Group | None) -> bool:
        """Whether *group* was shown with each of the texts that its categories had in the period."""
        return self._shows_now(group) and shows_directories(self.scope, _directories_of(group, self.past_categories))


def _directories_of(group: Group | None, categories: Categories) -> list[str | None]:
    if group is None:
        return []
    kind, content = group
    if kind is CATEGORIES:
        return [content.directory]
    groups = [each for member in content.members for each in categories.get(key_of(member), (None,))]
    return [each.directory if each is not None else None for each in groups]


def _group_of(state: EntryState) -> Group | None:
    return parse_group(state.name, state.text) if not state.is_deleted else None


async def load_sights(
    connection: Connection, tenant: TenantId, changes: Collection[ChangedEntry], scope: Scope, versions: Versions
) -> RecordSights:
    """What decides about the records among *changes*."""
    records = [changed for changed in changes if changed.kind is Kind.RECORD]
    if scope.is_unlimited or not records:
        return RecordSights(scope)
    rows = await record_rows.load_living(connection, tenant, [changed.entry for changed in records])
    living = {row.entry: group for row in rows if (group := parse_group(row.name, row.text)) is not None}
    states = [state for changed in records for state in (changed.before, changed.after)]
    groups = [*living.values(), *(parse_group(state.name, state.text) for state in states)]
    categories, past_categories = await _load_categories(connection, tenant, groups, versions)
    pages = {page for changed in records if (page := page_of_segments(changed.name)) is not None}
    paths = await paths_of(connection, tenant, pages)
    shown_pages = {page for page in pages if page in paths and scope.can_read(paths[page])}
    lasting_pages = shown_pages - await _load_newcomers(connection, tenant, shown_pages, scope, versions)
    return RecordSights(scope, living, categories, past_categories, shown_pages, lasting_pages)


async def _load_categories(
    connection: Connection, tenant: TenantId, groups: Sequence[Group | None], versions: Versions
) -> tuple[Categories, Categories]:
    """What the categories of *groups* are, and what they were and are."""
    collections = [group for kind, group in filter(None, groups) if kind is COLLECTIONS]
    keys = {key_of(member) for group in collections for member in group.members}
    rows = await record_rows.load_living_categories(connection, tenant, keys)
    present, past = defaultdict[str, list[PageGroup | None]](list), defaultdict[str, list[PageGroup | None]](list)
    for row in rows:
        _add_category(present, row.name, row.text)
        _add_category(past, row.name, row.text)
    for history in await _load_since(connection, tenant, "record", [row.entry for row in rows], versions):
        for state in history.states:
            if not state.is_deleted:
                _add_category(past, state.name or "", state.text)
    return present, past


def _add_category(categories: dict[str, list[PageGroup | None]], name: str, text: str | None) -> None:
    group = parse_group(name, text)
    categories[key_of(name.partition("/")[2])].append(group[1] if group is not None else None)


async def _load_newcomers(
    connection: Connection, tenant: TenantId, pages: Collection[EntryId], scope: Scope, versions: Versions
) -> set[EntryId]:
    """Those of *pages* that may have been hidden at some time of the period: they, or a folder above, were moved."""
    spots = await link_rows.load_places(connection, tenant, pages)
    parents = await link_rows.load_parents(connection, tenant, [spot.place.parent for spot in spots.values()])
    histories = await _load_since(connection, tenant, "page", {*pages, *parents}, versions)
    moved = {history.entry for history in histories if len({*map(_place_of, _real_states(history))}) > 1}
    newcomers = {page for page in pages if page not in spots}
    newcomers |= {page for page, spot in spots.items() if not moved.isdisjoint(_lineage(spot.place.parent, parents))}
    of_pages = [history for history in histories if history.entry in pages]
    places = [state.parent for history in of_pages for state in history.states]
    directories = await directories_of(connection, tenant, places)
    for history in of_pages:
        for state in _real_states(history):
            is_placed = state.parent is None or state.parent in directories
            if not (is_placed and scope.can_read(path_of_state(state, Kind.PAGE, directories))):
                newcomers.add(history.entry)
    return newcomers


def _real_states(history: EntryHistory) -> Sequence[EntryState]:
    return [state for state in history.states if state.version]


def _place_of(state: EntryState) -> tuple[EntryId | None, str | None]:
    return state.parent, state.name


def _lineage(folder: EntryId | None, parents: Parents) -> Iterator[EntryId]:
    """*folder* and the folders above it."""
    while folder is not None:
        yield folder
        folder = parents[folder][0] if folder in parents else None


async def _load_since(
    connection: Connection, tenant: TenantId, table: str, entries: Collection[EntryId], versions: Versions
) -> Sequence[EntryHistory]:
    """The histories since the beginning of the period of those entries that have changed in it."""
    chosen = {entry: set(versions[entry]) for entry in entries if entry in versions}
    return await load_histories(connection, tenant, {table: chosen}) if chosen else []
