"""Connections: the daemon's role, one tenant per transaction, driver errors translated once."""

import select
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import orjson
import psycopg
from psycopg import AsyncConnection, AsyncCursor, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow
from psycopg.types.json import set_json_dumps, set_json_loads
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from mirrord.db.connection_places import Places
from mirrord.db.transactions import (
    LOCK_TIMEOUT_MS,
    CommandQueue,
    LockWaits,
    TransactionChanges,
    pipelined_transaction,
)
from mirrord.domain.entry import Actor, MirrorId, TenantId
from mirrord.errors import Fenced, Locked, TooSlow, Unavailable, UserError


class Connection(AsyncConnection[TupleRow]):
    """
    A connection.

    is_cluster: its database is spread over the nodes of a Citus cluster (decision 70). is_pooled: a pooler stands
    between, which may give each transaction to another session of Postgres. Both are known after
    apply_server_settings().
    """

    is_cluster = False
    is_pooled = False


DAEMON_ROLE, APP_ROLE = "mirrord_daemon", "mirrord_app"
SAFE_SEARCH_PATH = "search_path=pg_catalog,pg_temp"  # pg_temp last: unlisted, it would be searched first
LEASE_LOST_SQLSTATE = "MR001"
CONNECT_TIMEOUT_SECONDS = 5  # seconds
# For a daemon that stopped in a transaction (SIGSTOP, a paused machine): its row locks must not delay apps.
IDLE_IN_TRANSACTION_SECONDS = 5  # seconds; a Flush of the pipeline disarms it, so servers before 17 have no other limit
TRANSACTION_TIMEOUT_SECONDS = 30  # seconds; many times what the largest batch takes
# The settings of a connection that depend on the server. On a cluster a plan for all values would ask every node.
# Behind a pooler the session is shared, so only its role may have settings (docs/operations.md, Poolers).
_SERVER_SETTINGS = b"""
SELECT CASE WHEN is_cluster AND NOT is_pooled THEN set_config('plan_cache_mode', 'force_custom_plan', false) END,
       CASE WHEN current_setting('server_version_num')::integer >= 170000 AND NOT is_pooled
            THEN set_config('transaction_timeout', %s, false) END, is_cluster, is_pooled
  FROM (SELECT coalesce(current_setting('mirrord.cluster', true), '') = 'on' AS is_cluster,
               pg_backend_pid() <> %s AS is_pooled) AS server"""
STATEMENT_TIMEOUT_SECONDS = 30  # seconds; a full compare of a million rows takes a few
POOL_TIMEOUT_SECONDS = 3.0  # seconds; callers retry
# phrases of temporary refusals
_PASSING_REFUSALS = (
    "starting up",
    "shutting down",
    "recovery",
    "connection slots",
    "too many",
    "terminating connection",
)
# Words of PgBouncer, and what its operator has to change.
_POOLER_REFUSALS = {
    "statement pooling mode": "A pooler before Postgres pools statements, and mirrord needs transactions: "
    "set `pool_mode = transaction` and `listen_dsn`, or `pool_mode = session`",
    "unsupported startup parameter": "A pooler before Postgres refuses the settings of mirrord's connections: "
    "set `ignore_startup_parameters = options`, and give them to the role mirrord_daemon",
}
# What nodes of a cluster say, with XX000: one failed while it committed, so the outcome is unknown, or rows moved away.
_NODE_FAILURES = (
    "could not commit transaction for shard",
    "failure on connection marked as essential",
    "cannot execute a distributed query from a query on a shard",
)
_TOO_SLOW_SQLSTATE = "57014"
# Failures of Postgres that are no user's mistake, by SQLSTATE; the engine reports them and retries.
_OUTAGES = {
    "53100": "Postgres has no disk space left; changes stay in files until there is some",
    "25006": "Postgres is read-only, as a standby is; changes stay in files until it can be written",
    "25P03": "Postgres ended a transaction that was idle for too long",
    "25P04": f"Postgres ended a transaction that took longer than {TRANSACTION_TIMEOUT_SECONDS} s",
    "40001": "Postgres rolled back a transaction of mirrord because of another one; it will be retried",
    "40P01": "Postgres rolled back a transaction of mirrord because of another one; it will be retried",
    _TOO_SLOW_SQLSTATE: f"Postgres ended a statement that took longer than {STATEMENT_TIMEOUT_SECONDS} s",
}

