"""What is known of the row of an app as its page is saved, asked for with the statement that writes the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mirrord.db.bindings.binding_rows import COLUMNS, BindingRow
from mirrord.db.bindings.pass_beginning import TYPES_NOW, PassQuestions
from mirrord.db.bindings.pass_rows import IDS_SETTING, PassQueries, PassRows, ask_for_rows
from mirrord.db.database import Connection
from mirrord.db.transactions import unsent_statements
from mirrord.domain.dialect import Dialect
from mirrord.domain.entry import EntryId

# The binding is locked only for a page that is bound. Rows are read under the conditions of a pass.
_BEGINNING = f"""
WITH held AS MATERIALIZED (
    SELECT {COLUMNS} FROM mirrord.binding AS b
     WHERE b.tenant_id = %(tenant)s AND b.id = %(binding)s AND b.state = 'running' AND b.mapping = %(mapping)s
       AND EXISTS (SELECT FROM mirrord.binding_entry AS e
                    WHERE (e.tenant_id, e.binding_id, e.entry_id) = (b.tenant_id, b.id, %(entry)s))
       FOR UPDATE SKIP LOCKED
), types AS MATERIALIZED (
{TYPES_NOW}
)
SELECT held.*, (SELECT t.dialect FROM mirrord.tenant AS t WHERE t.id = %(tenant)s),
       set_config('{IDS_SETTING}',
                  CASE WHEN held.fingerprint <@ types.now_there
                       THEN ARRAY(SELECT e.external_id FROM mirrord.binding_entry AS e
                                   WHERE (e.tenant_id, e.binding_id, e.entry_id)
                                         = (%(tenant)s, %(binding)s, %(entry)s))::text
                       ELSE '' END, true) <> ''
  FROM held, types"""

_IS_BOUND = """
SELECT EXISTS (SELECT FROM mirrord.binding_entry AS e
                WHERE (e.tenant_id, e.binding_id, e.entry_id) = (%s, %s, %s))"""


@dataclass(frozen=True, slots=True)
class KnownRow:
    """The binding of a saved page, which is locked, and what is known of its row and of the page before the save."""

    binding: BindingRow
    dialect: Dialect
    rows: PassRows


@dataclass(frozen=True, slots=True)
class SaveQueries:
    """Cursors of the statements that ask for a KnownRow, until they are sent."""

    beginning: Any
    rows: PassQueries

    async def load(self) -> KnownRow | None:
        """The answers. None: the page is not bound, another process has the binding, or the app's tables changed."""
        row = await self.beginning.fetchone()
        if row is None:
            return None
        *of_binding, dialect, is_readable = row
        return KnownRow(BindingRow(*of_binding), Dialect(dialect), await self.rows.load_all()) if is_readable else None


async def ask_if_bound(connection: Connection, earlier: BindingRow, entry: EntryId) -> Any:
    """Ask, with the next statement, whether the page *entry* is bound; a cursor: its only row says so."""
    with unsent_statements(connection):
        return await connection.execute(_IS_BOUND, (earlier.tenant, earlier.id, entry))


async def ask_for_row(connection: Connection, questions: PassQuestions, entry: EntryId) -> SaveQueries | None:
    """Ask about the row of the page *entry*, in the transaction that saves it. None: rows cannot be read so early."""
    if questions.rows is None:
        return None
    with unsent_statements(connection):
        beginning = await connection.execute(_BEGINNING.encode(), _values_of(questions, entry))
        return SaveQueries(beginning, await ask_for_rows(connection, questions.earlier, questions.rows))


def _values_of(questions: PassQuestions, entry: EntryId) -> Mapping[str, Any]:
    earlier = questions.earlier
    schemas, tables, columns = (list(part) for part in zip(*questions.columns, strict=True))
    return {
        "tenant": earlier.tenant,
        "binding": earlier.id,
        "mapping": earlier.mapping,
        "entry": entry,
        "schemas": schemas,
        "tables": tables,
        "columns": columns,
    }
