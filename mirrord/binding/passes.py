"""One pass of a binding, which is one transaction: what changed in the app and in its pages is carried over."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import psycopg
from psycopg.pq import TransactionStatus

from mirrord.binding.app_checks import Fingerprint, describe_changes
from mirrord.binding.files.file_intake import FileIntake
from mirrord.binding.intake import ROW, Intake
from mirrord.binding.known_binding import KnownBinding, known_binding
from mirrord.binding.links.page_links import PageLinks
from mirrord.binding.mappings.mapping import SPACE_PREFIX, Mapping, Watch
from mirrord.binding.pass_state import AppSource, load_state
from mirrord.binding.statements.bound_sql import MAX_ROWS, trigger_of, watched_tables
from mirrord.binding.two_way_intake import TwoWayIntake
from mirrord.db.bindings import app_catalogue, binding_rows
from mirrord.db.bindings.binding_rows import BindingRow, DueBinding, FeedPlace
from mirrord.db.bindings.pass_beginning import PassBeginning, PassLimits, begin_pass
from mirrord.db.database import Connection, Database
from mirrord.db.transactions import joined_statements
from mirrord.errors import Halted
from mirrord.sync.decisions.guard import check_all, weigh_deletions

MAX_RETRIED = 50  # rows with a problem that are tried again with every change


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    A comparison of all rows, in several passes; each returns the one that the next pass goes on with.

    remaining: ids of rows that differ and were not looked at yet; None: the rows are still to be compared.
    """

    remaining: tuple[str, ...] | None = None

    @property
    def is_complete(self) -> bool:
        """Whether every row that differed was looked at."""
        return self.remaining == ()


@dataclass(frozen=True, slots=True)
class PassReport:
    """
    What one pass did.

    has_more: another one is needed at once. comparison: to go on with; None: it is complete, or there was none.
    place: of the feed, from which the next pass goes on; None: after all changes of pages.
    waits: rows wait for transactions of the app. is_idle: there was nothing to look at. binding: for the next pass;
    None: it does not run.
    """

    written: int = 0
    deleted: int = 0
    has_more: bool = False
    comparison: Comparison | None = None
    place: FeedPlace | None = None
    waits: bool = False
    is_idle: bool = False
    binding: KnownBinding | None = None

    @property
    def is_reading(self) -> bool:
        """Whether rows of the app are only read."""
        return self.binding is not None and self.binding.source.mapping.writes is None


@dataclass(frozen=True, slots=True)
class PassOrder:
    """
    What one pass is to do.

    tenant: its name. recent_deletions: of the last minutes. comparison: None: only what changed. place: of the feed,
    where the pass before left off; None: nothing was left. earlier: the binding as the pass before knew it.
    """

    due: DueBinding
    tenant: str
    recent_deletions: int = 0
    comparison: Comparison | None = None
    place: FeedPlace | None = None
    is_careful: bool = False
    earlier: KnownBinding | None = None


@dataclass(frozen=True, slots=True)
class _Work:
    """A pass that began: its transaction, what is known, and what it is to do."""

    connection: Connection
    current: KnownBinding
    beginning: PassBeginning
    order: PassOrder

    @property
    def binding(self) -> BindingRow:
        return self.current.row

    @property
    def source(self) -> AppSource:
        return self.current.source


async def run_pass(database: Database, order: PassOrder) -> PassReport:
    """
    Carry over what changed.

    Raises:
        Halted: a person has to decide, or the app's tables changed.
        Stale: a page changed meanwhile; try again.
    """
    async with database.autocommit() as connection, _ended_transaction(connection):
        current = order.earlier or await _load_known(connection, order)
        beginning = await _begin(connection, current, order) if current is not None else None
        if current is not None and beginning is not None and beginning.binding.mapping != current.row.mapping:
            current = current.renewed(beginning)  # it was dropped and added again with another mapping
            await connection.rollback()
            beginning = await _begin(connection, current, order)
        if current is None or beginning is None:
            return PassReport(comparison=order.comparison, place=order.place)
        return await _work_on(_Work(connection, current.renewed(beginning), beginning, order))


