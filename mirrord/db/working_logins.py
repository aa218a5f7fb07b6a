"""The logins that mirrord works with: never a superuser's, and behind a pooler only with the settings of its role."""

from dataclasses import dataclass

from psycopg.conninfo import make_conninfo

from mirrord.db.database import DAEMON_ROLE, Connection, admin_connection, parse_dsn
from mirrord.errors import UserError

_SAFE_SCHEMAS = "{pg_catalog}"  # what remains of SAFE_SEARCH_PATH while there are no temporary objects
_LOST_SETTINGS_SENTENCE = (
    "A pooler before Postgres drops the settings of mirrord's connections. "
    f"Let the DSN name user={DAEMON_ROLE}, and give the settings to that role (docs/operations.md, Poolers)."
)
_NO_LISTEN_DSN_SENTENCE = (
    "A pooler before Postgres lets connections share sessions, and mirrord also needs some of its own: "
    "let `listen_dsn` name Postgres itself (docs/operations.md, Poolers)."
)
_POOLED_LISTEN_DSN_SENTENCE = (
    "`listen_dsn` reaches a pooler, and it has to reach Postgres itself (docs/operations.md, Poolers)."
)
# Without the time limits a lost connection, or an app's lock, would stop the sync. Servers before 17 lack the last one.
_LOGIN_QUERY = """
SELECT rolname, rolsuper, pg_backend_pid(), current_schemas(false)::text <> %s, EXISTS (
         SELECT FROM unnest(ARRAY['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout',
                                  'transaction_timeout']) AS name WHERE current_setting(name, true) = '0')
  FROM pg_catalog.pg_roles WHERE rolname = session_user"""


@dataclass(frozen=True, slots=True)
class WorkingLogins:
    """
    DSNs of a role that is no superuser.

    dsn: of most connections. session_dsn: of connections whose settings and listening outlive their transactions; None:
    there is none, because a pooler drops settings. listening_dsn: of those that only listen.
    """

    dsn: str
    session_dsn: str | None
    listening_dsn: str


async def find_logins(dsn: str, listen_dsn: str | None = None) -> WorkingLogins:
    """
    The logins of an installation; each is its DSN, or for a superuser the same with the login mirrord_daemon.

    Needs the schema's roles. listen_dsn: Postgres itself, if *dsn* reaches a pooler of transactions. Raises UserError
    if Postgres refuses the login, or a pooler does not fit, and Unavailable.
    """
    working_dsn, is_pooled = await _find_login(dsn, can_pool_transactions=listen_dsn is not None)
    if listen_dsn is None:
        return WorkingLogins(working_dsn, None if is_pooled else working_dsn, working_dsn)
    session_dsn, is_session_pooled = await _find_login(listen_dsn, can_pool_transactions=True)
    if is_session_pooled:
        raise UserError(_POOLED_LISTEN_DSN_SENTENCE)
    return WorkingLogins(working_dsn, session_dsn, session_dsn)


async def _find_login(dsn: str, *, can_pool_transactions: bool) -> tuple[str, bool]:
    """The DSN to work with, and whether a pooler is before Postgres, which gives clients process ids of its own."""
    async with admin_connection(dsn) as connection:
        row = await (await connection.execute(_LOGIN_QUERY, (_SAFE_SCHEMAS,))).fetchone()
        assert row is not None
        role, is_superuser, server_process, is_path_lost, is_limit_lost = row
        is_pooled = connection.info.backend_pid != server_process
        if is_path_lost or (is_pooled and is_limit_lost):
            raise UserError(_LOST_SETTINGS_SENTENCE)
        if is_pooled and not can_pool_transactions:
            await check_own_session(connection, dsn)
    return (await _daemon_login(dsn, role) if is_superuser else dsn), is_pooled


async def check_own_session(connection: Connection, dsn: str) -> None:
    """
    Raise UserError if *connection*, of *dsn* and outside of a transaction, shares a session of Postgres with others.

    A second client that gets the session of a first one, which goes on, is proof of a pooler of transactions.
    """
    process = await _load_process(connection)
    if process == connection.info.backend_pid:
        return
    async with admin_connection(dsn) as other_connection:
        if await _load_process(other_connection) == process:
            raise UserError(_NO_LISTEN_DSN_SENTENCE)


async def _load_process(connection: Connection) -> int:
    """The process id of the session; a pooler gives its clients ids of its own."""
    row = await (await connection.execute("SELECT pg_catalog.pg_backend_pid()")).fetchone()
    assert row is not None
    return int(row[0])


async def _daemon_login(dsn: str, superuser: str) -> str:
    """*dsn* with the login mirrord_daemon and without the superuser's password."""
    daemon_login = make_conninfo("", **{**parse_dsn(dsn), "user": DAEMON_ROLE, "password": None})
    try:
        async with admin_connection(daemon_login):
            return daemon_login
    except UserError as error:
        raise UserError(
            f"mirrord does not work as the superuser {superuser}, and may not log in as {DAEMON_ROLE}: {error} "
            f"Give that role a password (`ALTER ROLE {DAEMON_ROLE} PASSWORD '…'`) and let the DSN name both "
            f"(user={DAEMON_ROLE} password=…), or put it into libpq's password file. "
            "The superuser's DSN is needed by `mirrord migrate --dsn …` only."
        ) from error
