"""Undos within the scope of a token: they take back what it may write, and links in all other pages."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from mirrord.db.content import dialect_rows
from mirrord.db.database import Connection
from mirrord.documents.link_places import paths_of
from mirrord.domain.dialect import Dialect
from mirrord.domain.entry import EntryId, Kind, TenantId
from mirrord.domain.scope import Scope
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.page_links import links_of
from mirrord.operations.record_limits import OUTSIDE, Groups, RecordLimits, load_groups, page_of_segments
from mirrord.operations.restore import directories_of, path_of_state
from mirrord.operations.undo_plan import Clash, Step, Surroundings, UndoPlan

NOT_OWNED = "not all below it is this token's to write"


async def limit_plan(connection: Connection, tenant: TenantId, plan: UndoPlan, scope: Scope) -> UndoPlan:
    """*plan* without what *scope* hides, but for links there; what it only lets read is left as a clash."""
    if scope.is_unlimited:
        return plan
    segmented = _pages_of_segments(plan)
    entries = [*(step.entry for step in plan.steps), *(clash.entry for clash in plan.clashes), *segmented]
    parents = [state.parent for step in plan.steps for state in (step.now, step.after)]
    paths = await paths_of(connection, tenant, entries)
    directories = await directories_of(connection, tenant, parents)
    groups = await load_groups(connection, tenant, plan)
    dialect = await dialect_rows.load_dialect(connection, tenant)
    return _Limits(scope, plan, paths, directories, groups, dialect).apply()


async def limit_surroundings(
    connection: Connection, tenant: TenantId, around: Surroundings, scope: Scope
) -> Surroundings:
    """*around* without the folders that *scope* does not let write, which stay when they are empty."""
    if scope.is_unlimited:
        return around
    paths = await directories_of(connection, tenant, around.made_folders)
    folders = {folder: state for folder, state in around.made_folders.items() if scope.can_write(paths[folder])}
    return replace(around, made_folders=folders)


@dataclass(frozen=True)
class _Limits:
    """
    paths: present ones of entries, of deleted ones the last. directories: of the children of folders. dialect: of the
    tenant's pages.
    """

    scope: Scope
    plan: UndoPlan
    paths: Mapping[EntryId, str]
    directories: Mapping[EntryId | None, str]
    groups: Groups
    dialect: Dialect

    def apply(self) -> UndoPlan:
        visible_steps, link_steps, clashes = list[Step](), list[Step](), list[Clash]()
        for step in self.plan.steps:
            if not self._shows_step(step):
                link_steps += [step] if _changes_links_only(step, self.dialect) else []
            elif (reason := self._obstacle(step)) is None or _changes_links_only(step, self.dialect):
                visible_steps.append(step)
            else:
                clashes.append(Clash(step.entry, step.kind, step.now.name or "", reason))
        clashes += [clash for clash in self.plan.clashes if self._shows_clash(clash)]
        named_count = len(visible_steps) + len(link_steps) + len(clashes)
        has_rest = named_count < len(self.plan.steps) + len(self.plan.clashes)
        return UndoPlan(visible_steps, clashes, link_steps, has_rest)

    @cached_property
    def _records(self) -> RecordLimits:
        steps = {step.entry: step for step in self.plan.steps}
        pages = {page: steps.get(page) for page in _pages_of_segments(self.plan)}
        return RecordLimits(
            self.scope,
            self.groups,
            {page: places for page, step in pages.items() if (places := self._places(page, step))},
        )

    def _places(self, page: EntryId, step: Step | None) -> list[str]:
        """Where the scope looks for a page, then where the undo leaves it; none: nothing is known of it."""
        after = self._path_after(step) if step is not None else None
        looked_at = after if step is not None and step.now.is_deleted else self.paths.get(page)
        return [looked_at, after or looked_at] if looked_at is not None else []

    def _shows_step(self, step: Step) -> bool:
        """Whether the scope shows the entry where it is, or where it would live again."""
        if step.kind is Kind.RECORD:
            return self._records.shows(step.entry, step.now.name or "")
        return self._shows_path(self._path_after(step) if step.now.is_deleted else self.paths.get(step.entry))

    def _shows_clash(self, clash: Clash) -> bool:
        if clash.kind is Kind.RECORD:
            return self._records.shows(clash.entry, clash.name)
        return self._shows_path(self.paths.get(clash.entry))

    def _shows_path(self, path: str | None) -> bool:
        return path is not None and self.scope.can_read(path)

    def _obstacle(self, step: Step) -> str | None:
        if step.kind is Kind.RECORD:
            return self._records.obstacle(step)
        path_after = self._path_after(step)
        if path_after is None:
            return OUTSIDE
        places = {path_after} if step.now.is_deleted else {path_after, self.paths[step.entry]}
        if not all(map(self.scope.can_write, places)):
            return OUTSIDE
        leaves = step.after.is_deleted or (step.is_placed and not step.now.is_deleted)
        if step.kind is Kind.ATTACHMENT or not leaves:
            return None
        return None if all(map(self.scope.owns, places)) else NOT_OWNED

    def _path_after(self, step: Step) -> str | None:
        """The path after the step; None: a folder that nothing is known of."""
        if not step.is_placed:
            return self.paths.get(step.entry)
        return path_of_state(step.after, step.kind, self.directories) if step.after.parent in self.directories else None


def _pages_of_segments(plan: UndoPlan) -> Collection[EntryId]:
    names = [step.now.name for step in plan.steps if step.kind is Kind.RECORD]
    names += [clash.name for clash in plan.clashes if clash.kind is Kind.RECORD]
    return {page for name in names if (page := page_of_segments(name or "")) is not None}


def _changes_links_only(step: Step, dialect: Dialect) -> bool:
    if step.kind is not Kind.PAGE or step.is_placed or step.now.is_deleted or step.after.is_deleted:
        return False
    if step.now.index != step.after.index:  # another name of its file
        return False
    before, after = step.now.text, step.after.text
    if before is None or after is None:
        return False
    return _mask_links(PageText(before, dialect)) == _mask_links(PageText(after, dialect))


def _mask_links(page: PageText) -> str:
    """The text of *page* without its links."""
    text, parts, end = page.text, list[str](), 0
    for link in sorted(links_of(page), key=lambda link: link.start):
        if link.start >= end:
            parts.append(text[end : link.start])
            end = link.end
    return "\0".join([*parts, text[end:]])
