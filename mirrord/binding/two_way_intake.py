"""Which rows and pages a pass in mode `both` carries over, and in which direction."""

from dataclasses import dataclass, field

import psycopg

from mirrord.binding.app_row_writes import APP_REFUSALS, Outpaced, is_refusal
from mirrord.binding.app_rows import AppRow
from mirrord.binding.intake import Intake
from mirrord.binding.mappings.mapping import FOLDER_PREFIX
from mirrord.binding.page_creation import PageCreation
from mirrord.binding.row_agreement import RowAgreement
from mirrord.binding.row_decision import BoundEntry
from mirrord.binding.two_way_plan import TwoWayAct, decide_two_way
from mirrord.db.bindings import binding_rows
from mirrord.db.bindings.binding_rows import EntryRow
from mirrord.db.bindings.page_state import PageState
from mirrord.db.open_issues import Problem
from mirrord.errors import Damaged, Halted
from mirrord.sync.decisions.guard import check_all, weigh_deletions

MAX_WRITTEN_ROWS = 50  # of the app, in one transaction: its own writes of these rows wait until the end


@dataclass(slots=True)
class TwoWayIntake(RowAgreement):
    """
    One pass in mode `both`.

    recent: deletions of the last minutes. emptied: ids of folders that were deleted with all that is in them.
    has_new_pages: there may be pages that get rows.
    """

    recent: int = 0
    emptied: list[str] = field(default_factory=list)
    has_new_pages: bool = True

    async def carry_over(self) -> None:
        """Carry both sides over. Raises Halted if many pages were deleted, Stale if a page changed meanwhile."""
        await self._weigh_deleted_pages()
        await self._revive_rows()
        await Intake.carry_over(self)  # super() does not work in a class with slots of a dataclass
        remaining = await self.source.load_rows(self.connection, self.emptied) if self.emptied else {}
        for external_id in set(self.emptied) - remaining.keys():
            await binding_rows.delete_entry(self.connection, self.binding, external_id)

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
        if self.source.mapping.is_space(row.external_id):  # only the app changes them
            await Intake._carry_row(self, row)
            return
        entry = self.state.entry_of(self.binding.id, row.external_id)
        bound, page = self.state.bound.get(row.external_id), self.state.pages.get(entry)
        if bound is None and page is not None and self._is_of_others(page):
            await self._note_trouble(row, entry, "has the id of another page, which stays")
            return
        act = self._act_of(row, bound, page)
        if act is TwoWayAct.NOTHING and bound is not None and bound.app_version == row.version:
            return
        if act is TwoWayAct.WAIT:
            await self._await_rendering(bound, page)
            return
        has_moved = any((row.path or "").startswith(f"{before}/") for before, _ in self.moved)
        if self.written_back >= MAX_WRITTEN_ROWS or (has_moved and act is not TwoWayAct.NOTHING):
            self._leave_for_later(row, page)
            return
        if act not in (TwoWayAct.NOTHING, TwoWayAct.RECORD):
            await self._end_problems(entry)
        try:
            async with self._guarded():
                agreed = await self._carry_out(act, row, page)
                if agreed is not None:
                    await self._store_agreement(agreed)
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

    def _leave_for_later(self, row: AppRow, page: PageState | None) -> None:
        """Look at a row again in a later pass."""
        self.later.add(row.external_id)
        for before, after in self.moved:  # a move may have been taken back since
            if row.external_id.startswith(f"{FOLDER_PREFIX}{before}/"):
                self.later.add(FOLDER_PREFIX + after + row.external_id.removeprefix(FOLDER_PREFIX + before))
        self._keep_parent(page)

    async def _await_rendering(self, bound: BoundEntry | None, page: PageState | None) -> None:
        """Let the row be looked at again when its page is rendered, which the feed tells, and makes no new version."""
        self._keep_parent(page)
        if bound is not None:
            await binding_rows.note_unread_row(self.connection, self.binding, bound.external_id)

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

    async def _note_refusal(self, row: AppRow, page: PageState) -> None:
        if self.source.mapping.is_space(row.external_id):
            await self._note_change_of_space(row, page)
            return
        reason = (
            f"was deleted, and is there again: the binding {self.binding.name!r} has no way to delete rows of the app "
            "(`page.deleted`, or `page.delete`)"
            if page.is_deleted
            else "lost its file, and has it again: its directory is there. To delete the page, delete both"
        )
        sentence = f"{row.title!r} {reason}."
        self.problems.append(Problem(await self._path_of(row, page.entry), "bound-edit", sentence, page.entry))

    async def _note_change_of_space(self, row: AppRow, page: PageState) -> None:
        sentence = (
            f"{row.title!r} is a space of the app, which only the app changes, and is again what it says. The text is "
            f"version {page.version} of its history; `mirrord diff PAGE {page.version}` shows it."
        )
        self.problems.append(Problem(await self._path_of(row, page.entry), "bound-edit", sentence, page.entry))

    async def _carry_new_pages(self) -> None:
        if not self.has_new_pages:
            return
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
        if self.source.mapping.is_space(bound.external_id):
            return False
        return bound.external_id in self.later or decide_two_way(bound, None, page) is TwoWayAct.WAIT

    def _loses_page(self, bound: BoundEntry) -> bool:
        return not self._waits(bound) and Intake._loses_page(self, bound)

    async def _carry_deletion(self, bound: BoundEntry) -> None:
        page = self.state.pages.get(bound.entry)
        act = decide_two_way(bound, None, page)
        if self.source.mapping.is_space(bound.external_id):
            await Intake._carry_deletion(self, bound)
            return
        if act is TwoWayAct.WAIT:
            await self._await_rendering(bound, page)
            return
        if self._waits(bound):
            self._keep_parent(page)
            return
        await Intake._carry_deletion(self, bound)
        if act is TwoWayAct.REVIVE_ROW and page is not None:
            sentence = (
                f"The app removed {page.name!r} while it was edited here, and has no way back for it. The text is "
                f"version {page.version} of its history; `mirrord diff PAGE {page.version}` shows it."
            )
            self.problems.append(Problem(page.name or bound.external_id, "bound-row", sentence, bound.entry))