set_json_dumps(orjson.dumps)
set_json_loads(orjson.loads)


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write for one mirror: every commit checks the fencing token."""

    mirror: MirrorId
    token: int


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate driver errors: Unavailable, Locked, Fenced, or UserError. Integrity errors pass."""
    try:
        yield
    except psycopg.errors.IntegrityError:
        raise
    except psycopg.errors.LockNotAvailable as error:
        raise Locked("Another program's transaction has locked a row that mirrord must write.") from error
    except PoolTimeout as error:
        raise Unavailable(f"Postgres gave no connection within {POOL_TIMEOUT_SECONDS:.0f} s.") from error
    except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError) as error:
        if outage := _OUTAGES.get(error.sqlstate or ""):
            kind = TooSlow if error.sqlstate == _TOO_SLOW_SQLSTATE else Unavailable
            raise kind(f"{outage} ({_sentence(error)}).") from error
        if advice := next((advice for words, advice in _POOLER_REFUSALS.items() if words in str(error)), None):
            raise UserError(f"{advice} (docs/operations.md, Poolers). It says: {_sentence(error)}.") from error
        if any(words in str(error) for words in _NODE_FAILURES):
            raise Unavailable(
                f"A node of the cluster failed, or rows moved to another ({_sentence(error)})."
            ) from error
        if isinstance(error, psycopg.InternalError):
            raise
        if "FATAL:" in str(error) and not any(phrase in str(error) for phrase in _PASSING_REFUSALS):
            raise UserError(f"Postgres refused the connection: {_sentence(error)}") from error
        raise Unavailable(f"Postgres is out of reach: {_sentence(error)}") from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise UserError(f"Postgres refused: {_sentence(error)}") from error
    except psycopg.Error as error:
        if error.sqlstate == LEASE_LOST_SQLSTATE:
            raise Fenced("Another daemon has taken over this mirror.") from error
        raise


@asynccontextmanager
async def admin_connection(dsn: str) -> AsyncIterator[Connection]:
    """
    A connection in the role that *dsn* logs in, perhaps a superuser: for the schema and for questions about the server.

    Names resolve to Postgres' own objects, and never to objects in the database's other schemas.
    """
    with translate_errors():
        async with await Connection.connect(
            with_settings(dsn, SAFE_SEARCH_PATH),
            autocommit=True,
            application_name="mirrord",
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
            prepare_threshold=None,
        ) as connection:
            yield connection


def _sentence(error: psycopg.Error) -> str:
    return error.diag.message_primary or " ".join(str(error).split())


def parse_dsn(dsn: str) -> dict[str, Any]:
    """The parameters of a libpq string or URL. Raises UserError if it is neither."""
    try:
        return conninfo_to_dict(dsn)
    except psycopg.ProgrammingError as error:
        raise UserError(f"The DSN cannot be read: {_sentence(error)}") from error


def daemon_dsn(dsn: str) -> str:
    """*dsn* acting as mirrord_daemon, with any login: row-level security then applies to mirrord too."""
    return acting_dsn(dsn, DAEMON_ROLE)


def acting_dsn(dsn: str, role: str) -> str:
    """
    *dsn* acting as *role*, with any login.

    Statements look rows up by key, so one plan fits all values; planning each time took longer than the look-up.
    """
    defaults: dict[str, Any] = {"application_name": "mirrord", "connect_timeout": CONNECT_TIMEOUT_SECONDS}
    acting = with_settings(
        dsn,
        f"role={role}",
        SAFE_SEARCH_PATH,
        f"statement_timeout={STATEMENT_TIMEOUT_SECONDS}s",
        f"lock_timeout={LOCK_TIMEOUT_MS}ms",
        "plan_cache_mode=force_generic_plan",
        f"idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_SECONDS}s",
    )
    return make_conninfo("", **{**defaults, **parse_dsn(acting)})


