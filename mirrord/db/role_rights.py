"""
The roles: who logs in, and the rights beside the schema that keep roles apart.

A dump of the schema does not contain them: a daemon that may do so restores them at every start, not only when the
schema is created.
"""

from collections.abc import Sequence

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from mirrord.db.database import APP_ROLE, DAEMON_ROLE, Connection, admin_connection, parse_dsn
from mirrord.errors import UserError

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


async def working_dsn(dsn: str) -> str:
    """
    *dsn*; for a superuser, the same with the login mirrord_daemon and without the superuser's password.

    Needs the schema's roles. Raises UserError if Postgres refuses that login, and Unavailable.
    """
    async with admin_connection(dsn) as connection:
        cursor = await connection.execute(
            "SELECT rolname, rolsuper FROM pg_catalog.pg_roles WHERE rolname = session_user"
        )
        row = await cursor.fetchone()
    if row is None or not row[1]:
        return dsn
    daemon_login = make_conninfo("", **{**parse_dsn(dsn), "user": DAEMON_ROLE, "password": None})
    try:
        async with admin_connection(daemon_login):
            return daemon_login
    except UserError as error:
        raise UserError(
            f"mirrord does not work as the superuser {row[0]}, and may not log in as {DAEMON_ROLE}: {error} "
            f"Give that role a password (`ALTER ROLE {DAEMON_ROLE} PASSWORD '…'`) and let the DSN name both "
            f"(user={DAEMON_ROLE} password=…), or put it into libpq's password file. "
            "The superuser's DSN is needed by `mirrord migrate --dsn …` only."
        ) from error
