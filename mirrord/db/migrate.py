"""
The schema of the database, and the rights beside it that keep roles apart.

`schema/` creates it in an empty database, `migrations/` upgrade an older one. A dump of the schema does not contain the
rights: a daemon that may do so restores them at every start, not only when the schema is created.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import psycopg
from psycopg import sql

from mirrord.db import cluster
from mirrord.db.database import APP_ROLE, DAEMON_ROLE, Connection, admin_connection
from mirrord.db.working_logins import check_own_session
from mirrord.errors import Unavailable, UserError

LOCK_TIMEOUT_SECONDS = 60  # seconds; a daemon then reports it and retries

_POLICIES_FILE = "19_policies.sql"
_LOCK = 0x6D6972726F7264  # "mirrord", the key of the advisory lock


@dataclass(frozen=True, slots=True)
class Migration:
    """
    Statements that bring the schema to *number*, in one transaction.

    name: that of its file, `0021_names_in_functions.sql`; `schema` for the statements that create the schema.
    """

    number: int
    name: str
    statements: str


def load_migrations() -> list[Migration]:
    """The migrations that upgrade an older schema, in order."""
    return [Migration(int(name[:4]), name, statements) for name, statements in _read_files("migrations")]


def load_schema() -> Migration:
    """The whole schema for an empty database, as of the newest migration."""
    statements = "\n".join(text for _, text in _read_files("schema"))
    return Migration(newest_number(), "schema", statements)


def newest_number() -> int:
    """The number of the schema that this mirrord needs."""
    return load_migrations()[-1].number


def _read_files(directory: str) -> list[tuple[str, str]]:
    """The SQL files of *directory* in the order of their names: name and text."""
    paths = [path for path in files(__package__).joinpath(directory).iterdir() if path.name.endswith(".sql")]
    return [(path.name, path.read_text(encoding="utf-8")) for path in sorted(paths, key=lambda path: path.name)]


async def migrate(dsn: str, *, onto_cluster: bool = False) -> list[str]:
    """
    Bring the schema up to date. Returns the names of the applied migrations.

    dsn: of a role that may create roles and schemas. onto_cluster: the database has to be one of a Citus cluster; a new
    one that has Citus is spread over its nodes in any case. Raises UserError for a newer schema, for one too old, and
    for a cluster that cannot be used, and Unavailable.
    """
    async with admin_connection(dsn) as connection:
        await _take_lock(connection, dsn)
        number = await load_schema_number(connection)
        pending = list_pending(number)
        is_cluster = await _choose_cluster(connection, number, onto_cluster=onto_cluster)
        if is_cluster:
            _check_upgradable(number, pending)
            walls = [statement.as_string(connection) for statement in await _allowed_statements(connection)]
            await cluster.prepare_cluster(connection, walls)
        for migration in pending:
            await _apply(connection, migration)
        if is_cluster:
            await cluster.distribute_schema(connection)
        await raise_walls(connection)
        return [migration.name for migration in pending]


async def _choose_cluster(connection: Connection, number: int, *, onto_cluster: bool) -> bool:
    """Whether the tables are, or become, those of a cluster. number: of the schema; 0: none yet."""
    if await cluster.load_citus_version(connection) is None:
        return onto_cluster
    # An empty schema is that of a migration that failed halfway, or Citus came later.
    if number == 0 or await cluster.is_distributed(connection) or await _is_empty(connection):
        return True
    if onto_cluster:
        raise UserError(
            "The tables of this database are on one server and have tenants, so they stay there. "
            "Migrate a new database of the cluster and restore their backups there (docs/scaling.md). "
            "Nothing was written."
        )
    return False


def _check_upgradable(number: int, pending: Sequence[Migration]) -> None:
    """Raise UserError for a cluster with an older schema: what changes its tables has to reach every shard."""
    if number and pending:
        raise UserError(
            f"The cluster has schema {number}, and schemas of clusters are not upgraded in place. Back its tenants up "
            "with the earlier mirrord, migrate a new database of the cluster, and restore them there "
            "(docs/scaling.md). Nothing was written."
        )


async def _is_empty(connection: Connection) -> bool:
    row = await (await connection.execute("SELECT NOT EXISTS (SELECT FROM mirrord.tenant)")).fetchone()
    return bool(row and row[0])


async def restore_policies(dsn: str) -> None:
    """
    Restore the policies of every table, and drop foreign ones. dsn: as in migrate(), which brings the schema before.

    Raises UserError if the role of *dsn* may not do so.
    """
    async with admin_connection(dsn) as connection:
        await _take_lock(connection, dsn)
        try:
            async with connection.transaction():
                await connection.execute(sql.SQL(dict(_read_files("schema"))[_POLICIES_FILE]))
        except psycopg.errors.InsufficientPrivilege as error:
            raise UserError(
                f"The policies stay as they are: {error.diag.message_primary}. "
                "Use a DSN whose role may act as mirrord_owner."
            ) from error


async def restore_walls(dsn: str) -> None:
    """Restore rights that a dump or an older mirrord left too wide, as far as the role of *dsn* may."""
    async with admin_connection(dsn) as connection:
        await _take_lock(connection, dsn)
        await raise_walls(connection)


async def _take_lock(connection: Connection, dsn: str) -> None:
    """
    Keep others from migrating until the connection ends.

    dsn: of *connection*. Raises UserError if a pooler would let the lock outlive it, and Unavailable if another session
    keeps the lock: every role may take an advisory lock.
    """
    await check_own_session(connection, dsn)
    try:
        await connection.execute(f"SET lock_timeout = '{LOCK_TIMEOUT_SECONDS}s'")
        await connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        await connection.execute("RESET lock_timeout")
    except psycopg.errors.LockNotAvailable as error:
        raise Unavailable(
            f"Another session has kept mirrord from migrating for {LOCK_TIMEOUT_SECONDS} s. "
            "End it: `SELECT pid, usename FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory'`."
        ) from error


async def load_schema_number(connection: Connection) -> int:
    """The number of the newest applied migration; 0: no schema yet."""
    exists = await (await connection.execute("SELECT to_regclass('mirrord.migration') IS NOT NULL")).fetchone()
    if not exists or not exists[0]:
        return 0
    row = await (await connection.execute("SELECT coalesce(max(number), 0) FROM mirrord.migration")).fetchone()
    return int(row[0]) if row else 0


def list_pending(number: int) -> list[Migration]:
    """What brings a database of schema *number* up to date; 0: an empty one. Raises UserError if nothing can."""
    check_not_newer(number)
    if number == 0:
        return [load_schema()]
    migrations = load_migrations()
    oldest = migrations[0].number - 1
    if number < oldest:
        raise UserError(
            f"The database has schema {number}, this mirrord upgrades schemas from {oldest} on. "
            "Upgrade with an earlier mirrord first; nothing was written."
        )
    return [migration for migration in migrations if migration.number > number]


def check_not_newer(number: int) -> None:
    """Raise UserError if the database is newer than this mirrord, which could write wrong rows."""
    newest = newest_number()
    if number > newest:
        raise UserError(
            f"The database has schema {number}, this mirrord knows schemas up to {newest}. "
            "Install a newer mirrord; nothing was written."
        )


async def _apply(connection: Connection, migration: Migration) -> None:
    try:
        async with connection.transaction():
            await connection.execute(sql.SQL(migration.statements))
            await connection.execute("SET LOCAL ROLE mirrord_owner")
            await connection.execute(
                "INSERT INTO mirrord.migration (number, name) VALUES (%s, %s)",
                (migration.number, migration.name),
            )
    except psycopg.errors.InsufficientPrivilege as error:
        raise UserError(
            f"Migration {migration.name} was refused: {error.diag.message_primary}. "
            "Migrate with a DSN whose role may create roles and schemas."
        ) from error


# Sessions of one role see each other's statements, including pages, and may end each other; apps of all tenants share
# one role.
_SESSION_FUNCTIONS = (
    "pg_stat_get_activity(integer)",
    "pg_stat_get_backend_activity(integer)",
    "pg_cancel_backend(integer)",
    "pg_terminate_backend(integer, bigint)",
)
_LARGE_OBJECT_FUNCTIONS = (
    "lo_create(oid)",
    "lo_creat(integer)",
    "lo_from_bytea(oid, bytea)",
)  # they would belong to no tenant
_MONITOR_ROLES = ("pg_monitor", DAEMON_ROLE)


async def raise_walls(connection: Connection) -> None:
    """Revoke unneeded rights of apps. `mirrord doctor` reports those that the session's role may not change."""
    for statement in await _allowed_statements(connection):
        await _execute_if_allowed(connection, statement)