@asynccontextmanager
async def _ended_transaction(connection: Connection) -> AsyncIterator[None]:
    """Roll back what the block began and did not commit."""
    try:
        yield
    finally:
        if not connection.closed and connection.info.transaction_status is not TransactionStatus.IDLE:
            with suppress(psycopg.Error):  # of a connection that breaks
                await connection.rollback()


async def _load_known(connection: Connection, order: PassOrder) -> KnownBinding | None:
    row = await binding_rows.load_binding(connection, order.due.tenant, order.due.id)
    return known_binding(row, order.tenant) if row is not None else None


async def _begin(connection: Connection, current: KnownBinding, order: PassOrder) -> PassBeginning | None:
    """Begin; where the rows of the app cannot be read at once, without them: they may be others now."""
    limits = PassLimits(MAX_ROWS, MAX_RETRIED, ROW, order.place)
    if order.comparison is None:
        try:
            return await begin_pass(connection, current.questions(is_early=True), limits)
        except psycopg.DatabaseError as error:
            if isinstance(error, psycopg.OperationalError):
                raise
        await connection.rollback()
    try:
        return await begin_pass(connection, current.questions(is_early=False), limits)
    except psycopg.errors.UndefinedTable:  # the queue went with the last binding
        await connection.rollback()
        if await _load_known(connection, order) is not None:
            raise
        return None


async def _work_on(work: _Work) -> PassReport:
    connection, binding, beginning, comparison = work.connection, work.binding, work.beginning, work.order.comparison
    _check_tables(binding, beginning.types)
    ids = set(beginning.ids)
    if any(external_id.startswith(SPACE_PREFIX) for external_id in beginning.queued):
        comparison = Comparison()  # what a space shows or hides is no change of its rows
    if comparison is not None:
        comparison = comparison if binding.is_compared else Comparison()  # it was resumed meanwhile: from the beginning
        different, comparison = await _next_different(connection, binding, work.source, comparison)
        ids |= different
    report = await _carry_rows(work, ids)
    is_complete = comparison is not None and comparison.is_complete
    if comparison is None or is_complete:  # while rows are still compared, more pages come
        await _add_linking_rows(report, is_compared=is_complete)
    sentence = await _missing_triggers(connection, binding, work.source.mapping) if is_complete else None
    async with joined_statements(connection):
        await _store_outcome(work, report)
        if is_complete:
            await binding_rows.note_comparison(connection, binding, sentence)
        await connection.execute("COMMIT")
    return _report_of(work, report, None if is_complete else comparison)


async def _store_outcome(work: _Work, report: Intake) -> None:
    """Store what was agreed on, and up to where both sides were looked at."""
    binding, beginning = work.binding, work.beginning
    if report.unstored:
        await binding_rows.store_entries(work.connection, binding, report.unstored)
    if beginning.place is None and not report.leaves_pages and beginning.seq != binding.seq:
        await binding_rows.store_seq(work.connection, binding, beginning.seq)
    await binding_rows.add_changes(work.connection, binding, report.later)


def _report_of(work: _Work, report: Intake, comparison: Comparison | None) -> PassReport:
    beginning, waits = work.beginning, bool(report.later) or report.waits
    has_more = len(beginning.queued) == MAX_ROWS or comparison is not None or beginning.place is not None
    return PassReport(
        report.written,
        report.deleted,
        has_more or (report.leaves_pages and not waits),
        comparison,
        beginning.place,
        waits,
        not (beginning.ids or report.written or report.deleted or comparison),
        work.current,
    )


