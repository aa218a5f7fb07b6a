"""Links of one binding: where the pages of addresses are, and which rows have the pages that links mean."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mirrord.binding.app_rows import AppRow, text_of
from mirrord.binding.links.link_texts import (
    NO_TARGETS,
    Addresses,
    LinkTargets,
    lost_ids,
    pair_addresses,
    targets_of,
    with_addresses,
    with_files,
)
from mirrord.binding.mappings.link_rules import LinkRules
from mirrord.binding.mappings.mapping import Mapping as BoundMapping
from mirrord.binding.two_way_plan import PageSide
from mirrord.db.bindings import binding_rows, page_paths
from mirrord.db.bindings.binding_rows import BindingRow
from mirrord.db.bindings.page_paths import PageSteps
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId
from mirrord.domain.link_meaning import Path, follow_path
from mirrord.domain.place import INDEX, name_key
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.link_spelling import relative_path
from mirrord.mirror.tree.tree_layout import SUFFIX, page_path

MAX_LINK_TARGETS = 20_000  # of one page, looked up in one statement


@dataclass(frozen=True, slots=True)
class PageForm:
    """A text as its page has it. waits: it has an address of a page whose name may still change."""

    text: str
    waits: bool = False


@dataclass(frozen=True, slots=True)
class AppForm:
    """
    Both versions of a page as the app has them, with addresses.

    spelled: how links of the page are spelled, by the id of the row.
    """

    page: PageSide
    ancestor: PageSide | None
    spelled: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Converts links within the transaction of a pass."""

    connection: Connection
    binding: BindingRow
    mapping: BoundMapping

    @property
    def _rules(self) -> LinkRules | None:
        return self.mapping.links

    def may_have_addresses(self, text: str | None) -> bool:
        """Whether *text*, or the body of a row, may link to pages by their addresses in the app."""
        return self._rules is not None and text is not None and self._rules.may_be_in(text)

    async def page_form(
        self, text: str, entry: EntryId, parent: EntryId | None, spelled: Mapping[str, str] | None = None
    ) -> PageForm:
        """*text* of the page *entry* below *parent* with links to files. spelled: as of AppForm."""
        if self._rules is None or not self.may_have_addresses(text):
            return PageForm(text)
        page = PageText(text, self.mapping.dialect)
        targets = await asyncio.to_thread(targets_of, page, self._rules)
        bound = await binding_rows.load_entries(self.connection, self.binding, set(targets.ids.values()))
        ends = {external_id: row.entry for external_id, row in bound.items()}
        steps = await page_paths.load_steps(self.connection, self.binding, [*ends.values(), entry, *_known(parent)])
        directory = _directory_of(steps, entry, parent)
        files = {
            external_id: relative_path(directory, _path_of(steps[end]))
            for external_id, end in ends.items()
            if end in steps and steps[end].is_placed
        }
        files |= {external_id: target for external_id, target in (spelled or {}).items() if external_id in files}
        waits = any(end in steps and not steps[end].is_placed for end in ends.values())
        return PageForm((await asyncio.to_thread(with_files, page, self._rules, files)).text, waits)

    async def app_form(
        self, row: AppRow | None, entry: EntryId, page: PageSide, ancestor: PageSide | None, *, is_row_unchanged: bool
    ) -> AppForm:
        """
        A page and its *ancestor* with addresses. row: None: the page has none yet.

        is_row_unchanged: *ancestor* says what *row* does, so that each of its links is one of the app; unless it is
        *page*, because what both agreed on is gone from the history.

        Raises:
            Damaged: an edit of the page would take addresses of other pages out of the app.
        """
        if self._rules is None:
            return AppForm(page, ancestor, {})
        rules, body = self._rules, await self._targets_in_row(row, entry)
        of_ancestor: Addresses = {}
        after = NO_TARGETS
        if ancestor is not None:
            former = await self._targets_in(ancestor.text)
            of_ancestor = await self._addresses_at(former.ordered, entry, ancestor.parent)
            if is_row_unchanged and ancestor.text is not page.text:
                of_ancestor = {**of_ancestor, **pair_addresses(former, body, rules)}
            ancestor = replace(ancestor, text=await self._with_addresses(ancestor.text, of_ancestor, body.literal))
            after = await self._targets_in(ancestor.text)
        present = await self._targets_in(page.text)
        resolved = await self._addresses_at(present.ordered, entry, page.parent)
        dead = set(present.ordered) & (after.literal - body.literal - resolved.keys())
        if is_row_unchanged and dead and lost_ids(body, after):
            raise Damaged("it has a link that means no page of the app any more: mend or remove the link")
        text = await self._with_addresses(page.text, {**of_ancestor, **resolved}, body.literal)
        spelled = {external_id: target for target, address in resolved.items() if (external_id := rules.id_in(address))}
        return AppForm(replace(page, text=text), ancestor, spelled)

    async def new_form(self, text: str, entry: EntryId, parent: EntryId | None) -> tuple[str, Mapping[str, str]]:
        """*text* of a page that has no row yet, with addresses; and how its links are spelled."""
        form = await self.app_form(None, entry, PageSide(text, None, parent), None, is_row_unchanged=False)
        return form.page.text, form.spelled

    async def load_waiting(self, added: Collection[str] | None) -> set[str]:
        """
        The ids of rows with pages that have an address of the rows *added*.

        added: None: of any row; pages with dead links are among them then.
        """
        if self._rules is None:
            return set()
        addresses = None if added is None else [address for each in added if (address := self._rules.address_of(each))]
        ids = await page_paths.load_with_text(self.connection, self.binding, self._rules.beginning, addresses)
        return ids if added is not None else ids | await page_paths.load_with_dead_links(self.connection, self.binding)

    async def _targets_in(self, text: str) -> LinkTargets:
        assert self._rules is not None
        return await asyncio.to_thread(targets_of, PageText(text, self.mapping.dialect), self._rules)

    async def _targets_in_row(self, row: AppRow | None, entry: EntryId) -> LinkTargets:
        if row is None:
            return NO_TARGETS
        return await self._targets_in(await asyncio.to_thread(text_of, entry, row, self.mapping))

    async def _with_addresses(self, text: str, addresses: Addresses, literal: frozenset[str]) -> str:
        assert self._rules is not None
        page = PageText(text, self.mapping.dialect)
        return (await asyncio.to_thread(with_addresses, page, self._rules, addresses, literal)).text

    async def _addresses_at(self, targets: Iterable[str], entry: EntryId, parent: EntryId | None) -> Addresses:
        """The addresses of those *targets* of links that are pages of the app, in the page *entry* below *parent*."""
        assert self._rules is not None
        steps = await page_paths.load_steps(self.connection, self.binding, [entry, *_known(parent)])
        directory = _directory_of(steps, entry, parent)
        paths = [target for target in dict.fromkeys(targets) if self._rules.id_in(target) is None]
        options = [(target, keys) for target in paths for keys in _possible_keys(target, directory)]
        if not options:
            return {}
        if len(options) > MAX_LINK_TARGETS:
            raise Damaged(f"it links to more than {MAX_LINK_TARGETS} files")
        ids = await page_paths.load_bound_at(self.connection, self.binding, [keys for _, keys in options])
        addresses: dict[str, str] = {}
        for number, (target, _) in enumerate(options):
            if number in ids and (address := self._rules.address_of(ids[number])) is not None:
                addresses.setdefault(target, address)
        return addresses