def with_settings(dsn: str, *settings: str) -> str:
    """*dsn* with session *settings* (`name=value`) added after its own."""
    parameters = parse_dsn(dsn)
    options = " ".join([parameters.get("options") or "", *(f"-c {setting}" for setting in settings)]).strip()
    return make_conninfo("", **{**parameters, "options": options})


def app_dsn(dsn: str, tenant: TenantId) -> str:
    """*dsn* for an app of one tenant. The search path is explicit: every app may set that of their common role."""
    options = f"-c mirrord.tenant={tenant} -c search_path=mirrord,public"
    return make_conninfo(dsn, user=APP_ROLE, options=options)


class Database:
    """
    A pool of connections that act as one role.

    size: its connections at most. keeps_urgent: one of them is for what is urgent, which would otherwise wait behind
    the first transactions of a thousand tenants. checked: replace connections that broke while idle before use. Not
    for the engine: a failure tells it that the next connection may reach another server.
    """

    def __init__(
        self, dsn: str, *, size: int = 4, role: str = DAEMON_ROLE, checked: bool = False, keeps_urgent: bool = False
    ) -> None:
        self.dsn = acting_dsn(dsn, role)
        self.break_count = 0  # counts possibly broken connections: the next may reach another server
        self.is_cluster = False  # known once a connection was made
        self._lock_waits = LockWaits(size)
        self._places = Places(size - keeps_urgent, POOL_TIMEOUT_SECONDS)
        self._urgent_places = Places(1, POOL_TIMEOUT_SECONDS) if keeps_urgent else self._places
        self.written_rows = 0  # rows since the last check of the planner's statistics, see statistics.keep()
        self.pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            self.dsn,
            connection_class=Connection,
            min_size=1,
            max_size=size,
            open=False,
            # statements are few and repeat: parse and plan them once
            kwargs={"autocommit": True, "prepare_threshold": 2},
            configure=self._configure,
            check=_check_connection if checked else None,
            timeout=POOL_TIMEOUT_SECONDS,
            reconnect_timeout=2,
        )

    async def __aenter__(self) -> "Database":
        await self.pool.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.pool.close()

    async def _configure(self, connection: Connection) -> None:
        await apply_server_settings(connection)
        self.is_cluster = connection.is_cluster

    async def replace_broken(self) -> None:
        """Replace broken connections; call after Unavailable, else each of them fails once."""
        self.break_count += 1
        with translate_errors():
            await self.pool.check()

    @asynccontextmanager
    async def connection(self, *, urgent: bool = False) -> AsyncIterator[Connection]:
        """One transaction without a tenant: for tenant, tenant_clock and mirror, whose rows the daemon sees all."""
        async with self.autocommit(urgent=urgent) as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def autocommit(self, *, urgent: bool = False) -> AsyncIterator[Connection]:
        """
        An autocommit connection without a tenant: one round trip per statement instead of three.

        urgent: it waits for no transactions, for what others take for ended if it comes late.
        """
        with translate_errors(), self._count_breaks():
            places = self._urgent_places if urgent else self._places
            async with places.take(), self.pool.connection() as connection:
                yield connection

    @asynccontextmanager
    async def transaction(
        self,
        tenant: TenantId,
        lease: Lease | None = None,
        actor: Actor | None = None,
        changes: TransactionChanges | None = None,
    ) -> AsyncIterator[Connection]:
        """
        One transaction of one tenant, in pipeline mode: statements without a fetch cost no round trip.

        changes: filled after the commit. Raises Fenced when *lease* is lost: the transaction is rolled back then.
        """
        with translate_errors(), self._count_breaks():
            async with self._places.take(), self.pool.connection() as connection:
                with self._lock_waits.limit_wait(tenant) as lock_timeout:  # who waits for a place waits for no lock
                    async with pipelined_transaction(connection) as outbox:
                        outbox.add(_tenant_setting(tenant))
                        # Only settings of the transaction reach the nodes of a cluster.
                        if lock_timeout < LOCK_TIMEOUT_MS or connection.is_cluster:
                            outbox.add(f"SET LOCAL lock_timeout = '{lock_timeout}ms'".encode())
                        with outbox.hold():
                            await _set_writer(connection, tenant, lease, actor)
                        yield connection
                        if changes is None and connection.is_cluster and (lease is not None or actor is not None):
                            changes = TransactionChanges()  # checks that COMMIT makes lose their names on a cluster
                        summary = None
                        if changes is not None and changes.expected_entries != 0:
                            summary = await _finish_changes(connection, outbox, tenant, changes)
                if summary is not None and changes is not None:
                    changes.seq, changes.entries = await summary.fetchone() or (None, 0)

    @contextmanager
    def _count_breaks(self) -> Iterator[None]:
        try:
            yield
        except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled):  # the connection still works
            raise
        except (psycopg.OperationalError, psycopg.InterfaceError):
            self.break_count += 1
            raise


