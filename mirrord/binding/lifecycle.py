"""Adding, resuming and dropping a binding, with the rights of an operator. Each is one transaction."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

import psycopg

from mirrord.binding.app_checks import fingerprint_of, load_tables
from mirrord.binding.check_report import tenant_value
from mirrord.binding.mappings.mapping import Mapping, Watch
from mirrord.binding.mappings.mapping_file import parse_mapping
from mirrord.binding.pass_state import row_key_of
from mirrord.binding.statements.bound_sql import lock_statement, removal_statements, watched_tables
from mirrord.binding.statements.write_statements import all_installation, all_renewal
from mirrord.db.bindings import app_catalogue, binding_rows, former_entries
from mirrord.db.bindings.binding_rows import BindingRow
from mirrord.db.bindings.bound_pages import take_role
from mirrord.db.database import DAEMON_ROLE, Connection, set_tenant
from mirrord.db.transactions import LOCK_TIMEOUT_MS
from mirrord.domain.entry import TenantId
from mirrord.errors import Locked, Refused, UserError

COMPARE_SECONDS = 600  # seconds between two comparisons of all rows, beside triggers
LOCK_SECONDS = 3  # seconds to wait for rows of mirrord
LOCK_TRIES = 5  # of LOCK_TIMEOUT_MS each, to lock the app's tables: writes of the app wait behind each
LOCK_PAUSE_SECONDS = 0.2  # seconds between these, in which writes of the app that waited go on


@asynccontextmanager
async def _changing_app_tables(connection: Connection, tenant: TenantId) -> AsyncIterator[None]:
    """A transaction that changes the app's tables. Raises Locked if the app holds them, UserError without rights."""
    try:
        async with connection.transaction():
            await connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'".encode())
            await set_tenant(connection, tenant)
            yield
    except psycopg.errors.LockNotAvailable as error:
        raise Locked("The app holds its tables. Nothing was changed; try again.") from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise UserError(
            f"{error.diag.message_primary}. Nothing was changed. The DSN must be of a role that owns the app's tables, "
            "or of a superuser."
        ) from error


async def add_binding(connection: Connection, mapping: Mapping, name: str, tenant: TenantId) -> UUID:
    """
    Install *mapping* for the tenant *name*; returns the id of the binding.

    Raises UserError if the tables cannot be bound, Refused if they are bound already or the database is a cluster.
    """
    value = tenant_value(mapping, name)
    binding = mapping.binding_id(tenant)
    tables = await load_tables(connection, mapping)
    await _refuse_cluster(connection)
    async with _changing_app_tables(connection, tenant):
        await take_role(connection, DAEMON_ROLE)
        await _refuse_second(connection, mapping, value, tenant)
        await _refuse_other_ids(connection, mapping, tenant)
        await connection.execute("RESET ROLE")
        await _lock_app_tables(connection, mapping, "SHARE ROW EXCLUSIVE")
        has_queue = await app_catalogue.has_queue(connection)
        await _execute_all(connection, all_installation(tenant, mapping, tables, has_queue=has_queue))
        row = BindingRow(tenant, binding, mapping.name, mapping.text, fingerprint_of(tables), "running", None, 0, False)
        seconds = mapping.poll_seconds if mapping.watch is Watch.POLL else COMPARE_SECONDS
        await take_role(connection, DAEMON_ROLE)
        await binding_rows.add_binding(connection, row, seconds)
    return binding


async def _refuse_cluster(connection: Connection) -> None:
    row = await (await connection.execute("SELECT current_setting('mirrord.cluster', true)")).fetchone()
    if row is not None and row[0] == "on":
        raise Refused("Tables on a Citus cluster cannot be bound.")


async def _refuse_second(connection: Connection, mapping: Mapping, value: str, tenant: TenantId) -> None:
    for row in await binding_rows.list_bindings(connection, tenant):
        if row.name == mapping.name:
            raise Refused(f"There is a binding {row.name!r} already. Drop it first: `mirrord bind drop {row.name}`.")
    for owner, text in await binding_rows.list_mappings(connection):
        other = parse_mapping(text)
        is_shared = None in (other.tenancy.column, mapping.tenancy.column) or other.tenancy.value_of(owner) == value
        if other.page.table == mapping.page.table and is_shared:
            raise Refused(f"The rows of {mapping.page.table} are bound already, by {other.name!r}.")


