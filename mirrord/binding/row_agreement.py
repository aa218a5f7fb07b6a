"""Make one row of an app and its page say the same, with writes to both: mode `both`."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import psycopg

from mirrord.binding.app_row_writes import AppRowWrites, Outpaced, is_refusal
from mirrord.binding.app_rows import AppRow, is_name_of, text_of
from mirrord.binding.intake import Intake, NeedsCare, actor_name_of
from mirrord.binding.links.page_links import AppForm
from mirrord.binding.mappings.mapping import FOLDER_PREFIX, Format
from mirrord.binding.mappings.path_names import name_in
from mirrord.binding.page_edits import RowChanges, edited_text
from mirrord.binding.paths.path_moves import PathMoves
from mirrord.binding.paths.row_paths import paths_above
from mirrord.binding.renumbering import NumberedText, number_before, number_place
from mirrord.binding.row_decision import BoundEntry
from mirrord.binding.space_moves import SpaceMoves
from mirrord.binding.two_way_plan import PageSide, RowPlan, Subject, TwoWayAct, decide_two_way, plan_row
from mirrord.db import open_issues
from mirrord.db.bindings import binding_rows, bound_pages
from mirrord.db.bindings.binding_rows import EntryRow
from mirrord.db.bindings.bound_pages import PageWrite
from mirrord.db.bindings.page_state import PageState
from mirrord.db.open_issues import ConflictRow, Problem
from mirrord.domain.entry import EntryId, Kind, MirrorId, new_id
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.sync.writing.entry_bodies import MAX_LOOP_BYTES, conflict_name, with_id

Result = TypeVar("Result")


@dataclass(slots=True)
class RowAgreement(Intake):
    """
    A pass that can write rows of the app.

    written_back: number of rows of the app. moved: paths before and after, of pages that moved with rows below them.
    """

    written_back: int = 0
    moved: list[tuple[str, str]] = field(default_factory=list)

    @property
    def _app(self) -> AppRowWrites:
        return AppRowWrites(self.connection, self.source, self.binding.fingerprint)

    @property
    def _paths(self) -> PathMoves:
        assert self.source.paths is not None
        return PathMoves(self._app, self.binding, self.source.paths)

    @asynccontextmanager
    async def _guarded(self) -> AsyncIterator[None]:
        """A savepoint; a lone row has none: what fails takes the pass back, and the next one is careful."""
        if not self._is_lone:
            async with self._savepoint():
                yield
            return
        try:
            yield
        except (Outpaced, Damaged, psycopg.DatabaseError) as error:
            if not isinstance(error, Outpaced) and not is_refusal(error):
                raise
            raise NeedsCare from error

    def _act_of(self, row: AppRow, bound: BoundEntry | None, page: PageState | None) -> TwoWayAct:
        act = decide_two_way(bound, row.digest, page)
        has_moved = page is not None and page.parent != self.state.parent_of(row)  # its parent came or went
        has_addresses = page is not None and self._links.may_have_addresses(row.body)  # one may be a page now, or moved
        return TwoWayAct.READ if act is TwoWayAct.NOTHING and (has_moved or has_addresses) else act

    async def _write_whole_page(self, row: AppRow, entry: EntryId, page: PageState | None) -> EntryRow:
        """Give the page all that the app says: it is new, or has no text any more."""
        text, parent = await asyncio.to_thread(text_of, entry, row, self.source.mapping), self.state.parent_of(row)
        write = PageWrite(entry, parent, row.name, await self._with_links(text, row, entry, parent))
        if page is None:
            version = (await bound_pages.insert_pages(self.connection, [write]))[entry]
        else:
            version = await self._update_page(write, page)
            await self._note_refusal(row, page)
        self.written += 1
        return EntryRow(row.external_id, entry, version, row.digest, row.version)

    async def _write_both(self, act: TwoWayAct, row: AppRow, page: PageState) -> EntryRow:
        """Carry out *act*; a row that the app changed meanwhile is locked then, and planned again."""
        written = await self._try_to_write(act, row, page)
        if isinstance(written, AppRow):
            bound = self.state.bound.get(row.external_id)
            written = await self._try_to_write(self._act_of(written, bound, page), written, page)
        if isinstance(written, AppRow):
            raise Outpaced
        return written

    async def _try_to_write(self, act: TwoWayAct, row: AppRow, page: PageState) -> EntryRow | AppRow:
        """Returns what both sides agree on; the row as it is and locked, if it says something else than *row*."""
        subject = Subject(page.entry, row, self.state.parent_of(row), self.source.mapping)
        ancestor = await self._load_ancestor(act, subject, page)
        side = PageSide(page.text or "", page.name, page.parent)
        form = await self._app_form(act, row, side, ancestor)
        side = replace(form.page, parent=await self._possible_parent(row, page))
        room = await self._numbered(act, row, side)
        side = replace(side, text=room.text)
        is_quick = act is TwoWayAct.WRITE_BACK and self._is_quick(row, side.text)
        plan = await _result_of(plan_row, (act, subject, side, form.ancestor), is_quick=is_quick)
        current, text = row, plan.text
        changes = await self._changes_in(plan, row, page.name)
        if changes and not self.source.mapping.has_row(row.external_id):
            current = await self._paths.move_folder(row, changes)
            self._look_at_folders_above(row)
            self.moved.append((row.path or "", current.path or ""))
            text = await asyncio.to_thread(edited_text, page.entry, current, self.source.mapping, plan.text)
        elif changes:
            written = await self._write_at_once(row, changes, room)  # a trigger of the app may alter it
            if written is None:
                locked = await self._app.lock(row, with_body=changes.body is not None)
                if locked.digest != row.digest:
                    return locked
                await self._make_room(row, changes, room)
                written = await self._write_row_of_app(row, changes)
            current = written
            if self.source.mapping.page.space in changes.columns:
                self.written_back += await SpaceMoves(self._app).move_below(row.external_id)
            values = (page.entry, current, self.source.mapping, plan.text)
            text = await _result_of(edited_text, values, is_quick=is_quick and self._is_quick(current, plan.text))
            self.written_back += 1
        spelled = form.spelled if plan.parent == page.parent else {}
        text = await self._with_links(text, row, page.entry, plan.parent, spelled)
        name, version = None if is_name_of(page.name, current) else current.name, page.version
        if page.is_deleted or name is not None or (page.parent, page.text) != (plan.parent, text):
            version = await self._update_page(PageWrite(page.entry, plan.parent, name, text), page)
        if plan.rejected is not None:
            rejected = (await self._links.page_form(plan.rejected, page.entry, page.parent, form.spelled)).text
            await self._keep_sibling(page, rejected, ancestor, text, version)
        if plan.takes_back or side.parent != page.parent:
            await self._note_taken_back(row, page)
        return EntryRow(current.external_id, page.entry, version, current.digest, current.version)

    async def _write_at_once(self, row: AppRow, changes: RowChanges, room: NumberedText) -> AppRow | None:
        """Write *changes* in one round trip; None: that is not possible, or the row may have changed."""
        moves_others = room.moved or self.source.paths is not None
        return None if self.is_careful or moves_others else await self._app.write_at_once(row, changes)

    async def _make_room(self, row: AppRow, changes: RowChanges, room: NumberedText) -> None:
        """Give rows that follow *row* in its new place other numbers."""
        if self._changes_order(changes) and room.moved:
            if room.takes_number(row.position):
                await self._app.step_aside(row.external_id)
            await self._app.renumber(room.moved)
            self.written_back += len(room.moved)

    def _is_quick(self, row: AppRow, text: str) -> bool:
        """Whether what is computed of a row and *text*, its page, takes less time than a thread's turn."""
        is_markdown = self.source.mapping.body.form is Format.MARKDOWN
        return is_markdown and row.size + len(text.encode()) <= MAX_LOOP_BYTES

    async def _write_row_of_app(self, row: AppRow, changes: RowChanges) -> AppRow:
        """Write *changes* into *row*, which is locked, and move what is below it; returns it as the app has it."""
        column = self.source.mapping.page.path
        if column is None or column not in changes.columns:
            return await self._app.write(row, changes)
        await self._paths.check_free([str(changes.columns[column])], [row.external_id])
        current = await self._app.write(row, changes)
        self._look_at_folders_above(row)
        if row.path and current.path and current.path != row.path:
            self.written_back += await self._paths.move_below(row.path, current.path)
            self.moved.append((row.path, current.path))
        return current

    def _look_at_folders_above(self, row: AppRow) -> None:
        """Let a later pass see whether the folders that *row* leaves are empty."""
        if row.path is not None:
            self.later |= {FOLDER_PREFIX + path for path in paths_above(row.path)}

    async def _numbered(self, act: TwoWayAct, row: AppRow, side: PageSide) -> NumberedText:
        """The text of *side* with a whole number as position where the app has only these."""
        before = number_before(self.source.mapping, side.text)
        if before is None or act not in (TwoWayAct.WRITE_BACK, TwoWayAct.MERGE):
            return NumberedText(side.text)
        above = await self._external_id_of(side.parent)
        return await number_place(self._app, side.text, before, row.external_id, above)

    def _changes_order(self, changes: RowChanges) -> bool:
        order = self.source.mapping.page.order
        return order is not None and order.column in changes.columns

    async def _app_form(self, act: TwoWayAct, row: AppRow, page: PageSide, ancestor: PageSide | None) -> AppForm:
        """The page and its ancestor with addresses of the app in place of links to files."""
        entry = self.state.entry_of(self.binding.id, row.external_id)
        is_row_unchanged = act is TwoWayAct.WRITE_BACK
        return await self._links.app_form(row, entry, page, ancestor, is_row_unchanged=is_row_unchanged)

    async def _load_ancestor(self, act: TwoWayAct, subject: Subject, page: PageState) -> PageSide | None:
        """The page as both sides agreed on it; None: not known."""
        if act is TwoWayAct.READ and self.source.mapping.links is None:  # nothing asks for it
            return None
        bound = self.state.bound.get(subject.row.external_id)
        if bound is None:  # the page of an earlier binding, which may have been edited since
            is_own = page.author_name == actor_name_of(self.binding)
            return PageSide(page.text or "", page.name, page.parent) if is_own else None
        version = self.state.ancestors.get(page.entry)
        if version is None:
            version = await bound_pages.load_version(self.connection, self.binding.tenant, page.entry, bound.version)
        if version is not None and version.text is not None:
            return PageSide(version.text, version.name, version.parent)
        if act is TwoWayAct.WRITE_BACK:  # the app still has what both agreed on
            return PageSide(page.text or "", page.name, subject.parent)
        return None

    async def _possible_parent(self, row: AppRow, page: PageState) -> EntryId | None:
        """The parent of the page, or that of its row where the app cannot have the page's."""
        parent, mapping = self.state.parent_of(row), self.source.mapping
        has_paths = self.source.paths is not None
        can_move = mapping.page.parent is not None or mapping.page.space is not None or has_paths
        if page.parent == parent or (page.parent is None and can_move):
            return page.parent
        above = await self._external_id_of(page.parent)
        if page.parent is None or above is None or not can_move:
            return parent
        if mapping.is_space(above):
            return page.parent
        if mapping.page.parent is None and not has_paths:
            return parent
        if has_paths:
            path_above = await self._paths.path_of(page.parent)
            return parent if f"{path_above}/".startswith(f"{row.path}/") else page.parent
        return parent if row.external_id in await self._app.load_chain(above) else page.parent

    async def _external_id_of(self, entry: EntryId | None) -> str | None:
        if entry is None:
            return None
        return await binding_rows.load_external_id(self.connection, self.binding, entry)

    async def _changes_in(self, plan: RowPlan, row: AppRow, name: str | None) -> RowChanges:
        """What is to be written into the row, its parent included, or its path. name: of the page."""
        if not plan.moves:
            return plan.changes
        if (column := self.source.mapping.page.path) is not None:
            is_renamed = name is not None and not is_name_of(name, row)
            last = name if name is not None and is_renamed else name_in(row.path or "")
            path = await self._paths.path_at(plan.parent, last)
            return replace(plan.changes, columns={**plan.changes.columns, column: path})
        place = await SpaceMoves(self._app).columns_below(await self._external_id_of(plan.parent))
        return replace(plan.changes, columns={**plan.changes.columns, **place})

    async def _keep_sibling(
        self, page: PageState, rejected: str, ancestor: PageSide | None, text_in_app: str, version: int
    ) -> None:
        """Keep the text of the page that does not fit that of the app beside it, and list both as a conflict."""
        sibling, moment = new_id(), datetime.now(UTC).strftime("%Y-%m-%d %H%M%SZ")
        name = conflict_name(Kind.PAGE, page.name or "", moment, self.binding.id.hex[:6])
        text = with_id(PageText(rejected), sibling).text
        await bound_pages.insert_pages(self.connection, [PageWrite(sibling, page.parent, name, text)])
        path = (await open_issues.load_paths(self.connection, self.binding.tenant, [page.entry], 1))[0]
        base = ancestor.text if ancestor is not None else None
        conflict = ConflictRow(page.entry, sibling, path, Kind.PAGE, version, base, rejected, text_in_app)
        mirror = MirrorId(self.binding.id)
        await open_issues.add_conflict(self.connection, self.binding.tenant, mirror, conflict)

    async def _note_taken_back(self, row: AppRow, page: PageState) -> None:
        sentence = (
            f"A change of {row.title!r} was taken back where the app cannot have it: a key that the app owns, or a "
            f"place that is no page of the app. The text is version {page.version} of its history; "
            f"`mirrord diff PAGE {page.version}` shows it."
        )
        self.problems.append(Problem(await self._path_of(row, page.entry), "bound-edit", sentence, page.entry))


async def _result_of(function: Callable[..., Result], values: tuple[Any, ...], *, is_quick: bool) -> Result:
    """What a pure *function* makes of *values*, in a thread unless that is quick."""
    return function(*values) if is_quick else await asyncio.to_thread(function, *values)
