"""A file of a bound page is saved: the row of the app is written in the transaction that writes the page."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg

from mirrord.binding.binding_loop import NotedTenants
from mirrord.binding.intake import NeedsCare, actor_name_of
from mirrord.binding.known_binding import KnownBinding
from mirrord.binding.pass_state import PassState, bound_entries_of, rows_of
from mirrord.binding.row_order import order_rows
from mirrord.binding.two_way_intake import TwoWayIntake
from mirrord.db.bindings import app_writes, binding_rows
from mirrord.db.bindings.bound_pages import PageVersion
from mirrord.db.bindings.page_state import PageState
from mirrord.db.bindings.save_queries import KnownRow, SaveQueries, ask_for_row, ask_if_bound
from mirrord.db.database import Connection
from mirrord.domain.entry import FILE_ACTOR, EntryId, TenantId
from mirrord.errors import Damaged, Halted, Stale, UserError
from mirrord.sync.observation.save_companion import JointSave, NoJointSave, PageSave

REST_SECONDS = 5.0  # seconds without joint saves of a tenant after one that failed, or MAX_SLOW_SAVES
STATEMENT_MS = 200  # milliseconds that a statement, and what an app does at the end, may take: the page waits for it
QUICK_SECONDS = 0.05  # seconds from the first statement for a row to the commit; a slower save is one of MAX_SLOW_SAVES
MAX_SLOW_SAVES = 2  # slow joint saves of a tenant one after the other: the first may be due to a busy machine


@dataclass(slots=True)
class JointSaves:
    """
    Writes rows of apps with their pages.

    noted: knows which tenants have running bindings. binding_of: the only binding of such a tenant that writes rows, as
    its last pass knew it; None: there is no such binding, or it waits.
    """

    noted: NotedTenants
    binding_of: Callable[[TenantId], KnownBinding | None] = lambda tenant: None
    _resting: dict[TenantId, float] = field(default_factory=dict)
    _slow: dict[TenantId, int] = field(default_factory=dict)

    async def begin(self, connection: Connection, tenant: TenantId, entry: EntryId) -> JointSave | None:
        """Ask whether a page that may be saved is bound; None: no row can be written with it."""
        if tenant not in self.noted.bound:
            return None
        earlier = self.binding_of(tenant) if time.monotonic() >= self._resting.get(tenant, 0.0) else None
        if earlier is None or connection.is_cluster or earlier.source.mapping.links is not None:
            return None
        return _RowSave(self, connection, earlier, entry, await ask_if_bound(connection, earlier.row, entry))

    def rest(self, tenant: TenantId) -> None:
        """Make no joint save for a moment, unless conclude() ends it."""
        self._resting[tenant] = time.monotonic() + REST_SECONDS

    def conclude(self, tenant: TenantId, seconds: float) -> None:
        """A joint save is committed, and took *seconds*: make others, unless the last ones were slow."""
        self._slow[tenant] = self._slow.get(tenant, 0) + 1 if seconds > QUICK_SECONDS else 0
        if self._slow[tenant] >= MAX_SLOW_SAVES:
            self.rest(tenant)
        else:
            self._resting.pop(tenant, None)


@dataclass(slots=True)
class _RowSave:
    """
    The row of one page.

    earlier: its binding, as the last pass knew it. is_bound: a cursor. began_at: monotonic time at which the row began
    to be written; None: it did not.
    """

    saves: JointSaves
    connection: Connection
    earlier: KnownBinding
    entry: EntryId
    is_bound: Any
    queries: SaveQueries | None = None
    began_at: float | None = None

    async def ask(self) -> None:
        """Ask about the row of a bound page, with the statement that follows."""
        if (await self.is_bound.fetchone()) == (True,):
            self.queries = await ask_for_row(self.connection, self.earlier.questions(is_early=True), self.entry)

    async def carry(self, save: PageSave) -> None:
        """
        Write the row, if nothing but its page changed since both agreed; else the next pass looks at both.

        Raises NoJointSave if that fails: the transaction is to be taken back, and the page saved without its row.
        """
        row = await self.queries.load() if self.queries is not None and save.entry == self.entry else None
        state = _state_of(row, self.earlier, save) if row is not None else None
        if row is None or state is None:
            return
        self.began_at = time.monotonic()
        self.saves.rest(row.binding.tenant)
        try:
            await app_writes.begin_app_part(self.connection, actor_name_of(row.binding), STATEMENT_MS)
            await self._carry_row(row, state)
        except (NeedsCare, UserError, Stale, Halted, Damaged) as error:
            raise NoJointSave from error
        except (ValueError, TypeError, RecursionError) as error:  # of a row that was not foreseen, as in a pass
            raise NoJointSave from error
        except psycopg.Error as error:
            if error.sqlstate is None:  # the connection broke
                raise
            raise NoJointSave from error

    def conclude(self) -> None:
        """The transaction is committed; after slow ones others do without the row for a moment."""
        if self.began_at is not None:
            self.saves.conclude(self.earlier.row.tenant, time.monotonic() - self.began_at)

    async def _carry_row(self, row: KnownRow, state: PassState) -> None:
        intake = TwoWayIntake(self.connection, row.binding, self.earlier.source, state)
        intake.has_new_pages = False
        await intake.carry_over()
        if intake.written or intake.deleted or intake.problems or intake.later or not intake.unstored:
            raise NoJointSave  # more than the row changes: a pass has the binding as its author
        await binding_rows.store_entries(self.connection, row.binding, intake.unstored)


def _state_of(answer: KnownRow, earlier: KnownBinding, save: PageSave) -> PassState | None:
    """What a pass would know of the row; None: something else than a plain save of its page is to be looked at."""
    facts, rows = answer.rows, rows_of(answer.rows.records)
    page = facts.pages.get(save.entry)
    agreed = [each for each in facts.agreed.values() if each.entry == save.entry]
    if len(rows) != 1 or len(agreed) != 1 or page is None or answer.dialect != earlier.source.mapping.dialect:
        return None
    (external_id, row), (entry_row,) = *rows.items(), agreed
    is_agreed = (entry_row.version, entry_row.app_version) == (page.version, row.version)
    is_in_place = row.parent is None or row.parent in facts.agreed
    is_as_saved = save.version == page.version + 1  # a trigger of an app that alters a page makes one more
    if not (is_agreed and is_in_place and is_as_saved and _is_plain(page)) or facts.troubled:
        return None
    bound = bound_entries_of(facts.agreed)
    order = order_rows({external_id: row.parent}, bound.keys())
    return PassState(
        {external_id},
        rows,
        bound,
        {save.entry: _saved_page(page, save)},
        {save.entry},
        {save.entry: PageVersion(page.text, page.name, page.parent)},
        order,
    )


def _is_plain(page: PageState) -> bool:
    return page.text is not None and page.name is not None and not (page.is_deleted or page.is_ahead)


def _saved_page(page: PageState, save: PageSave) -> PageState:
    return replace(page, version=save.version, text=save.text, author=FILE_ACTOR.kind, author_name=FILE_ACTOR.name)
