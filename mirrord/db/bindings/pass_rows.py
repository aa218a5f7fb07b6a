"""What a pass knows of some rows of an app, in one round trip: the rows, their pages, what was agreed on, problems."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mirrord.db.bindings.app_tables import AppRecord
from mirrord.db.bindings.binding_rows import BindingRow, EntryRow
from mirrord.db.bindings.bound_pages import PAGE_COLUMNS, PageVersion, take_role
from mirrord.db.bindings.page_state import PageState
from mirrord.db.database import DAEMON_ROLE, Connection
from mirrord.db.transactions import joined_statements
from mirrord.domain.entry import EntryId

# The ids of rows that a pass looks at are a setting of its transaction, which the statement that takes changes out of
# the queue makes: so those that follow are sent with it.
IDS_SETTING = "mirrord.bound_ids"
NOTED_IDS = f"nullif(current_setting('{IDS_SETTING}', true), '')::text[]"

_KNOWN = f"""
SELECT e.external_id, e.entry_id, e.version, e.digest, e.external_version,
       u.external_id, u.entry_id, u.version, u.digest, u.external_version,
       EXISTS (SELECT FROM mirrord.problem AS o
                WHERE (o.tenant_id, o.mirror_id, o.entry_id) = (e.tenant_id, e.binding_id, e.entry_id)),
       r.version, r.markdown, r.name, r.parent_id,
       {PAGE_COLUMNS}
  FROM mirrord.binding_entry AS e
  LEFT JOIN mirrord.page ON (page.tenant_id, page.id) = (e.tenant_id, e.entry_id)
  LEFT JOIN mirrord.binding_entry AS u
    ON (u.tenant_id, u.binding_id, u.entry_id) = (e.tenant_id, e.binding_id, page.parent_id)
  LEFT JOIN mirrord.page_revision AS r
    ON %(writes)s AND page.version <> e.version
   AND (r.tenant_id, r.page_id, r.version) = (e.tenant_id, e.entry_id, e.version)
 WHERE e.tenant_id = %(tenant)s AND e.binding_id = %(binding)s AND e.external_id = ANY ({NOTED_IDS})"""
_TROUBLED = """
SELECT DISTINCT entry_id FROM mirrord.problem
 WHERE tenant_id = %(tenant)s AND mirror_id = %(binding)s AND entry_id = ANY (%(entries)s)"""


@dataclass(frozen=True, slots=True)
class AppQuery:
    """
    How the app's rows with the ids of the setting are read.

    role: of the binding. tenant: the value of the app's tenant column. writes: rows of the app are written, too.
    """

    role: str
    sql: str
    tenant: str
    writes: bool


@dataclass(frozen=True, slots=True)
class PassRows:
    """
    What is known of the rows of the app with some ids.

    records: the living rows. agreed: what was agreed on about them, and about the rows with the pages above theirs.
    pages: theirs. troubled: those of their pages with a problem of this binding. ancestors: the versions of edited
    pages that both sides agreed on, where rows of the app are written.
    """

    records: Sequence[AppRecord]
    agreed: Mapping[str, EntryRow]
    pages: Mapping[EntryId, PageState]
    troubled: frozenset[EntryId]
    ancestors: Mapping[EntryId, PageVersion]


@dataclass(frozen=True, slots=True)
class PassQueries:
    """Cursors of the statements that ask for PassRows, until they are sent."""

    facts: Any
    records: Any

    async def load_all(self) -> PassRows:
        """The answers, after the statements were sent."""
        agreed: dict[str, EntryRow] = {}
        pages, ancestors, troubled = {}, {}, set[EntryId]()
        for row in await self.facts.fetchall():
            agreement, above, (has_problem, *ancestor), page = row[:5], row[5:10], row[10:15], row[15:]
            agreed[agreement[0]] = EntryRow(*agreement)
            if above[0] is not None:
                agreed.setdefault(above[0], EntryRow(*above))
            if has_problem:
                troubled.add(EntryId(agreement[1]))
            if page[0] is not None:
                pages[EntryId(page[0])] = PageState(*page)
            if ancestor[0] is not None:
                ancestors[EntryId(agreement[1])] = PageVersion(*ancestor[1:])
        return PassRows(await self.records.fetchall(), agreed, pages, frozenset(troubled), ancestors)


async def ask_for_rows(connection: Connection, binding: BindingRow, query: AppQuery) -> PassQueries:
    """Ask what is known of the rows with the ids of the setting; the pipeline of the caller sends it."""
    values = {"tenant": binding.tenant, "binding": binding.id, "writes": query.writes}
    facts = await connection.execute(_KNOWN.encode(), values)
    await take_role(connection, query.role)
    records = await connection.execute(query.sql.encode(), {"tenant": query.tenant})
    await take_role(connection, DAEMON_ROLE)
    return PassQueries(facts, records)


async def load_pass_rows(
    connection: Connection, binding: BindingRow, query: AppQuery, ids: Collection[str]
) -> PassRows:
    """Load what is known of the rows *ids*."""
    async with joined_statements(connection):
        await connection.execute("SELECT set_config(%s, %s::text[]::text, true)", (IDS_SETTING, list(ids)))
        queries = await ask_for_rows(connection, binding, query)
    return await queries.load_all()


async def load_troubled(
    connection: Connection, binding: BindingRow, entries: Collection[EntryId]
) -> frozenset[EntryId]:
    """Those of *entries* with a problem of this binding."""
    values = {"tenant": binding.tenant, "binding": binding.id, "entries": list(entries)}
    cursor = await connection.execute(_TROUBLED, values)
    return frozenset(EntryId(entry) for (entry,) in await cursor.fetchall())
