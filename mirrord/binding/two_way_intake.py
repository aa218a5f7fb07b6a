"""Carry rows and pages over in both directions, in the transaction of a pass: mode `both`."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import psycopg

from mirrord.binding.app_row_writes import APP_REFUSALS, AppRowWrites, Outpaced, is_refusal
from mirrord.binding.app_rows import AppRow, is_name_of, text_of
from mirrord.binding.intake import Intake, actor_name_of
from mirrord.binding.links.page_links import AppForm
from mirrord.binding.mappings.mapping import FOLDER_PREFIX
from mirrord.binding.mappings.path_names import name_in
from mirrord.binding.page_creation import PageCreation
from mirrord.binding.page_edits import RowChanges, edited_text
from mirrord.binding.paths.path_moves import PathMoves
from mirrord.binding.paths.row_paths import paths_above
from mirrord.binding.renumbering import NumberedText, number_before, number_place
from mirrord.binding.row_decision import BoundEntry
from mirrord.binding.two_way_plan import PageSide, RowPlan, Subject, TwoWayAct, decide_two_way, plan_row
from mirrord.db import open_issues
from mirrord.db.bindings import binding_rows, bound_pages
from mirrord.db.bindings.binding_rows import EntryRow
from mirrord.db.bindings.bound_pages import PageWrite
from mirrord.db.bindings.page_state import PageState
from mirrord.db.open_issues import ConflictRow, Problem
from mirrord.domain.entry import EntryId, Kind, MirrorId, new_id
from mirrord.errors import Damaged, Halted
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.sync.decisions.guard import check_all, weigh_deletions
from mirrord.sync.writing.entry_bodies import conflict_name, with_id

MAX_WRITTEN_ROWS = 50  # of the app, in one transaction: its own writes of these rows wait until the end


@dataclass(slots=True)
class TwoWayIntake(Intake):
    """
    One pass in mode `both`.

    recent: deletions of the last minutes. written_back: number of rows of the app. moved: paths before and after, of
    pages that moved with rows below them. emptied: ids of folders that were deleted with all that is in them.
    """

    recent: int = 0
    written_back: int = 0
    moved: list[tuple[str, str]] = field(default_factory=list)
    emptied: list[str] = field(default_factory=list)

    async def carry_over(self) -> None:
        """Carry both sides over. Raises Halted if many pages were deleted, Stale if a page changed meanwhile."""
        await self._weigh_deleted_pages()
        await self._revive_rows()
        await Intake.carry_over(self)  # super() does not work in a class with slots of a dataclass
        remaining = await self.source.load_rows(self.connection, self.emptied) if self.emptied else {}
        for external_id in set(self.emptied) - remaining.keys():
            await binding_rows.delete_entry(self.connection, self.binding, external_id)

    @property
    def _app(self) -> AppRowWrites:
        return AppRowWrites(self.connection, self.source, self.binding.fingerprint)

    @property
    def _paths(self) -> PathMoves:
        assert self.source.paths is not None
        return PathMoves(self._app, self.binding, self.source.paths)

    async def _weigh_deleted_pages(self) -> None:
        """Raise Halted if so many pages of living rows were deleted that it may be an accident."""
        if self.binding.is_loss_meant or not self._app.can_delete:
            return
        if not any(page.is_deleted for page in self.state.pages.values()):
            return
        losses, total = await binding_rows.count_deleted_pages(self.connection, self.binding)
        alarm = weigh_deletions("page", losses, self.recent, total) or check_all("page", losses, total)
        if alarm is not None:
            raise Halted(
                f"{alarm.sentence} Restore the pages and run `mirrord bind resume {self.binding.name}`; if the "
                f"deletions are meant, run `mirrord bind resume {self.binding.name} --deletions`."
            )

    async def _revive_rows(self) -> None:
        """Let rows live again that the app deleted while their pages were edited."""
        for external_id in self.state.vanished:
            bound = self.state.bound[external_id]
            page = self.state.pages.get(bound.entry)
            is_row = self.source.mapping.has_row(external_id)
            if is_row and decide_two_way(bound, None, page) is TwoWayAct.REVIVE_ROW:
                try:
                    row = await self._try_revival(external_id)
                except Outpaced:
                    self.later.add(external_id)
                    continue
                if row is not None:
                    self.state.add_row(row)
        if self.source.paths is not None:  # the folders of rows that live again are there again
            folders = {each for each in self.state.vanished if not self.source.mapping.has_row(each)}
            for folder in (await self.source.load_rows(self.connection, folders)).values():
                self.state.add_row(folder)

    async def _try_revival(self, external_id: str) -> AppRow | None:
        try:
            async with self.connection.transaction():
                return await self._app.revive(external_id)
        except (Damaged, *APP_REFUSALS):
            return None

    async def _carry_row(self, row: AppRow) -> None:
        entry = self.state.entry_of(self.binding.id, row.external_id)
        bound, page = self.state.bound.get(row.external_id), self.state.pages.get(entry)
        if bound is None and page is not None and self._is_of_others(page):
            await self._note_trouble(row, entry, "has the id of another page, which stays")
            return
        act = self._act_of(row, bound, page)
        if act is TwoWayAct.NOTHING and bound is not None and bound.app_version == row.version:
            return
        if act is TwoWayAct.WAIT:  # the feed tells when it is rendered
            self._keep_parent(page)
            return
        has_moved = any((row.path or "").startswith(f"{before}/") for before, _ in self.moved)
        if self.written_back >= MAX_WRITTEN_ROWS or (has_moved and act is not TwoWayAct.NOTHING):
            self._leave_for_later(row, page)
            return
        if act not in (TwoWayAct.NOTHING, TwoWayAct.RECORD):
            await self._end_problems(entry)
        try:
            async with self._savepoint():
                agreed = await self._carry_out(act, row, page)
                if agreed is not None:
                    await binding_rows.store_entries(self.connection, self.binding, [agreed])
        except Outpaced:
            self._leave_for_later(row, page)
            return
        except (Damaged, psycopg.DatabaseError) as error:
            if not is_refusal(error):
                raise
            await self._note_failure(row, entry, page, error)
            return
        self._note_added(row.external_id)
        self._note_agreement(row.external_id, agreed)
        if row.external_id in self.state.order.cyclic:
            await self._note_trouble(row, entry, "is below itself in the app, so it is at the top")

    def _act_of(self, row: AppRow, bound: BoundEntry | None, page: PageState | None) -> TwoWayAct:
        act = decide_two_way(bound, row.digest, page)
        has_moved = page is not None and page.parent != self.state.parent_of(row)  # its parent came or went
        has_addresses = page is not None and self._links.may_have_addresses(row.body)  # one may be a page now, or moved
        return TwoWayAct.READ if act is TwoWayAct.NOTHING and (has_moved or has_addresses) else act

    def _leave_for_later(self, row: AppRow, page: PageState | None) -> None:
        """Look at a row again in a later pass."""
        self.later.add(row.external_id)
        for before, after in self.moved:  # a move may have been taken back since
            if row.external_id.startswith(f"{FOLDER_PREFIX}{before}/"):
                self.later.add(FOLDER_PREFIX + after + row.external_id.removeprefix(FOLDER_PREFIX + before))
        self._keep_parent(page)

    def _keep_parent(self, page: PageState | None) -> None:
        """The parent of a page that is looked at later stays until then."""
        if page is not None and not page.is_deleted and page.parent is not None:
            self.needed.add(page.parent)

    def _note_agreement(self, external_id: str, agreed: EntryRow | None) -> None:
        if agreed is None:
            self.state.bound.pop(external_id, None)
            return
        values = (agreed.entry, agreed.version, agreed.digest, agreed.app_version)
        self.state.bound[external_id] = BoundEntry(external_id, *values)  # type: ignore[arg-type]

    async def _carry_out(self, act: TwoWayAct, row: AppRow, page: PageState | None) -> EntryRow | None:
        """Do *act*; returns what both sides agree on, None if the row is gone."""
        entry = self.state.entry_of(self.binding.id, row.external_id)
        if page is not None and act in (TwoWayAct.NOTHING, TwoWayAct.RECORD):
            return EntryRow(row.external_id, entry, page.version, row.digest, row.version)
        if act is TwoWayAct.DELETE_ROW and page is not None and not self.source.mapping.has_row(row.external_id):
            bound = self.state.bound.get(row.external_id)
            if bound is not None and self._app.can_delete and await self._paths.is_emptied(row):
                self.emptied.append(row.external_id)
                return EntryRow(row.external_id, entry, bound.version, bound.digest, bound.app_version)
            act = TwoWayAct.READ
        elif act is TwoWayAct.DELETE_ROW and page is not None:
            if self._app.can_delete:
                await self._app.delete(row)
                self._look_at_folders_above(row)
                await binding_rows.delete_entry(self.connection, self.binding, row.external_id)
                self.deleted += 1
                return None
            await self._note_refusal(row, page)
            act = TwoWayAct.READ
        if page is None or page.text is None:
            return await self._write_whole_page(row, entry, page)
        return await self._write_both(act, row, page)

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
        plan = await asyncio.to_thread(plan_row, act, subject, side, form.ancestor)
        current, text = row, plan.text
        changes = await self._changes_in(plan, row, page.name)
        if changes and not self.source.mapping.has_row(row.external_id):
            current = await self._paths.move_folder(row, changes)
            self._look_at_folders_above(row)
            self.moved.append((row.path or "", current.path or ""))
            text = await asyncio.to_thread(edited_text, page.entry, current, self.source.mapping, plan.text)
        elif changes:
            locked = await self._app.lock(row, with_body=changes.body is not None)
            if locked.digest != row.digest:
                return locked
            if self._changes_order(changes) and room.moved:
                if room.takes_number(row.position):
                    await self._app.step_aside(row.external_id)
                await self._app.renumber(room.moved)
                self.written_back += len(room.moved)
            current = await self._write_row_of_app(row, changes)  # a trigger of the app may alter it
            text = await asyncio.to_thread(edited_text, page.entry, current, self.source.mapping, plan.text)
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
        bound = self.state.bound.get(subject.row.external_id)
        if bound is None:  # the page of an earlier binding, which may have been edited since
            is_own = page.author_name == actor_name_of(self.binding)
            return PageSide(page.text or "", page.name, page.parent) if is_own else None
        version = await bound_pages.load_version(self.connection, self.binding.tenant, page.entry, bound.version)
        if version is not None and version.text is not None:
            return PageSide(version.text, version.name, version.parent)
        if act is TwoWayAct.WRITE_BACK:  # the app still has what both agreed on
            return PageSide(page.text or "", page.name, subject.parent)
        return None

    async def _possible_parent(self, row: AppRow, page: PageState) -> EntryId | None:
        """The parent of the page, or that of its row where the app cannot have the page's."""
        parent = self.state.parent_of(row)
        has_paths = self.source.paths is not None
        can_move = self.source.mapping.page.parent is not None or has_paths
        if page.parent == parent or (page.parent is None and can_move):
            return page.parent
        above = await self._external_id_of(page.parent)
        if page.parent is None or above is None or not can_move:
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
        assert self.source.mapping.page.parent is not None
        columns = {**plan.changes.columns, self.source.mapping.page.parent: await self._external_id_of(plan.parent)}
        return replace(plan.changes, columns=columns)

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

    async def _note_refusal(self, row: AppRow, page: PageState) -> None:
        change = "was deleted" if page.is_deleted else "lost its file"
        sentence = (
            f"{row.title!r} {change}, and is there again: the binding {self.binding.name!r} has no way to delete rows "
            "of the app (`page.deleted`, or `page.delete`)."
        )
        self.problems.append(Problem(await self._path_of(row, page.entry), "bound-edit", sentence, page.entry))

    async def _note_taken_back(self, row: AppRow, page: PageState) -> None:
        sentence = (
            f"A change of {row.title!r} was taken back where the app cannot have it: a key that the app owns, or a "
            f"place that is no page of the app. The text is version {page.version} of its history; `mirrord history` "
            "shows it."
        )
        self.problems.append(Problem(await self._path_of(row, page.entry), "bound-edit", sentence, page.entry))

    async def _carry_new_pages(self) -> None:
        limit = MAX_WRITTEN_ROWS - self.written_back
        creation = PageCreation(self.connection, self.binding, self.source, limit, self.is_careful)
        await creation.carry_all()
        self.problems += creation.problems
        self.leaves_pages, self.waits = creation.leaves_pages, creation.waits
        self.written += len(creation.created)
        self.added |= creation.created
        self.later |= creation.later

    def _waits(self, bound: BoundEntry) -> bool:
        """Whether the page of a row that vanished is looked at later."""
        page = self.state.pages.get(bound.entry)
        return bound.external_id in self.later or decide_two_way(bound, None, page) is TwoWayAct.WAIT

    def _loses_page(self, bound: BoundEntry) -> bool:
        return not self._waits(bound) and Intake._loses_page(self, bound)

    async def _carry_deletion(self, bound: BoundEntry) -> None:
        page = self.state.pages.get(bound.entry)
        act = decide_two_way(bound, None, page)
        if self._waits(bound):
            self._keep_parent(page)
            return
        await Intake._carry_deletion(self, bound)
        if act is TwoWayAct.REVIVE_ROW and page is not None:
            sentence = (
                f"The app removed {page.name!r} while it was edited here, and has no way back for it. The text is "
                f"version {page.version} of its history; `mirrord history` shows it."
            )
            self.problems.append(Problem(page.name or bound.external_id, "bound-row", sentence, bound.entry))
