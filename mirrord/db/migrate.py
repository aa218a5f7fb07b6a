"""
The schema of the database: `schema/` creates it in an empty database, `migrations/` upgrade an older one.

Both end in the same schema, which tests/system/test_schema.py holds. All is plain SQL, applied under an advisory lock.
"""

from dataclasses import dataclass
from importlib.resources import files

import psycopg
from psycopg import sql

from mirrord.db.database import Connection, admin_connection
from mirrord.db.role_rights import raise_walls
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


async def migrate(dsn: str) -> list[str]:
    """
    Bring the schema up to date. Returns the names of the applied migrations.

    dsn: of a role that may create roles and schemas. Raises UserError for a newer schema, and for one too old.
    """
    async with admin_connection(dsn) as connection:
        await _take_lock(connection)
        pending = list_pending(await load_schema_number(connection))
        for migration in pending:
            await _apply(connection, migration)
        await raise_walls(connection)
        return [migration.name for migration in pending]


async def restore_policies(dsn: str) -> None:
    """
    Restore the policies of every table, and drop foreign ones. dsn: as in migrate(), which brings the schema before.

    Raises UserError if the role of *dsn* may not do so.
    """
    async with admin_connection(dsn) as connection:
        await _take_lock(connection)
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
        await _take_lock(connection)
        await raise_walls(connection)


async def _take_lock(connection: Connection) -> None:
    """Raises Unavailable if another session keeps the lock: every role may take an advisory lock."""
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