async def _set_writer(connection: Connection, tenant: TenantId, lease: Lease | None, actor: Actor | None) -> None:
    facts = {"kind": actor.kind, "name": actor.name} if actor is not None else None
    if lease is not None:
        writer = orjson.dumps(facts).decode() if facts is not None else None
        values = (tenant, lease.mirror, lease.token, writer)
        await connection.execute("SELECT mirrord.begin_writing(%s, %s, %s, %s)", values)
    elif facts is not None:
        await set_actor(connection, facts)


async def _finish_changes(
    connection: Connection, outbox: CommandQueue, tenant: TenantId, changes: TransactionChanges
) -> AsyncCursor[TupleRow]:
    """Ask what the transaction changed, together with its COMMIT: the tenant's clock is locked no longer than so."""
    with outbox.hold():
        if changes.followed_seq is None:
            query = "SELECT last_seq, changed_entries FROM mirrord.finish_changes(%s)"
            return await connection.execute(query, (tenant,))
        return await connection.execute(
            "SELECT last_seq, changed_entries FROM mirrord.finish_followed(%s, %s, %s)",
            (tenant, changes.expected_entries, changes.followed_seq),
        )


async def _check_connection(connection: Connection) -> None:
    """Raise if the connection broke. An idle one is readable only when the server closes it: only then query it."""
    socket = select.poll()
    socket.register(connection.fileno(), select.POLLIN)
    if socket.poll(0):
        await AsyncConnectionPool.check_connection(connection)


async def apply_server_settings(connection: Connection) -> None:
    """
    Give a new connection the settings that depend on its server.

    Statements that are prepared belong to a session, so those of a connection with a pooler are not. A pooler gives its
    clients process ids of its own.
    """
    values = (f"{TRANSACTION_TIMEOUT_SECONDS}s", connection.info.backend_pid)
    row = await (await connection.execute(_SERVER_SETTINGS, values)).fetchone()
    assert row is not None
    connection.is_cluster, connection.is_pooled = row[2], row[3]
    if connection.is_pooled:
        connection.prepare_threshold = None


async def set_tenant(connection: Connection, tenant: TenantId) -> None:
    """Bind the current transaction to *tenant*."""
    await connection.execute(_tenant_setting(tenant), prepare=False)


def _tenant_setting(tenant: TenantId) -> bytes:
    return f"SET LOCAL mirrord.tenant = '{tenant}'".encode()


async def set_actor(connection: Connection, actor: Mapping[str, str]) -> None:
    """Set the author of the current transaction: {kind, name}, and other known facts about it."""
    await set_local(connection, "mirrord.actor", orjson.dumps(dict(actor)).decode())


async def set_no_cascade(connection: Connection) -> None:
    """Write entries one by one: deleting or reviving a folder does not change its contents."""
    await connection.execute(b"SET LOCAL mirrord.cascade = 'off'")


async def set_words_later(connection: Connection) -> None:
    """Index the words of texts that get their documents in this transaction later: when links follow the feed."""
    await connection.execute(b"SET LOCAL mirrord.words = 'later'")


async def set_parents(connection: Connection, parents: list[int]) -> None:
    """Set the versions that the next revision descends from."""
    await set_local(connection, "mirrord.parents", "{" + ",".join(map(str, parents)) + "}")


async def set_local(connection: Connection, name: str, value: str) -> None:
    """Set a parameter for the current transaction."""
    # A message of its own: set_config() calls are not propagated to shards.
    await connection.execute(sql.SQL("SET LOCAL {} = {}").format(sql.SQL(name), sql.Literal(value)), prepare=False)
