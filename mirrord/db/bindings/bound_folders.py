"""Folders of an app that has paths, which are bound by their paths in place of ids."""

from collections.abc import Collection

from mirrord.db.bindings.binding_rows import BindingRow
from mirrord.db.database import Connection

_BOUND_ABOVE = """
WITH RECURSIVE up (external_id, entry_id) AS (
    SELECT e.external_id, e.entry_id FROM mirrord.binding_entry AS e
     WHERE e.tenant_id = %(tenant)s AND e.binding_id = %(binding)s AND e.external_id = ANY (%(ids)s)
    UNION
    SELECT e.external_id, e.entry_id FROM up AS u
      JOIN mirrord.page AS p ON p.tenant_id = %(tenant)s AND p.id = u.entry_id
      JOIN mirrord.binding_entry AS e
        ON (e.tenant_id, e.binding_id, e.entry_id) = (%(tenant)s, %(binding)s, p.parent_id)
     WHERE starts_with(e.external_id, %(prefix)s))
SELECT external_id FROM up WHERE starts_with(external_id, %(prefix)s)"""


async def load_bound_above(
    connection: Connection, binding: BindingRow, external_ids: Collection[str], prefix: str
) -> set[str]:
    """The ids that begin with *prefix* and are bound to pages above those of *external_ids*, without one between."""
    values = {"tenant": binding.tenant, "binding": binding.id, "ids": list(external_ids), "prefix": prefix}
    cursor = await connection.execute(_BOUND_ABOVE, values)
    return {external_id for (external_id,) in await cursor.fetchall()}


async def rename_folders(connection: Connection, binding: BindingRow, before: str, after: str) -> None:
    """What is bound as *before*, or below it, is bound as *after* from now on."""
    await connection.execute(
        "UPDATE mirrord.binding_entry SET external_id = %(after)s || substr(external_id, length(%(before)s) + 1) "
        "WHERE tenant_id = %(tenant)s AND binding_id = %(binding)s "
        "AND (external_id = %(before)s OR starts_with(external_id, %(before)s || '/'))",
        {"tenant": binding.tenant, "binding": binding.id, "before": before, "after": after},
    )
