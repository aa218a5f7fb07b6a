"""Who logs in: mirrord works as its own role, so that no statement of its sessions ever has a superuser behind it."""

from psycopg.conninfo import make_conninfo

from mirrord.db.connect import DAEMON_ROLE, administered, parts_of
from mirrord.errors import UserError


async def working_dsn(dsn: str) -> str:
    """
    *dsn*; where it logs in as a superuser, the same as mirrord_daemon, without the superuser's password.

    Needs the schema's roles. Raises UserError where Postgres refuses that login, Unavailable.
    """
    async with administered(dsn) as connection:
        cursor = await connection.execute(
            "SELECT rolname, rolsuper FROM pg_catalog.pg_roles WHERE rolname = session_user"
        )
        row = await cursor.fetchone()
    if row is None or not row[1]:
        return dsn
    own = make_conninfo("", **{**parts_of(dsn), "user": DAEMON_ROLE, "password": None})
    try:
        async with administered(own):
            return own
    except UserError as error:
        raise UserError(
            f"mirrord does not work as the superuser {row[0]}, and may not log in as {DAEMON_ROLE}: {error} "
            f"Give that role a password (`ALTER ROLE {DAEMON_ROLE} PASSWORD '…'`) and let the DSN name both "
            f"(user={DAEMON_ROLE} password=…), or put it into libpq's password file. "
            "The superuser's DSN is needed by `mirrord migrate --dsn …` only."
        ) from error
