"""The SQL of a binding as text: the triggers, the role and its grants."""

from collections.abc import Mapping as ByKey
from collections.abc import Sequence
from uuid import UUID

from mirrord.binding.mappings.mapping import FILE_PREFIX, SPACE_PREFIX, Literal, Mapping, TableName, Watch, columns_read
from mirrord.db.bindings.app_catalogue import ColumnFacts, TableFacts
from mirrord.db.notify_channel import BOUND_PAYLOAD, channel_of
from mirrord.domain.entry import TenantId

SCHEMA = "mirrord_bind"
SPACE_PART, FILE_PART = "space", "file"  # in names of functions
_PREFIXES = {SPACE_PART: SPACE_PREFIX, FILE_PART: FILE_PREFIX}  # of ids of other things than pages
MAX_ROWS = 200  # of one statement
VERSION_COLUMN = "xmin"  # the transaction that wrote a row: every write changes it

Tables = ByKey[TableName, TableFacts]


def quote_name(name: str) -> str:
    """*name* as an identifier."""
    return '"' + name.replace('"', '""') + '"'


def quote_literal(value: Literal) -> str:
    """*value* as a constant; texts are compared with any type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return "'" + value.replace("'", "''") + "'" if "\\" not in value else "E'" + _with_backslashes(value) + "'"


def _with_backslashes(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")


def quote_table(table: TableName) -> str:
    """*table* as a qualified name."""
    return f"{quote_name(table.schema)}.{quote_name(table.name)}"


def role_of(binding: UUID) -> str:
    """The role that reads the tables of a binding."""
    return f"mirrord_bind_{binding.hex[:12]}"


def function_of(binding: UUID, part: str) -> str:
    """The trigger function of a binding. part: `page` or `body`."""
    return f"{SCHEMA}.{quote_name(f'note_{binding.hex[:12]}_{part}')}"


def latch_of(binding: UUID) -> str:
    """The sequence that says whether the next write of the app notifies: any value but 0; that write sets 0."""
    return f"{SCHEMA}.{quote_name(f'notifies_{binding.hex[:12]}')}"


def trigger_of(binding: UUID) -> str:
    """The name of the triggers of a binding."""
    return f"mirrord_bind_{binding.hex[:12]}"


def installation_statements(tenant: TenantId, mapping: Mapping, tables: Tables, *, has_queue: bool) -> list[str]:
    """
    Every statement of `bind add` that changes the database beside the rows of mirrord.

    has_queue: another binding made the queue. It stays as it is, so that no write of its app waits for a lock on it.
    """
    statements = [*([] if has_queue else _SCHEMA_STATEMENTS), *_role_statements(mapping.binding_id(tenant), mapping)]
    return [*statements, *_watch_statements(tenant, mapping, tables)]


def renewal_statements(tenant: TenantId, mapping: Mapping, tables: Tables, *, has_queue: bool) -> list[str]:
    """Every statement of `bind resume` beside the rows of mirrord: triggers and grants as this version makes them."""
    binding = mapping.binding_id(tenant)
    statements = [
        *([] if has_queue else _SCHEMA_STATEMENTS),
        *_grant_statements(binding, mapping),
        *_trigger_removal(binding),
    ]
    return [*statements, *_watch_statements(tenant, mapping, tables)]


def _watch_statements(tenant: TenantId, mapping: Mapping, tables: Tables) -> list[str]:
    if mapping.watch is Watch.POLL:
        return []
    latch = latch_of(mapping.binding_id(tenant))
    statements = [
        f"CREATE SEQUENCE {latch} MINVALUE 0 START 1",
        f"ALTER SEQUENCE {latch} OWNER TO mirrord_owner",
        f"GRANT SELECT, UPDATE ON SEQUENCE {latch} TO mirrord_daemon",
    ]
    for table, part, id_column in watched_tables(mapping):
        statements += _trigger_statements(tenant, mapping, tables[table], (table, part, id_column))
    return statements


def watched_tables(mapping: Mapping) -> list[tuple[TableName, str, str]]:
    """The tables with triggers, the part that each has in the names of functions, and the column with the id."""
    watched = [(mapping.page.table, "page", mapping.page.id)]
    if mapping.body.table is not None:
        watched.append((mapping.body.table, "body", mapping.body.id_column))
    if mapping.space is not None:
        watched.append((mapping.space.table, SPACE_PART, mapping.space.id))
    if mapping.files is not None:
        watched.append((mapping.files.table, FILE_PART, mapping.files.id))
    return watched


def lock_statement(tables: Sequence[tuple[str, str]], mode: str) -> str:
    """The statement that locks *tables*, each a schema and a name, until the end of the transaction."""
    return f"LOCK TABLE {', '.join(quote_table(TableName(*table)) for table in tables)} IN {mode} MODE"


def removal_statements(binding: UUID, *, is_last: bool) -> list[str]:
    """Every statement of `bind drop`. is_last: no other binding is left in the database."""
    role, statements = quote_name(role_of(binding)), _trigger_removal(binding)
    end = f"DROP SCHEMA {SCHEMA} CASCADE" if is_last else f"DELETE FROM {SCHEMA}.change WHERE binding = '{binding}'"
    statements.append(end)
    return [*statements, f"DROP OWNED BY {role}", f"DROP ROLE {role}"]


def _trigger_removal(binding: UUID) -> list[str]:
    parts = ("page", "body", SPACE_PART, FILE_PART)
    statements = [f"DROP FUNCTION IF EXISTS {function_of(binding, part)}() CASCADE" for part in parts]
    earlier_latch = f"{SCHEMA}.{quote_name(f'looks_until_{binding.hex[:12]}')}"  # of mirrord 0.1
    return [*statements, *(f"DROP SEQUENCE IF EXISTS {name}" for name in (latch_of(binding), earlier_latch))]


_SCHEMA_STATEMENTS = (
    f"CREATE SCHEMA IF NOT EXISTS {SCHEMA} AUTHORIZATION mirrord_owner",
    f"CREATE TABLE IF NOT EXISTS {SCHEMA}.change (\n"
    "    number      bigint GENERATED ALWAYS AS IDENTITY,\n"
    "    binding     uuid NOT NULL,\n"
    '    external_id text COLLATE "C" NOT NULL\n)',
    f"ALTER TABLE {SCHEMA}.change OWNER TO mirrord_owner",
    f"CREATE INDEX IF NOT EXISTS change_of_binding ON {SCHEMA}.change (binding, number)",
    f"GRANT USAGE ON SCHEMA {SCHEMA} TO mirrord_daemon",
    f"GRANT SELECT, DELETE ON {SCHEMA}.change TO mirrord_daemon",
)


def _role_statements(binding: UUID, mapping: Mapping) -> list[str]:
    role = quote_name(role_of(binding))
    membership = (
        "DO $$\nBEGIN\n"
        "    IF current_setting('server_version_num')::integer >= 160000 THEN\n"
        f"        EXECUTE 'GRANT {role} TO mirrord_daemon WITH INHERIT FALSE, SET TRUE';\n"
        f"    ELSE\n        EXECUTE 'GRANT {role} TO mirrord_daemon';\n    END IF;\nEND\n$$"
    )
    return [f"CREATE ROLE {role} NOLOGIN", membership, *_grant_statements(binding, mapping)]


def _grant_statements(binding: UUID, mapping: Mapping) -> list[str]:
    role, read = quote_name(role_of(binding)), columns_read(mapping)
    schemas = dict.fromkeys(table.schema for table in read)
    return [
        *(f"GRANT USAGE ON SCHEMA {quote_name(schema)} TO {role}" for schema in schemas),
        *(
            f"GRANT SELECT ({', '.join([VERSION_COLUMN, *map(quote_name, columns)])}) ON {quote_table(table)} TO {role}"
            for table, columns in read.items()
        ),
    ]


_FIRST_APP_TYPE = 16_384  # Postgres' own types have smaller oids
# Every expression of a function costs each transaction of the app about a microsecond, however little it says, since it
# is set up again. So an UPDATE, which is what apps do most, has five beside its line in the queue.
_FUNCTION = """\
CREATE FUNCTION {function}() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $mirrord$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        <<different>>
        BEGIN
{comparison}\
            RETURN NULL;
        END;
    END IF;
{note}\
    RETURN NULL;
