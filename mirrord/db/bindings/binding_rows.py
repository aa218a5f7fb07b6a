"""The rows of bindings: their states, what each app row and its page agreed on, and the queue of changed rows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from mirrord.db.database import Connection, set_tenant
from mirrord.db.notify_channel import BOUND_PAYLOAD, channel_of
from mirrord.db.transactions import joined_statements
from mirrord.domain.entry import EntryId, TenantId

PASS_SECONDS = 25  # seconds that a person waits for the end of a pass, less than a statement may take


@dataclass(frozen=True, slots=True)
class BindingRow:
    """
    One binding. mapping: the text of its file. fingerprint: types of the app's columns when it was added, by table.

    state: running, paused or halted. sentence: why it is halted, or does less than it should. seq: of the feed, up to
    which changes of pages were looked at. is_loss_meant: deletions are carried over, however many. is_compared: a
    comparison of all rows began since the binding was added or resumed.
    """

    tenant: TenantId
    id: UUID
    name: str
    mapping: str
    fingerprint: Mapping[str, Mapping[str, str]]
    state: str
    sentence: str | None
    seq: int
    is_loss_meant: bool
    is_compared: bool = False


@dataclass(frozen=True, slots=True)
class EntryRow:
    """What a row of the app and its page last agreed on. app_version: "": the row was not read since it changed."""

    external_id: str
    entry: EntryId
    version: int
    digest: bytes
    app_version: str


@dataclass(frozen=True, slots=True)
class DueBinding:
    """A running binding. is_due: all its rows are to be compared. has_changes: rows or pages may have changed."""

    tenant: TenantId
    id: UUID
    name: str
    is_due: bool
    has_changes: bool


COLUMNS = (
    "tenant_id, id, name, mapping, fingerprint, state, sentence, feed_seq, deletions_allowed, compared_at IS NOT NULL"
)
LAST_ENTRY = EntryId(UUID(int=2**128 - 1))
_ENTRIES = """
SELECT external_id, entry_id, version, digest, external_version FROM mirrord.binding_entry
 WHERE tenant_id = %s AND binding_id = %s"""
_STORE_ENTRIES = """
INSERT INTO mirrord.binding_entry AS e (tenant_id, binding_id, external_id, entry_id, version, digest, external_version)
SELECT %s, %s, * FROM unnest(%s::text[], %s::uuid[], %s::bigint[], %s::bytea[], %s::text[])
ON CONFLICT (tenant_id, binding_id, external_id) DO UPDATE
   SET version = EXCLUDED.version, digest = EXCLUDED.digest, external_version = EXCLUDED.external_version"""


async def add_binding(connection: Connection, binding: BindingRow, compare_seconds: int) -> None:
    """Store a new binding. compare_seconds: between two comparisons of all rows."""
    await connection.execute(
        "INSERT INTO mirrord.binding (tenant_id, id, name, mapping, fingerprint, compare_every) "
        "VALUES (%s, %s, %s, %s, %s, make_interval(secs => %s))",
        (binding.tenant, binding.id, binding.name, binding.mapping, Jsonb(binding.fingerprint), compare_seconds),
    )
    await _notify_daemons(connection, binding.tenant)


async def _notify_daemons(connection: Connection, tenant: TenantId) -> None:
    """Let daemons look at the bindings of *tenant* after the commit; while none runs they look rarely."""
    await connection.execute("SELECT pg_notify(%s, %s)", (channel_of(tenant), BOUND_PAYLOAD))


async def delete_binding(connection: Connection, tenant: TenantId, binding: UUID) -> None:
    """Delete a binding and what it remembers; its pages stay."""
    await connection.execute("DELETE FROM mirrord.problem WHERE tenant_id = %s AND mirror_id = %s", (tenant, binding))
    await connection.execute("DELETE FROM mirrord.binding WHERE tenant_id = %s AND id = %s", (tenant, binding))


async def load_binding(connection: Connection, tenant: TenantId, binding: UUID) -> BindingRow | None:
    """A running binding; None: it does not run."""
    async with joined_statements(connection):
        await connection.execute("BEGIN")
        await set_tenant(connection, tenant)
        cursor = await connection.execute(
            f"SELECT {COLUMNS} FROM mirrord.binding WHERE tenant_id = %s AND id = %s AND state = 'running'".encode(),
            (tenant, binding),
        )
        await connection.execute("COMMIT")
    row = await cursor.fetchone()
    return BindingRow(*row) if row else None


async def list_bindings(connection: Connection, tenant: TenantId) -> list[BindingRow]:
    """The bindings of a tenant, by name."""
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM mirrord.binding WHERE tenant_id = %s ORDER BY name", (tenant,)
    )
    return [BindingRow(*row) for row in await cursor.fetchall()]


async def list_mappings(connection: Connection) -> list[tuple[str, str]]:
    """The name of the tenant and the mapping of every binding, of all tenants."""
    cursor = await connection.execute(
        "SELECT t.name, b.mapping FROM mirrord.binding AS b JOIN mirrord.tenant AS t ON t.id = b.tenant_id "
        "ORDER BY b.id"
    )
    return [(tenant, mapping) for tenant, mapping in await cursor.fetchall()]


async def set_state(
    connection: Connection, tenant: TenantId, binding: UUID, state: str, sentence: str | None = None
) -> None:
    """Set the state of a binding. sentence: why it is halted."""
    await connection.execute(
        "UPDATE mirrord.binding SET state = %s, sentence = %s WHERE tenant_id = %s AND id = %s",
        (state, sentence, tenant, binding),
    )


async def pause_binding(connection: Connection, tenant: TenantId, binding: UUID) -> None:
    """Set the state, after the pass that holds the binding. Raises Locked if that takes longer than PASS_SECONDS."""
    await connection.execute(f"SET LOCAL lock_timeout = '{PASS_SECONDS}s'".encode())
    await set_state(connection, tenant, binding, "paused")


async def hold_binding(connection: Connection, binding: BindingRow) -> None:
    """Lock the row of a binding, after the pass that has it: no other pass begins until the transaction ends."""
    await connection.execute(
        "SELECT FROM mirrord.binding WHERE tenant_id = %s AND id = %s FOR UPDATE", (binding.tenant, binding.id)
    )


async def resume_binding(
    connection: Connection, binding: BindingRow, fingerprint: Mapping[str, Any], *, is_loss_meant: bool
) -> None:
    """
    Let a binding run again with the app's columns as they are now, from a comparison of all rows.

    The queue has nothing that the comparison does not find.
    """
    await connection.execute(
        "UPDATE mirrord.binding SET state = 'running', sentence = NULL, compared_at = NULL, fingerprint = %s, "
        "deletions_allowed = %s WHERE tenant_id = %s AND id = %s",
        (Jsonb(fingerprint), is_loss_meant, binding.tenant, binding.id),
    )
    await connection.execute("DELETE FROM mirrord_bind.change WHERE binding = %s", (binding.id,))
    await connection.execute(
        "DELETE FROM mirrord.problem WHERE tenant_id = %s AND mirror_id = %s AND code = 'bound-halt'",
        (binding.tenant, binding.id),
    )
    await _notify_daemons(connection, binding.tenant)


async def begin_comparison(connection: Connection, binding: BindingRow) -> None:
    """
    Record that all rows are being compared; `bind resume` takes that back, so that the comparison begins again.

    Until it is complete the binding is due, for another daemon, too: a space that is shown may have many pages.
    """
    await connection.execute(
        "UPDATE mirrord.binding "
        "SET compared_at = CASE WHEN compared_at IS NULL THEN '-infinity' "
        "ELSE least(compared_at, now() - compare_every - interval '1 second') END "
        "WHERE tenant_id = %s AND id = %s",
        (binding.tenant, binding.id),
    )


async def note_comparison(connection: Connection, binding: BindingRow, sentence: str | None) -> None:
    """Record that all rows were compared. sentence: why the binding does less than it should."""
    await connection.execute(
        "UPDATE mirrord.binding SET compared_at = now(), deletions_allowed = false, sentence = %s "
        "WHERE tenant_id = %s AND id = %s",
        (sentence, binding.tenant, binding.id),
    )


async def store_seq(connection: Connection, binding: BindingRow, seq: int) -> None:
    """Record that changes of pages were looked at up to *seq*."""
    await connection.execute(
        "UPDATE mirrord.binding SET feed_seq = %s WHERE tenant_id = %s AND id = %s", (seq, binding.tenant, binding.id)
    )


@dataclass(frozen=True, slots=True)
class FeedPlace:
    """A change of the feed, up to which changes of pages were looked at. entry: of a transaction's, in their order."""

    seq: int
    entry: EntryId


