"""Logins: mirrord works as its own role, so that no statement of its sessions runs as a superuser."""

from psycopg.conninfo import make_conninfo

from mirrord.db.connect import DAEMON_ROLE, admin_connection, parse_dsn
from mirrord.errors import UserError


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