EXCEPTION
    WHEN undefined_column OR undefined_function THEN  -- a column was dropped, or cannot be compared: the row changed
        BEGIN
{note}\
        EXCEPTION WHEN OTHERS THEN
            NULL;
        END;
        RETURN NULL;
    WHEN OTHERS THEN  -- no statement of the app fails by this; the next comparison finds the change
        RETURN NULL;
END
$mirrord$"""
# Comparing values of other types than now may call functions of the app: CASE evaluates no result before its condition.
_COMPARISON = """\
            EXIT different WHEN CASE WHEN {types} THEN ROW ({new}) IS DISTINCT FROM ROW ({old}) ELSE true END;
"""
_NOTE = """\
    IF TG_OP = 'UPDATE' THEN  -- a type of the app may have a cast, which would run with the rights of this function
        IF pg_typeof(OLD.{key})::oid >= {first_app_type} THEN
            RETURN NULL;
        END IF;
        INSERT INTO mirrord_bind.change (binding, external_id)
            SELECT '{binding}', {prefix}OLD.{key}::text WHERE OLD.{key} IS NOT NULL;
        IF NEW.{key}::text = OLD.{key}::text AND pg_sequence_last_value('{latch}') = 0 THEN
            RETURN NULL;
        END IF;
        IF NEW.{key}::text IS DISTINCT FROM OLD.{key}::text THEN
            INSERT INTO mirrord_bind.change (binding, external_id)
            SELECT '{binding}', {prefix}NEW.{key}::text WHERE NEW.{key} IS NOT NULL;
        END IF;
    ELSIF TG_OP = 'INSERT' THEN
        IF pg_typeof(NEW.{key})::oid >= {first_app_type} THEN
            RETURN NULL;
        END IF;
        INSERT INTO mirrord_bind.change (binding, external_id)
            SELECT '{binding}', {prefix}NEW.{key}::text WHERE NEW.{key} IS NOT NULL;
    ELSE
        IF pg_typeof(OLD.{key})::oid >= {first_app_type} THEN
            RETURN NULL;
        END IF;
        INSERT INTO mirrord_bind.change (binding, external_id)
            SELECT '{binding}', {prefix}OLD.{key}::text WHERE OLD.{key} IS NOT NULL;
    END IF;
    IF pg_sequence_last_value('{latch}') IS DISTINCT FROM 0 THEN  -- the daemon looked since the last notification
        PERFORM setval('{latch}', 0);
        IF coalesce(nullif(current_setting('mirrord.notify', true), ''), 'on') = 'on'
           AND current_setting('max_prepared_transactions') = '0'  -- a transaction that notifies cannot be prepared
           AND pg_notification_queue_usage() < 0.5 THEN  -- with a full queue its COMMIT would fail
            PERFORM pg_notify('{channel}', '{payload}');
        END IF;
    END IF;