def _known(parent: EntryId | None) -> Sequence[EntryId]:
    return () if parent is None else (parent,)


def _path_of(page: PageSteps) -> str:
    return page_path("/".join(page.steps[:-1]), page.steps[-1], page.is_index)


def _directory_of(steps: Mapping[EntryId, PageSteps], entry: EntryId, parent: EntryId | None) -> Path:
    """The directory of the file of *entry* below *parent*."""
    above = tuple(steps[parent].steps) if parent is not None and parent in steps else ()
    page = steps.get(entry)
    return (*above, page.steps[-1]) if page is not None and page.is_index else above


def _possible_keys(target: str, directory: Path) -> Iterable[Sequence[str]]:
    """The keys of the names that *target* may lead to: from the page, else from the root."""
    if "\0" in target:  # no name has it, and Postgres takes no text with it
        return
    starts: list[Path] = [()] if target.startswith("/") or not directory else [directory, ()]
    for start in starts:
        if target.strip() and (steps := follow_path(start, target.strip())):
            last = steps[-1][: -len(SUFFIX)] if steps[-1].lower().endswith(SUFFIX) else steps[-1]
            names = steps[:-1] if len(steps) > 1 and name_key(last) == INDEX else (*steps[:-1], last)
            yield [name_key(name) for name in names]
