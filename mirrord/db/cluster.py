"""A database that is spread over a Citus cluster: made from the schema of a single server, and repaired."""

from collections.abc import Iterable, Sequence

import psycopg
from psycopg import sql

from mirrord.db.cluster_plan import (
    ForeignKey,
    Function,
    Node,
    Table,
    find_obstacle,
    node_statements,
    revoke_statements,
    schema_statements,
)
from mirrord.db.database import Connection
from mirrord.errors import Unavailable, UserError

_NODES = """
SELECT nodename, nodeport, groupid = 0, isactive, shouldhaveshards FROM pg_catalog.pg_dist_node
 WHERE noderole = 'primary' ORDER BY groupid"""
_TABLES = """
SELECT relname, ARRAY(
           SELECT ARRAY[conname, target.relname, pg_get_constraintdef(key.oid)]::text[]
             FROM pg_catalog.pg_constraint AS key JOIN pg_catalog.pg_class AS target ON target.oid = confrelid
            WHERE conrelid = class.oid AND contype = 'f'),
       EXISTS (SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid = class.oid)
  FROM pg_catalog.pg_class AS class
 WHERE relnamespace = 'mirrord'::regnamespace AND relkind = 'r' AND NOT relispartition
   AND relname !~ '_[0-9]+$'"""
_FUNCTIONS = """
SELECT proname, oid::regprocedure::text, has_function_privilege('public', oid, 'EXECUTE'),
       prorettype <> 'trigger'::regtype AND EXISTS (
           SELECT FROM pg_catalog.pg_depend WHERE classid = 'pg_trigger'::regclass AND refclassid = 'pg_proc'::regclass
              AND refobjid = proc.oid)
  FROM pg_catalog.pg_proc AS proc
 WHERE pronamespace = 'mirrord'::regnamespace ORDER BY 2"""


_IS_OPEN = "SELECT has_function_privilege('public', 'run_command_on_workers(text,boolean)', 'EXECUTE')"
_OPEN_NODES = """
SELECT nodename || ':' || nodeport, result FROM run_command_on_all_nodes(%s)
  JOIN pg_catalog.pg_dist_node USING (nodeid) ORDER BY 1"""


async def load_citus_version(connection: Connection) -> str | None:
    """The version of Citus in this database; None: it has none."""
    cursor = await connection.execute("SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'citus'")
    row = await cursor.fetchone()
    return str(row[0]) if row else None


async def is_distributed(connection: Connection) -> bool:
    """Whether the tables of this database, which has Citus, are spread over a cluster."""
    cursor = await connection.execute(
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid = to_regclass('mirrord.page'))"
    )
    row = await cursor.fetchone()
    return bool(row and row[0])


async def prepare_cluster(connection: Connection, walls: Sequence[str]) -> None:
    """
    Give every node roles, settings and revokes, and this session the settings in which the schema is made.

    walls: further statements for each node. Raises UserError if the cluster cannot be used, Unavailable if a node does
    not answer; nothing was written then.
    """
    version = await load_citus_version(connection)
    if version is None:
        raise UserError(
            "This database has no Citus. Run `CREATE EXTENSION citus` in it on every node, make one the coordinator, "
            "and add the others with `citus_add_node`. Nothing was written."
        )
    if not await _is_superuser(connection):
        raise UserError("Only a superuser may spread tables over a cluster. Nothing was written.")
    nodes = [Node(*row) for row in await (await connection.execute(_NODES)).fetchall()]
    if obstacle := find_obstacle(version, nodes):
        raise UserError(obstacle)
    await _run_on_nodes(connection, ["SELECT 1"])
    statements = node_statements(sql.Identifier(connection.info.dbname).as_string(), walls)
    await _run_on_nodes(connection, statements)
    await connection.execute("SET mirrord.cluster = 'on'")
    await connection.execute("SET citus.enable_unsafe_triggers = on")
    await connection.execute("SET citus.enable_ddl_propagation = off")  # what is made now is distributed as a whole


async def distribute_schema(connection: Connection) -> None:
    """Spread what is not spread yet: tables by tenant, and functions. After prepare_cluster() in the same session."""
    await connection.execute("SET citus.enable_ddl_propagation = on")
    async with connection.transaction():
        await connection.execute("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
        tables = await _load_tables(connection)
        functions = [Function(*row) for row in await (await connection.execute(_FUNCTIONS)).fetchall()]
        await _execute_all(connection, schema_statements(tables, functions))
    await _run_on_nodes(connection, revoke_statements(functions))


async def load_open_nodes(connection: Connection) -> list[str]:
    """
    Sentences about nodes of a cluster that mirrord has not prepared, which happens when they are added.

    Empty for one server, and for a role that may not ask the nodes.
    """
    if await load_citus_version(connection) is None or not await is_distributed(connection):
        return []
    if not await _is_superuser(connection):
        return []
    answers = await (await connection.execute(_OPEN_NODES, (_IS_OPEN,))).fetchall()
    return [f"Apps may run commands on other nodes from {node}." for node, is_open in answers if is_open == "t"]


async def _load_tables(connection: Connection) -> list[Table]:
    cursor = await connection.execute(_TABLES)
    return [
        Table(name, tuple(ForeignKey(*key) for key in keys), is_known)
        for name, keys, is_known in await cursor.fetchall()
    ]


async def _run_on_nodes(connection: Connection, statements: Iterable[str]) -> None:
    """Run each statement on every node, outside of any transaction. Raises Unavailable for the first that fails."""
    query = (
        "SELECT nodename || ':' || nodeport, result"
        "  FROM run_command_on_all_nodes(%s, give_warning_for_connection_errors => true)"
        "  JOIN pg_catalog.pg_dist_node USING (nodeid) WHERE NOT success"
    )
    for statement in statements:
        command = (
            f"DO $node$ BEGIN SET LOCAL citus.enable_ddl_propagation = off; EXECUTE $run${statement}$run$; END $node$"
        )
        failures = await (await connection.execute(query, (command,))).fetchall()
        if failures:
            node, reason = failures[0]
            raise Unavailable(f"The node {node} of the cluster does not answer: {' '.join(str(reason).split())}")


async def _is_superuser(connection: Connection) -> bool:
    (row,) = await _rows(connection, "SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = session_user")
    return bool(row[0])


async def _rows(connection: Connection, query: str) -> list[tuple[object, ...]]:
    return list(await (await connection.execute(query.encode())).fetchall())


async def _execute_all(connection: Connection, statements: Iterable[str]) -> None:
    for statement in statements:
        try:
            await connection.execute(statement.encode())
        except psycopg.Error as error:
            error.add_note(statement)
            raise