async def add_changes(connection: Connection, binding: BindingRow, external_ids: Collection[str]) -> None:
    """Put ids of rows into the queue, which are to be looked at in a later pass."""
    if external_ids:
        await connection.execute(
            "INSERT INTO mirrord_bind.change (binding, external_id) SELECT %s, unnest(%s::text[])",
            (binding.id, sorted(external_ids)),
        )


async def load_entries(
    connection: Connection, binding: BindingRow, external_ids: Collection[str] | None = None
) -> dict[str, EntryRow]:
    """What was agreed on, by the id of the app's row. external_ids: None: of all."""
    query, values = _ENTRIES, [binding.tenant, binding.id]
    if external_ids is not None:
        query += " AND external_id = ANY (%s)"
        values.append(list(external_ids))  # type: ignore[arg-type]
    cursor = await connection.execute(query, values)
    return {row[0]: EntryRow(*row) for row in await cursor.fetchall()}


async def load_entries_of_kind(connection: Connection, binding: BindingRow, prefix: str) -> dict[str, EntryRow]:
    """What was agreed on about all that has an id with *prefix*."""
    cursor = await connection.execute(
        f"{_ENTRIES} AND starts_with(external_id, %s)", (binding.tenant, binding.id, prefix)
    )
    return {row[0]: EntryRow(*row) for row in await cursor.fetchall()}