async def _refuse_other_ids(connection: Connection, mapping: Mapping, tenant: TenantId) -> None:
    """Raise Refused if the pages of a binding of this name were bound by other ids: all rows would be second pages."""
    binding, key = mapping.binding_id(tenant), row_key_of(mapping)
    column = await former_entries.load_other_column(connection, tenant, binding, key)
    if column is not None:
        raise Refused(
            f"The pages of {mapping.name!r} belong to rows by {key.table}.{column}, and by {key.column} each row would "
            f'be a second page. Keep `page.id = "{column}"`; or delete these pages, or choose another '
            "`binding.name` and leave them as pages of your own."
        )


async def find_binding(connection: Connection, tenant: TenantId, name: str) -> BindingRow:
    """The binding *name*. Raises UserError if there is none."""
    bindings = await binding_rows.list_bindings(connection, tenant)
    for row in bindings:
        if row.name == name:
            return row
    names = ", ".join(row.name for row in bindings) or "none"
    raise UserError(f"There is no binding {name!r}. There are: {names}.")


async def load_as_daemon(connection: Connection, tenant: TenantId, name: str) -> BindingRow:
    """Like find_binding(), for a connection of an operator."""
    async with connection.transaction():
        await set_tenant(connection, tenant)
        await take_role(connection, DAEMON_ROLE)
        return await find_binding(connection, tenant, name)


async def resume_binding(connection: Connection, binding: BindingRow, *, is_loss_meant: bool) -> None:
    """Let *binding* run again, with new triggers. Raises UserError if the tables of the app do not fit any more."""
    mapping = parse_mapping(binding.mapping)
    tables = await load_tables(connection, mapping)
    async with _changing_app_tables(connection, binding.tenant):
        await take_role(connection, DAEMON_ROLE)
        await binding_rows.hold_binding(connection, binding)
        await connection.execute("RESET ROLE")
        await _lock_app_tables(connection, mapping, "ACCESS EXCLUSIVE")
        has_queue = await app_catalogue.has_queue(connection)
        await _execute_all(connection, all_renewal(binding.tenant, mapping, tables, has_queue=has_queue))
        await take_role(connection, DAEMON_ROLE)
        fingerprint = fingerprint_of(tables)
        await binding_rows.resume_binding(connection, binding, fingerprint, is_loss_meant=is_loss_meant)


async def drop_binding(connection: Connection, binding: BindingRow) -> None:
    """Remove everything that *binding* added to the database; its pages stay as they are."""
    async with _changing_app_tables(connection, binding.tenant):
        await take_role(connection, DAEMON_ROLE)
        mapping = parse_mapping(binding.mapping)
        await binding_rows.hold_binding(connection, binding)  # a pass that ends now agrees on more
        await former_entries.keep_entries(connection, binding.tenant, binding.id, row_key_of(mapping))
        await binding_rows.delete_binding(connection, binding.tenant, binding.id)
        is_last = not await binding_rows.list_mappings(connection)
        await connection.execute("RESET ROLE")
        await _lock_app_tables(connection, mapping, "ACCESS EXCLUSIVE")
        await _execute_all(connection, removal_statements(binding.id, is_last=is_last))


async def _lock_app_tables(connection: Connection, mapping: Mapping, mode: str) -> None:
    """
    Lock all tables that get triggers, or lose them, before anything is done to one.

    A transaction of the app may write them in another order. While each waits for the other Postgres ends one of them,
    after a second, so each try is shorter; the statements that follow wait no longer than one.
    """
    await connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT_MS}ms'".encode())
    watched = watched_tables(mapping) if mapping.watch is not Watch.POLL else []
    tables = await app_catalogue.existing_tables(connection, [(table.schema, table.name) for table, *_ in watched])
    if not tables:
        return
    for tries_left in reversed(range(LOCK_TRIES)):
        try:
            async with connection.transaction():
                await connection.execute(lock_statement(tables, mode).encode())
            return
        except psycopg.errors.LockNotAvailable:
            if not tries_left:
                raise
        await asyncio.sleep(LOCK_PAUSE_SECONDS)


async def _execute_all(connection: Connection, statements: Sequence[str]) -> None:
    for statement in statements:
        await connection.execute(statement.encode())