async def _carry_rows(work: _Work, ids: Collection[str]) -> Intake:
    connection, binding, source, order = work.connection, work.binding, work.source, work.order
    of_files = {external_id for external_id in ids if source.mapping.is_file(external_id)}
    known_rows = work.beginning.rows if ids == work.beginning.ids else None
    state = await load_state(connection, binding, source, set(ids) - of_files, known_rows)
    if state.vanished and not binding.is_loss_meant:
        await _weigh_losses(connection, binding, source, order.recent_deletions)
    intake = Intake(connection, binding, source, state, is_careful=order.is_careful)
    if source.mapping.writes is not None:
        intake = TwoWayIntake(connection, binding, source, state, order.is_careful, recent=order.recent_deletions)
        intake.has_new_pages = work.beginning.has_new_pages
    lost = state.lost_pages if source.files is not None else {}
    await intake.carry_over()
    if source.files is not None:
        files = FileIntake(connection, binding, source.files, order.recent_deletions)
        pages = {external_id for external_id in lost.keys() | intake.added if source.mapping.has_row(external_id)}
        of_files |= await files.ids_of_pages(pages, lost.values())
        await _carry_files(intake, files, of_files)
    return intake


async def _carry_files(intake: Intake, files: FileIntake, ids: Collection[str]) -> None:
    """Carry the files *ids* over, after the pages; rows of the app that a pass wrote do not wait for that."""
    if isinstance(intake, TwoWayIntake) and intake.written_back:
        intake.later |= set(ids)
        return
    await files.carry_over(ids)
    intake.later |= files.later
    intake.written += files.written
    intake.deleted += files.deleted


async def _add_linking_rows(report: Intake, *, is_compared: bool) -> None:
    """Let a later pass look at the rows that link to pages which have come. is_compared: whichever came meanwhile."""
    if report.added or is_compared:
        links = PageLinks(report.connection, report.binding, report.source.mapping)
        report.later |= await links.load_waiting(None if is_compared else report.added)


async def _weigh_losses(connection: Connection, binding: BindingRow, source: AppSource, recent: int) -> None:
    """Raise Halted if so many rows are gone from the app that it may be an accident."""
    versions = await source.load_versions(connection)
    entries = await binding_rows.load_entries(connection, binding)
    bound = {external_id for external_id in entries if not source.mapping.is_file(external_id)}
    losses = len(bound - versions.keys())
    alarm = weigh_deletions("app", losses, recent, len(bound)) or check_all("app", losses, len(bound))
    if alarm is not None:
        raise Halted(f"{alarm.sentence} If they are meant, run `mirrord bind resume {binding.name} --deletions`.")


def _check_tables(binding: BindingRow, fingerprint: Fingerprint) -> None:
    """Raise Halted if the tables of the app changed since the binding was added or resumed."""
    changes = describe_changes(binding.fingerprint, fingerprint)
    if changes:
        raise Halted(
            f"The tables of the app changed: {' '.join(changes)} Pages stay as they are. Run `mirrord bind check` with "
            "the mapping; drop and add the binding if the mapping has to change, else run "
            f"`mirrord bind resume {binding.name}`."
        )


async def _next_different(
    connection: Connection, binding: BindingRow, source: AppSource, comparison: Comparison
) -> tuple[set[str], Comparison]:
    """The next ids of rows that were written, came or went since they were last looked at, and what is left."""
    remaining = comparison.remaining
    if remaining is None:
        await binding_rows.begin_comparison(connection, binding)
        versions = await source.load_versions(connection)
        if source.files is not None:
            versions |= await source.files.load_versions(connection)
        bound = await binding_rows.load_entries(connection, binding)
        remaining = tuple(
            external_id
            for external_id in sorted(versions.keys() | bound.keys())
            if external_id not in bound or bound[external_id].app_version != versions.get(external_id)
        )
    return set(remaining[:MAX_ROWS]), Comparison(remaining[MAX_ROWS:])


async def _missing_triggers(connection: Connection, binding: BindingRow, mapping: Mapping) -> str | None:
    if mapping.watch is Watch.POLL:
        return None
    expected = len(watched_tables(mapping))
    if await app_catalogue.count_triggers(connection, trigger_of(binding.id)) == expected:
        return None
    return (
        "A trigger of this binding is gone or disabled, so changes in the app are found only by comparing all rows. "
        f"Run `mirrord bind resume {binding.name}`."
    )