async def load_external_ids(connection: Connection, binding: BindingRow, entries: Sequence[EntryId]) -> set[str]:
    """The ids of the rows that are bound to pages below *entries*."""
    cursor = await connection.execute(
        "SELECT e.external_id FROM mirrord.page AS p JOIN mirrord.binding_entry AS e "
        "ON e.tenant_id = p.tenant_id AND e.entry_id = p.id AND e.binding_id = %s "
        "WHERE p.tenant_id = %s AND p.parent_id = ANY (%s)",
        (binding.id, binding.tenant, list(entries)),
    )
    return {external_id for (external_id,) in await cursor.fetchall()}


async def store_entries(connection: Connection, binding: BindingRow, agreed: Sequence[EntryRow]) -> None:
    """Record what rows of the app and their pages agree on."""
    rows = [(each.external_id, each.entry, each.version, each.digest, each.app_version) for each in agreed]
    await connection.execute(_STORE_ENTRIES, (binding.tenant, binding.id, *map(list, zip(*rows, strict=True))))


async def note_unread_row(connection: Connection, binding: BindingRow, external_id: str) -> None:
    """Record that a row was not read since it changed: the next change of its page in the feed is a look at it."""
    await connection.execute(
        "UPDATE mirrord.binding_entry SET external_version = '' "
        "WHERE tenant_id = %s AND binding_id = %s AND external_id = %s AND external_version <> ''",
        (binding.tenant, binding.id, external_id),
    )


async def load_external_id(connection: Connection, binding: BindingRow, entry: EntryId) -> str | None:
    """The id of the row that is bound to the page *entry*; None: there is none."""
    cursor = await connection.execute(
        "SELECT external_id FROM mirrord.binding_entry WHERE tenant_id = %s AND binding_id = %s AND entry_id = %s",
        (binding.tenant, binding.id, entry),
    )
    row = await cursor.fetchone()
    return str(row[0]) if row else None


async def count_deleted_pages(connection: Connection, binding: BindingRow) -> tuple[int, int]:
    """How many pages of bound rows are deleted, and how many rows are bound."""
    cursor = await connection.execute(
        "SELECT count(*) FILTER (WHERE p.deleted_at IS NOT NULL), count(*) FROM mirrord.binding_entry AS e "
        "JOIN mirrord.page AS p ON (p.tenant_id, p.id) = (e.tenant_id, e.entry_id) "
        "WHERE e.tenant_id = %s AND e.binding_id = %s",
        (binding.tenant, binding.id),
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


async def delete_entry(connection: Connection, binding: BindingRow, external_id: str) -> None:
    """Forget a row of the app that is gone."""
    await connection.execute(
        "DELETE FROM mirrord.binding_entry WHERE tenant_id = %s AND binding_id = %s AND external_id = %s",
        (binding.tenant, binding.id, external_id),
    )


async def delete_problems_of(connection: Connection, binding: BindingRow, entries: Sequence[EntryId]) -> None:
    """The problems of pages with this binding are over."""
    await connection.execute(
        "DELETE FROM mirrord.problem WHERE tenant_id = %s AND mirror_id = %s AND entry_id = ANY (%s)",
        (binding.tenant, binding.id, list(entries)),
    )


@dataclass(frozen=True, slots=True)
class BindingStatus:
    """
    How a binding stands.

    pages: bound ones. queued: changes in the app that wait. compared_at: ISO time; None: never.
    """

    pages: int
    queued: int
    compared_at: str | None
    problems: Sequence[tuple[str, str]]


async def load_status(connection: Connection, binding: BindingRow) -> BindingStatus:
    """How *binding* stands."""
    cursor = await connection.execute(
        "SELECT (SELECT count(*) FROM mirrord.binding_entry AS e "
        "WHERE e.tenant_id = b.tenant_id AND e.binding_id = b.id "
        "AND NOT EXISTS (SELECT FROM mirrord.attachment AS a WHERE (a.tenant_id, a.id) = (e.tenant_id, e.entry_id))), "
        "(SELECT count(*) FROM mirrord_bind.change AS c WHERE c.binding = b.id), nullif(b.compared_at, '-infinity') "
        "FROM mirrord.binding AS b WHERE b.tenant_id = %s AND b.id = %s",
        (binding.tenant, binding.id),
    )
    row = await cursor.fetchone()
    assert row is not None
    cursor = await connection.execute(
        "SELECT path, sentence FROM mirrord.problem WHERE tenant_id = %s AND mirror_id = %s ORDER BY path, code",
        (binding.tenant, binding.id),
    )
    compared_at = row[2].isoformat() if row[2] is not None else None
    return BindingStatus(int(row[0]), int(row[1]), compared_at, await cursor.fetchall())