"""


def _trigger_statements(
    tenant: TenantId, mapping: Mapping, facts: TableFacts, watched: tuple[TableName, str, str]
) -> list[str]:
    binding, (table, part, id_column) = mapping.binding_id(tenant), watched
    function = function_of(binding, part)
    note = _NOTE.format(
        binding=binding,
        key=quote_name(id_column),
        prefix=f"'{_PREFIXES[part]}' || " if part in _PREFIXES else "",
        first_app_type=_FIRST_APP_TYPE,
        latch=latch_of(binding),
        channel=channel_of(tenant),
        payload=f"{BOUND_PAYLOAD} {binding}",
    )
    text = _FUNCTION.format(function=function, note=note, comparison=_comparisons_of(mapping, table, facts))
    return [
        text,
        f"CREATE TRIGGER {quote_name(trigger_of(binding))} AFTER INSERT OR UPDATE OR DELETE ON {quote_table(table)}\n"
        f"    FOR EACH ROW EXECUTE FUNCTION {function}()",
        f"REVOKE EXECUTE ON FUNCTION {function}() FROM PUBLIC",
        f"ALTER FUNCTION {function}() OWNER TO mirrord_owner",
    ]


def _comparisons_of(mapping: Mapping, table: TableName, facts: TableFacts) -> str:
    """
    The statements of a trigger function that pass over an UPDATE of other columns.

    `UPDATE OF` would do the same, but Postgres refuses to drop or retype a column that is named there. The column that
    changes most is compared first: a change of it asks about no other.
    """
    if facts.has_policies:  # any column may decide whether the binding sees the row
        return "            EXIT different;\n"
    names = columns_read(mapping)[table]
    often = next(name for name in (mapping.body.column, mapping.page.title, *names) if name in names)
    others = [name for name in names if name != often]
    return "".join(
        _comparison_of({name: facts.columns[name] for name in group}) for group in ([often], others) if group
    )


def _comparison_of(columns: ByKey[str, ColumnFacts]) -> str:
    old, new = (
        ", ".join(
            f"{side}.{quote_name(name)}" + ("::text" if column.type == "json" else "")
            for name, column in columns.items()
        )
        for side in ("OLD", "NEW")
    )
    types = (f"pg_typeof(NEW.{quote_name(name)})::oid = {column.oid}" for name, column in columns.items())
    return _COMPARISON.format(old=old, new=new, types=" AND ".join(types))
