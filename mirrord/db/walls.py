"""What keeps roles apart beside the schema: rights on the database itself and on functions of Postgres.

They are not in a dump of the schema: so they are put right at every start of a daemon that may do so, not only when
the schema is made.
"""

from collections.abc import Sequence

import psycopg
from psycopg import sql

from mirrord.db.connect import APP_ROLE, DAEMON_ROLE, Connection

# Sessions of one role see each other's statements, with the pages in them, and may end each other: apps of all tenants
# log in as one role.
_OF_OTHER_SESSIONS = (
    "pg_stat_get_activity(integer)",
    "pg_stat_get_backend_activity(integer)",
    "pg_cancel_backend(integer)",
    "pg_terminate_backend(integer, bigint)",
)
_LARGE_OBJECTS = ("lo_create(oid)", "lo_creat(integer)", "lo_from_bytea(oid, bytea)")  # would belong to no tenant
_MONITORS = ("pg_monitor", DAEMON_ROLE)


async def raise_walls(connection: Connection) -> None:
    """Take from apps what they do not need. What the session's role may not change stays: `mirrord doctor` tells."""
    for statement in await _statements(connection):
        await _try(connection, statement)


async def open_walls(connection: Connection) -> Sequence[str]:
    """What an app's role could do that mirrord takes from it, as sentences."""
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


async def _statements(connection: Connection) -> list[sql.Composed]:
    """Those that the session's role may execute: none where it neither owns the database nor is a superuser."""
    cursor = await connection.execute(
        "SELECT datname, pg_has_role(session_user, datdba, 'USAGE'), rolsuper"
        "  FROM pg_catalog.pg_database, pg_catalog.pg_roles"
        " WHERE datname = current_database() AND rolname = session_user"
    )
    row = await cursor.fetchone()
    assert row is not None
    database, is_owner, is_superuser = sql.Identifier(str(row[0])), bool(row[1]), bool(row[2])
    app = sql.Identifier(APP_ROLE)
    of_the_database = [
        sql.SQL("REVOKE CREATE, TEMPORARY ON DATABASE {} FROM PUBLIC, {}").format(database, app),
        sql.SQL("REVOKE CREATE ON SCHEMA public FROM PUBLIC, {}").format(app),
    ]
    return (of_the_database if is_owner else []) + (_of_the_system() if is_superuser else [])


def _of_the_system() -> list[sql.Composed]:
    """Rights on functions of Postgres itself, which only a superuser changes, database by database."""
    monitors = sql.SQL(", ").join(map(sql.Identifier, _MONITORS))
    statements = []
    for function in (*_OF_OTHER_SESSIONS, *_LARGE_OBJECTS):
        name = sql.SQL("pg_catalog." + function)
        statements.append(sql.SQL("REVOKE EXECUTE ON FUNCTION {} FROM PUBLIC").format(name))
    for function in _OF_OTHER_SESSIONS:
        statements.append(
            sql.SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(sql.SQL("pg_catalog." + function), monitors)
        )
    return statements


async def _try(connection: Connection, statement: sql.Composed) -> None:
    try:
        await connection.execute(statement)
    except psycopg.errors.InsufficientPrivilege:
        return  # somebody else's to change; the doctor tells