async def load_open_walls(connection: Connection) -> Sequence[str]:
    """Sentences about rights of the apps' role that mirrord revokes."""
    cursor = await connection.execute(
        "SELECT sentence FROM (VALUES"
        " (has_database_privilege('mirrord_app', current_database(), 'TEMPORARY'), 'Apps may make temporary objects.'),"
        " (has_database_privilege('mirrord_app', current_database(), 'CREATE'), 'Apps may make schemas.'),"
        " (has_schema_privilege('mirrord_app', 'public', 'CREATE'), 'Apps may make objects in the schema public.'),"
        " (has_schema_privilege('mirrord_app', 'mirrord', 'CREATE'), 'Apps may make objects in mirrord''s schema.'),"
        " (EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'mirrord_owner' AND rolcanlogin),"
        "  'The owner of mirrord''s tables may log in.')"
        ") AS walls (is_open, sentence) WHERE is_open"
    )
    return [str(sentence) for (sentence,) in await cursor.fetchall()]


async def _allowed_statements(connection: Connection) -> list[sql.Composed]:
    """Statements that the session's role may execute: none unless it owns the database or is a superuser."""
    cursor = await connection.execute(
        "SELECT datname, pg_has_role(session_user, datdba, 'USAGE'), rolsuper"
        "  FROM pg_catalog.pg_database, pg_catalog.pg_roles"
        " WHERE datname = current_database() AND rolname = session_user"
    )
    row = await cursor.fetchone()
    assert row is not None
    database, is_owner, is_superuser = sql.Identifier(str(row[0])), bool(row[1]), bool(row[2])
    app = sql.Identifier(APP_ROLE)
    database_statements = [
        sql.SQL("REVOKE CREATE, TEMPORARY ON DATABASE {} FROM PUBLIC, {}").format(database, app),
        sql.SQL("REVOKE CREATE ON SCHEMA public FROM PUBLIC, {}").format(app),
    ]
    return (database_statements if is_owner else []) + (_function_statements() if is_superuser else [])


def _function_statements() -> list[sql.Composed]:
    """Statements for rights on Postgres' functions, which only a superuser may change, per database."""
    monitors = sql.SQL(", ").join(map(sql.Identifier, _MONITOR_ROLES))
    statements = []
    for function in (*_SESSION_FUNCTIONS, *_LARGE_OBJECT_FUNCTIONS):
        name = sql.SQL("pg_catalog." + function)
        statements.append(sql.SQL("REVOKE EXECUTE ON FUNCTION {} FROM PUBLIC").format(name))
    for function in _SESSION_FUNCTIONS:
        statements.append(
            sql.SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(sql.SQL("pg_catalog." + function), monitors)
        )
    return statements


async def _execute_if_allowed(connection: Connection, statement: sql.Composed) -> None:
    try:
        await connection.execute(statement)
    except psycopg.errors.InsufficientPrivilege:
        return  # only another role may change it; `mirrord doctor` reports it
