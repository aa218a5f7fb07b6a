"""One pass of a binding, which is one transaction: what changed in the app and in its pages is carried over."""

import asyncio
from collections.abc import Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import lru_cache

from mirrord.binding.app_checks import Fingerprint, describe_changes, load_fingerprint
from mirrord.binding.files.file_intake import FileIntake
from mirrord.binding.files.file_source import file_source_of
from mirrord.binding.intake import ROW, Intake, actor_name_of
from mirrord.binding.links.page_links import PageLinks
from mirrord.binding.mappings.mapping import SPACE_PREFIX, Mapping, Watch
from mirrord.binding.mappings.mapping_file import parse_mapping
from mirrord.binding.pass_state import AppSource, load_state
from mirrord.binding.statements.bound_sql import MAX_ROWS, latch_of, role_of, trigger_of, watched_tables
from mirrord.binding.statements.path_queries import path_statements
from mirrord.binding.statements.row_queries import app_statements
from mirrord.binding.two_way_intake import TwoWayIntake
from mirrord.db.bindings import app_catalogue, binding_rows, due_bindings
from mirrord.db.bindings.binding_rows import BindingRow, DueBinding, FeedPlace
from mirrord.db.content import dialect_rows
from mirrord.db.database import Connection, Database
from mirrord.domain.dialect import Dialect
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
    waits: rows wait for transactions of the app. is_reading: rows of the app are only read.
    """

    written: int = 0
    deleted: int = 0
    has_more: bool = False
    comparison: Comparison | None = None
    place: FeedPlace | None = None
    waits: bool = False
    is_reading: bool = False


@dataclass(frozen=True, slots=True)
class PassOrder:
    """
    What one pass is to do.

    tenant: its name. recent_deletions: of the last minutes. comparison: None: only what changed. place: of the feed,
    where the pass before left off; None: nothing was left.
    """

    due: DueBinding
    tenant: str
    recent_deletions: int = 0
    comparison: Comparison | None = None
    place: FeedPlace | None = None
    is_careful: bool = False


_parsed = lru_cache(maxsize=256)(parse_mapping)


async def run_pass(database: Database, order: PassOrder) -> PassReport:
    """
    Carry over what changed.

    Raises:
        Halted: a person has to decide, or the app's tables changed.
        Stale: a page changed meanwhile; try again.
    """
    async with database.autocommit() as connection, AsyncExitStack() as ending:
        async with connection.pipeline():  # what begins the transaction costs no round trip of its own
            await ending.enter_async_context(connection.transaction())
            locked = await binding_rows.lock_binding(connection, order.due, actor_name_of(order.due))
        if locked is None:
            return PassReport(comparison=order.comparison, place=order.place)
        return await _work_on(connection, *locked, order)


async def _work_on(connection: Connection, binding: BindingRow, seq: int, order: PassOrder) -> PassReport:
    """The pass of a locked binding. seq: of the tenant's last change in the feed."""
    mapping, comparison = _parsed(binding.mapping), order.comparison
    async with connection.pipeline():
        _, queued, (changed_pages, place), troubled, fingerprint, dialect = await asyncio.gather(  # sent in this order
            due_bindings.ask_for_notification(connection, latch_of(binding.id)),
            binding_rows.take_changes(connection, binding, MAX_ROWS),
            binding_rows.load_changed_pages(connection, binding, order.place, MAX_ROWS),
            binding_rows.load_troubled(connection, binding, ROW, MAX_RETRIED),
            load_fingerprint(connection, mapping),
            dialect_rows.load_dialect(connection, binding.tenant),
        )
    source = source_of(binding, order.tenant, dialect)
    _check_tables(binding, fingerprint)
    ids = queued | changed_pages
    if ids:  # it may be what the others wait for
        ids |= troubled
    if any(external_id.startswith(SPACE_PREFIX) for external_id in queued):
        comparison = Comparison()  # what a space shows or hides is no change of its rows
    if comparison is not None:
        comparison = comparison if binding.is_compared else Comparison()  # it was resumed meanwhile: from the beginning
        different, comparison = await _next_different(connection, binding, source, comparison)
        ids |= different
    report = await _carry_rows(connection, binding, source, ids, order)
    if comparison is None or comparison.is_complete:  # while rows are still compared, more pages come
        await _add_linking_rows(report, is_compared=comparison is not None)
    async with connection.pipeline():
        if report.unstored:
            await binding_rows.store_entries(connection, binding, report.unstored)
        if place is None and not report.leaves_pages and seq != binding.seq:
            await binding_rows.store_seq(connection, binding, seq)
        await binding_rows.add_changes(connection, binding, report.later)
    if comparison is not None and comparison.is_complete:
        sentence = await _missing_triggers(connection, binding, source.mapping)
        await binding_rows.note_comparison(connection, binding, sentence)
        comparison = None
    waits = bool(report.later) or report.waits
    has_more = len(queued) == MAX_ROWS or comparison is not None or place is not None
    has_more = has_more or (report.leaves_pages and not waits)
    is_reading = mapping.writes is None
    return PassReport(report.written, report.deleted, has_more, comparison, place, waits, is_reading)


def source_of(binding: BindingRow, tenant: str, dialect: Dialect) -> AppSource:
    """Where the rows of *binding* are. tenant: its name. dialect: of its pages."""
    mapping = replace(_parsed(binding.mapping), dialect=dialect)
    id_type = binding.fingerprint[str(mapping.page.table)][mapping.page.id]
    statements, paths = app_statements(mapping, id_type), path_statements(mapping)
    value = mapping.tenancy.value_of(tenant) or ""
    files = file_source_of(mapping, binding.fingerprint, role_of(binding.id), value)
    return AppSource(binding.id, mapping, statements, value, paths, files)


async def _carry_rows(
    connection: Connection, binding: BindingRow, source: AppSource, ids: Collection[str], order: PassOrder
) -> Intake:
    of_files = {external_id for external_id in ids if source.mapping.is_file(external_id)}
    state = await load_state(connection, binding, source, set(ids) - of_files)
    if state.vanished and not binding.is_loss_meant:
        await _weigh_losses(connection, binding, source, order.recent_deletions)
    intake = Intake(connection, binding, source, state, is_careful=order.is_careful)
    if source.mapping.writes is not None:
        intake = TwoWayIntake(connection, binding, source, state, order.is_careful, recent=order.recent_deletions)
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
