"""How a pass begins, in one round trip: its binding is locked, and what changed and is known of it is loaded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mirrord.db.bindings.binding_rows import COLUMNS, LAST_ENTRY, BindingRow, FeedPlace
from mirrord.db.bindings.bound_pages import setting_of_author
from mirrord.db.bindings.pass_rows import IDS_SETTING, AppQuery, PassRows, ask_for_rows
from mirrord.db.database import Connection
from mirrord.db.transactions import joined_statements
from mirrord.domain.dialect import Dialect
from mirrord.domain.entry import EntryId

# The app's next write notifies from the first statement on. What is written after it and before the changes are taken
# notifies as well: one look more, and none too few. A sequence is set at once, and no rollback takes that back.
_SETTINGS = """
SELECT set_config('mirrord.tenant', %(tenant)s, true), set_config('mirrord.actor', %(actor)s, true),
       (SELECT setval(latch, 1) FROM (SELECT to_regclass(%(latch)s) AS latch) AS sequences
         WHERE pg_sequence_last_value(latch) = 0)"""
# Types of columns by table, as in the fingerprint of a binding.
TYPES_NOW = """\
    SELECT coalesce(jsonb_object_agg(of_table, of_columns), '{}') AS now_there
      FROM (SELECT n.nspname || '.' || c.relname AS of_table,
                   jsonb_object_agg(a.attname, format_type(a.atttypid, a.atttypmod)) AS of_columns
              FROM unnest(%(schemas)s::text[], %(tables)s::text[], %(columns)s::text[])
                   AS used (schema_name, table_name, column_name)
              JOIN pg_namespace AS n ON n.nspname = used.schema_name
              JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = used.table_name
              JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = used.column_name
                                    AND a.attnum > 0 AND NOT a.attisdropped
             GROUP BY 1) AS tables"""
# Rows of the app are read in the same round trip, but only if the mapping and the types of its columns are as they
# were: reading others could run functions of the app.
_BEGINNING = f"""
WITH held AS MATERIALIZED (
    SELECT {COLUMNS} FROM mirrord.binding AS b
     WHERE b.tenant_id = %(tenant)s AND b.id = %(binding)s AND b.state = 'running' FOR UPDATE SKIP LOCKED
), taken AS (
    DELETE FROM mirrord_bind.change
     WHERE ctid = ANY (ARRAY(SELECT ctid FROM mirrord_bind.change WHERE binding = (SELECT id FROM held)
                              ORDER BY number LIMIT %(most)s))
    RETURNING external_id
), changed AS MATERIALIZED (
    SELECT e.external_id, f.seq, f.entry_id FROM mirrord.entry_feed AS f
      JOIN mirrord.binding_entry AS e
        ON (e.tenant_id, e.entry_id, e.binding_id) = (f.tenant_id, f.entry_id, %(binding)s)
      LEFT JOIN mirrord.page AS p ON (p.tenant_id, p.id) = (f.tenant_id, f.entry_id)
      LEFT JOIN mirrord.attachment AS a ON (a.tenant_id, a.id) = (f.tenant_id, f.entry_id)
     WHERE f.tenant_id = %(tenant)s
       AND (f.seq, f.entry_id) > (coalesce(%(seq)s::bigint, (SELECT feed_seq FROM held)), %(entry)s::uuid)
       AND (coalesce(p.version, a.version) IS DISTINCT FROM e.version OR e.external_version = '')
     ORDER BY f.seq, f.entry_id LIMIT %(most)s
), troubled AS MATERIALIZED (
    SELECT e.external_id FROM mirrord.problem AS o
      JOIN mirrord.binding_entry AS e
        ON (e.tenant_id, e.binding_id, e.entry_id) = (o.tenant_id, o.mirror_id, o.entry_id)
     WHERE o.tenant_id = %(tenant)s AND o.mirror_id = %(binding)s AND o.code = %(code)s
     ORDER BY random() LIMIT %(retried)s
), types AS MATERIALIZED (
{TYPES_NOW}
), sought AS MATERIALIZED (
    SELECT ARRAY(SELECT external_id FROM taken UNION SELECT external_id FROM changed
                 UNION SELECT external_id FROM troubled
                  WHERE EXISTS (SELECT FROM taken) OR EXISTS (SELECT FROM changed)) AS ids
)
SELECT held.*, coalesce((SELECT c.seq FROM mirrord.tenant_clock AS c WHERE c.tenant_id = %(tenant)s), 0),
       ARRAY(SELECT external_id FROM taken), sought.ids,
       (SELECT count(*) FROM changed), (SELECT seq FROM changed ORDER BY seq DESC, entry_id DESC LIMIT 1),
       (SELECT entry_id FROM changed ORDER BY seq DESC, entry_id DESC LIMIT 1),
       types.now_there, (SELECT t.dialect FROM mirrord.tenant AS t WHERE t.id = %(tenant)s),
       %(writes)s AND (EXISTS (SELECT FROM mirrord.entry_feed AS f
                                WHERE f.tenant_id = %(tenant)s AND f.seq > held.feed_seq
                                  AND NOT EXISTS (SELECT FROM mirrord.binding_entry AS e
                                                   WHERE e.tenant_id = %(tenant)s AND e.entry_id = f.entry_id))
                       OR EXISTS (SELECT FROM mirrord.problem AS o
                                   WHERE o.tenant_id = %(tenant)s AND o.mirror_id = %(binding)s
                                     AND o.code = 'bound-new')),
       set_config('{IDS_SETTING}',
                  CASE WHEN held.mapping = %(mapping)s AND held.fingerprint <@ types.now_there
                       THEN ARRAY(SELECT each FROM unnest(sought.ids) AS each
                                   WHERE coalesce(NOT starts_with(each, %(files)s::text), true))::text
                       ELSE '' END, true) <> ''
  FROM held, types, sought"""


@dataclass(frozen=True, slots=True)
class PassQuestions:
    """
    What a pass asks for as it begins, by what the pass before knew.

    earlier: the binding as it was. actor: the author of what is written. latch: of the app's notifications. columns: of
    the mapping (schema, table, column). rows: None: they are not read yet. files: what the ids of files begin with;
    None: the mapping has none, and a row may have such an id.
    """

    earlier: BindingRow
    actor: str
    latch: str
    columns: Sequence[tuple[str, str, str]]
    rows: AppQuery | None
    files: str | None


@dataclass(frozen=True, slots=True)
class PassLimits:
    """
    How much a pass looks at.

    changes: of each side. retried: rows with a problem *code*. place: of the feed, where the pass before left off;
    None: nothing was left.
    """

    changes: int
    retried: int
    code: str
    place: FeedPlace | None


@dataclass(frozen=True, slots=True)
class PassBeginning:
    """
    What a pass knows as it begins.

    seq: of the tenant's last change. queued: what was taken out of the queue. ids: of rows to look at. place: where the
    next pass goes on; None: these are all changes of pages. types: of the columns. has_new_pages: there may be pages
    that get rows. rows: what is known of *ids*; None: it was not read.
    """

    binding: BindingRow
    seq: int
    queued: Sequence[str]
    ids: frozenset[str]
    place: FeedPlace | None
    types: dict[str, dict[str, str]]
    dialect: Dialect
    has_new_pages: bool
    rows: PassRows | None


async def begin_pass(connection: Connection, questions: PassQuestions, limits: PassLimits) -> PassBeginning | None:
    """
    Begin the transaction of a pass and lock its binding. None: it does not run, or another process works on it.

    Raises psycopg.errors.UndefinedTable if there is no queue.
    """
    earlier, queries = questions.earlier, None
    author = setting_of_author(questions.actor)
    settings = {"tenant": str(earlier.tenant), "actor": author, "latch": questions.latch}
    async with joined_statements(connection):
        await connection.execute("BEGIN")
        await connection.execute(_SETTINGS, settings)
        cursor = await connection.execute(_BEGINNING.encode(), _values_of(questions, limits))
        if questions.rows is not None:
            queries = await ask_for_rows(connection, earlier, questions.rows)
    row = await cursor.fetchone()
    if row is None:
        return None
    *of_binding, seq, queued, ids, count, last_seq, last_entry, types, dialect, has_new_pages, are_ids_noted = row
    place = FeedPlace(last_seq, EntryId(last_entry)) if count == limits.changes else None
    rows = await queries.load_all() if queries is not None and are_ids_noted else None
    binding = BindingRow(*of_binding)
    return PassBeginning(binding, seq, queued, frozenset(ids), place, types, Dialect(dialect), has_new_pages, rows)


def _values_of(questions: PassQuestions, limits: PassLimits) -> dict[str, Any]:
    earlier, place = questions.earlier, limits.place
    schemas, tables, columns = (list(part) for part in zip(*questions.columns, strict=True))
    return {
        "tenant": earlier.tenant,
        "binding": earlier.id,
        "mapping": earlier.mapping,
        "most": limits.changes,
        "retried": limits.retried,
        "code": limits.code,
        "seq": place.seq if place is not None else None,
        "entry": place.entry if place is not None else LAST_ENTRY,
        "schemas": schemas,
        "tables": tables,
        "columns": columns,
        "files": questions.files,
        "writes": questions.rows is None or questions.rows.writes,
    }
