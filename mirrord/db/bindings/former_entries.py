"""What rows and pages agreed on in bindings that were dropped, for those that are added again under their names."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from mirrord.db.bindings.binding_rows import BindingRow, EntryRow
from mirrord.db.database import Connection
from mirrord.domain.entry import TenantId

# One statement per kind of key: with OR, each former entry would be compared with all entries; so it would in a nested
# loop, which Postgres takes for cheap before it has counted the rows.
_WITHOUT_LOOPS, _WITH_LOOPS = b"SET LOCAL enable_nestloop = off", b"SET LOCAL enable_nestloop TO DEFAULT"
_OF_BINDING = "f.tenant_id = %(tenant)s AND f.binding_id = %(binding)s"
_FORGET = tuple(
    f"""
DELETE FROM mirrord.former_binding_entry AS f USING mirrord.binding_entry AS e
 WHERE {_OF_BINDING} AND e.tenant_id = %(tenant)s AND e.binding_id = %(binding)s AND e.{key} = f.{key}""".encode()
    for key in ("external_id", "entry_id")
)
_FORGET_LOST = f"""
DELETE FROM mirrord.former_binding_entry AS f
 WHERE {_OF_BINDING} AND NOT EXISTS (SELECT FROM mirrord.page AS p WHERE p.tenant_id = %(tenant)s AND p.id = f.entry_id)
""".encode()
_KEEP = """
INSERT INTO mirrord.former_binding_entry (tenant_id, binding_id, external_id, entry_id, version, page_table)
SELECT tenant_id, binding_id, external_id, entry_id, version, %(key)s FROM mirrord.binding_entry
 WHERE tenant_id = %(tenant)s AND binding_id = %(binding)s"""
_BIND = """
WITH former AS (
    DELETE FROM mirrord.former_binding_entry AS f USING mirrord.page AS p
     WHERE f.tenant_id = %(tenant)s AND f.binding_id = %(binding)s AND f.page_table = ANY (%(keys)s)
       AND f.external_id = ANY (%(ids)s)
       AND (p.tenant_id, p.id, p.kind) = (f.tenant_id, f.entry_id, 'page') AND p.deleted_at IS NULL
       AND NOT EXISTS (SELECT FROM mirrord.binding_entry AS e
                        WHERE e.tenant_id = f.tenant_id AND e.entry_id = f.entry_id)
    RETURNING f.external_id, f.entry_id, f.version)
INSERT INTO mirrord.binding_entry (tenant_id, binding_id, external_id, entry_id, version, digest, external_version)
SELECT %(tenant)s, %(binding)s, external_id, entry_id, version, '', '' FROM former
RETURNING external_id, entry_id, version, digest, external_version"""


_LIVING_KEYS = """
SELECT DISTINCT f.page_table FROM mirrord.former_binding_entry AS f
  JOIN mirrord.page AS p ON (p.tenant_id, p.id, p.kind) = (f.tenant_id, f.entry_id, 'page')
 WHERE f.tenant_id = %s AND f.binding_id = %s AND p.deleted_at IS NULL"""


@dataclass(frozen=True, slots=True)
class RowKey:
    """The table of pages of an app, and its column with their ids. Older entries have the table alone."""

    table: str
    column: str

    def __str__(self) -> str:
        return f"{self.table}({self.column})"


async def keep_entries(connection: Connection, tenant: TenantId, binding: UUID, key: RowKey) -> None:
    """Keep what *binding* agreed on, which is about to be deleted."""
    values = {"tenant": tenant, "binding": binding, "key": str(key)}
    for statement in (_WITHOUT_LOOPS, *_FORGET, _FORGET_LOST, _WITH_LOOPS):
        await connection.execute(statement, values)
    await connection.execute(_KEEP, values)


async def load_other_column(connection: Connection, tenant: TenantId, binding: UUID, key: RowKey) -> str | None:
    """The column with ids of the same table by which living pages were bound; None: there is none but that of *key*."""
    cursor = await connection.execute(_LIVING_KEYS, (tenant, binding))
    beginning = f"{key.table}("
    columns = [text[len(beginning) : -1] for (text,) in await cursor.fetchall() if text.startswith(beginning)]
    return next((column for column in sorted(columns) if column != key.column), None)


async def bind_again(
    connection: Connection, binding: BindingRow, key: RowKey, external_ids: Collection[str]
) -> dict[str, EntryRow]:
    """
    Bind rows to the living pages that they had in the binding before; returns those by the id of the row.

    Each is a row that changed since: only the version of the page is known from then.
    """
    values = {"tenant": binding.tenant, "binding": binding.id, "keys": [str(key), key.table], "ids": list(external_ids)}
    cursor = await connection.execute(_BIND, values)
    return {row[0]: EntryRow(*row) for row in await cursor.fetchall()}
