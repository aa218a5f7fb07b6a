"""What a pass knows of some rows of an app, in one round trip: the rows, their pages, what was agreed on, problems."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mirrord.db.bindings.app_tables import AppRecord
from mirrord.db.bindings.binding_rows import BindingRow, EntryRow
from mirrord.db.bindings.bound_pages import PAGE_STATES, acting_as
from mirrord.db.bindings.page_state import PageState
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId

_BOUND = """ARRAY(SELECT entry_id FROM mirrord.binding_entry
     WHERE tenant_id = %(tenant)s AND binding_id = %(binding)s AND external_id = ANY (%(ids)s))"""
_PAGES = f"{PAGE_STATES}::uuid[] || {_BOUND})"
_TROUBLED = f"""
SELECT DISTINCT entry_id FROM mirrord.problem
 WHERE tenant_id = %(tenant)s AND mirror_id = %(binding)s AND entry_id = ANY (%(entries)s::uuid[] || {_BOUND})"""
_AGREED = """
WITH of_rows AS MATERIALIZED (
    SELECT external_id, entry_id, version, digest, external_version FROM mirrord.binding_entry
     WHERE tenant_id = %(tenant)s AND binding_id = %(binding)s AND external_id = ANY (%(ids)s))
SELECT * FROM of_rows
UNION
SELECT e.external_id, e.entry_id, e.version, e.digest, e.external_version
  FROM of_rows AS k JOIN mirrord.page AS p ON (p.tenant_id, p.id) = (%(tenant)s, k.entry_id)
  JOIN mirrord.binding_entry AS e ON (e.tenant_id, e.binding_id, e.entry_id) = (%(tenant)s, %(binding)s, p.parent_id)"""


@dataclass(frozen=True, slots=True)
class AppQuery:
    """How the app's rows are read. role: of the binding. tenant: the value of the app's tenant column."""

    role: str
    sql: str
    tenant: str


@dataclass(frozen=True, slots=True)
class PassRows:
    """
    What is known of the rows of the app with some ids.

    records: the living rows. agreed: what was agreed on about them, and about the rows with the pages above theirs.
    pages: theirs. troubled: those of their pages with a problem of this binding.
    """

    records: Sequence[AppRecord]
    agreed: Mapping[str, EntryRow]
    pages: Mapping[EntryId, PageState]
    troubled: frozenset[EntryId]


async def load_pass_rows(
    connection: Connection, binding: BindingRow, query: AppQuery, ids: Collection[str], entries: Collection[EntryId]
) -> PassRows:
    """Load what is known of rows. entries: the pages that rows have which were never bound."""
    values: dict[str, Any] = {"tenant": binding.tenant, "binding": binding.id, "ids": list(ids)}
    values["entries"] = list(entries)
    async with connection.pipeline():  # the answers are fetched after it
        agreed = await connection.execute(_AGREED, values)
        pages = await connection.execute(_PAGES.encode(), values)
        troubled = await connection.execute(_TROUBLED.encode(), values)
        async with acting_as(connection, query.role):
            records = await connection.execute(query.sql.encode(), {"ids": list(ids), "tenant": query.tenant})
    return PassRows(
        await records.fetchall(),
        {row[0]: EntryRow(*row) for row in await agreed.fetchall()},
        {EntryId(row[0]): PageState(*row) for row in await pages.fetchall()},
        frozenset(EntryId(entry) for (entry,) in await troubled.fetchall()),
    )
