"""Wiring: from a configuration to an open database and open mirrors."""

import asyncio
import os
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mirrord.config import Config
from mirrord.db import migrate, mirror_leases, tenant_rows
from mirrord.db.content import tombstone_purge
from mirrord.db.content.tenant_pasts import TenantPast, load_pasts
from mirrord.db.database import DAEMON_ROLE, Database, admin_connection, parse_dsn
from mirrord.db.server.embedded_server import EmbeddedPostgres
from mirrord.db.working_logins import WorkingLogins, find_logins
from mirrord.domain.dialect import Dialect
from mirrord.domain.entry import MirrorId, TenantId, new_id
from mirrord.errors import Halted, UserError
from mirrord.mirror import tree_marker as marker
from mirrord.mirror.mirror_state import State
from mirrord.mirror.seen_files import Index
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY
from mirrord.mirror.tree_marker import Marker
from mirrord.mirror.write.journal import DAEMON_WRITER, Journal
from mirrord.mirror.write.tree_locks import Lock
from mirrord.sync.decisions.tree_history import KnownMirror, Start, StartDecision
from mirrord.sync.dialect_change import settle_dialect
from mirrord.sync.handshake import forget_first_adoption
from mirrord.sync.observation.file_look import Looker
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.unrecorded_files import UnrecordedFiles
from mirrord.sync.start_evidence import decide_start_of

MAX_OFFERED_TREES = 8  # trees that are named if there is no tenant


class Postgres:
    """The database of a configuration: the server of its DSN, or the embedded one below the data directory."""

    def __init__(self, config: Config) -> None:
        """Raises UserError for a DSN that cannot be read."""
        for dsn in (config.dsn, config.listen_dsn):
            if dsn is not None:
                parse_dsn(dsn)
        self._dsn, self._listen_dsn = config.dsn, config.listen_dsn
        self._logins: WorkingLogins | None = None
        self.embedded = EmbeddedPostgres(config.data) if config.dsn is None else None

    @property
    def dsn(self) -> str:
        """The given DSN of Postgres itself, or that of the embedded cluster's administrator: for migrations only."""
        if self.embedded is not None:
            return self.embedded.dsn()
        given_dsn = self._listen_dsn or self._dsn
        assert given_dsn is not None
        return given_dsn

    @property
    def working_dsn(self) -> str:
        """The DSN that mirrord works with: never a superuser's once log_in() has been called."""
        return self._logins.dsn if self._logins is not None else self.dsn

    @property
    def listening_dsn(self) -> str:
        """The same for connections that listen."""
        return self._logins.listening_dsn if self._logins is not None else self.dsn

    @property
    def session_dsn(self) -> str:
        """The same for connections whose settings outlive transactions. Raises UserError if a pooler drops them."""
        if self._logins is None:
            return self.dsn
        if self._logins.session_dsn is None:
            raise UserError(
                "A pooler before Postgres drops the settings of connections: let `listen_dsn` name Postgres itself "
                "(docs/operations.md, Poolers)."
            )
        return self._logins.session_dsn

    async def log_in(self) -> None:
        """Choose the role to work with. Raises UserError if only a superuser may log in, Unavailable."""
        if self.embedded is not None:
            dsn = self.embedded.dsn(DAEMON_ROLE)
            self._logins = WorkingLogins(dsn, dsn, dsn)
        elif self._dsn is not None:
            self._logins = await find_logins(self._dsn, self._listen_dsn)

    async def start(self) -> None:
        """Start the embedded server if there is one and it does not run."""
        if self.embedded is not None:
            await asyncio.to_thread(self.embedded.start)

    async def stop(self) -> None:
        """Stop the embedded server; a server of a DSN goes on."""
        if self.embedded is not None:
            await asyncio.to_thread(self.embedded.stop)


@asynccontextmanager
async def open_database(config: Config) -> AsyncIterator[Database]:
    """
    The database for one command, its schema up to date.

    Raises UserError for a schema this mirrord does not know, Unavailable if Postgres is out of reach.
    """
    async with running_postgres(config) as postgres:
        await bring_up_to_date(postgres)
        async with Database(postgres.working_dsn, size=2) as database:
            yield database


@asynccontextmanager
async def running_postgres(config: Config) -> AsyncIterator[Postgres]:
    """A server for one command: an embedded one that does not run is started, and stopped afterwards."""
    postgres = Postgres(config)
    running = postgres.embedded is None or postgres.embedded.is_running
    await postgres.start()
    try:
        yield postgres
    finally:
        if not running:
            await postgres.stop()


async def bring_up_to_date(postgres: Postgres) -> list[str]:
    """Migrate if the DSN may do so (always in the embedded server); else check that nothing is missing."""
    number = await _schema_number(postgres)
    migrate.check_not_newer(number)
    applied = [] if number == migrate.newest_number() else await migrate.migrate(postgres.dsn)
    await postgres.log_in()
    return applied


async def _schema_number(postgres: Postgres) -> int:
    if postgres.embedded is None:
        async with admin_connection(postgres.dsn) as connection:
            return await migrate.load_schema_number(connection)
    try:
        async with admin_connection(postgres.embedded.dsn(DAEMON_ROLE)) as connection:
            return await migrate.load_schema_number(connection)
    except UserError:
        return 0  # no such role: a new cluster


async def prepare_database(postgres: Postgres) -> None:
    """Prepare a database for a daemon: update the schema, and repair the access rules that a restored one lacks."""
    await bring_up_to_date(postgres)
    await migrate.restore_walls(postgres.dsn)


async def choose_tenants(database: Database, config: Config) -> dict[str, TenantId]:
    """The tenants to mirror: those named (made if they are new), else all of the database."""
    if config.tenants:
        return await tenant_rows.ensure_tenants(database, config.tenants)
    existing = await tenant_rows.load_tenants(database)
    if not existing:
        raise UserError(await asyncio.to_thread(_no_tenant_sentence, config.mirror))
    return existing


def _no_tenant_sentence(mirror: Path) -> str:
    """The advice for a database without tenants: existing trees are offered by name."""
    trees = sorted(path.name for path in mirror.iterdir() if tenant_rows.is_tenant_name(path.name) and path.is_dir())
    if not trees:
        return "There is no tenant yet. Make one with `mirrord init NAME`, or name one: `mirrord up --tenant NAME`."
    words = " ".join(f"--tenant {name}" for name in trees[:MAX_OFFERED_TREES])
    tail = f" (and {len(trees) - MAX_OFFERED_TREES} more)" if len(trees) > MAX_OFFERED_TREES else ""
    return (
        f"The database has no tenant yet, and {mirror} has trees that may be taken in: run `mirrord up {words}`{tail}. "
        "Files stay as they are."
    )


@dataclass(slots=True)
class OpenMirror:
    """One tenant's mirror, opened and locked."""

    sides: Sides
    lock: Lock
    adopting: bool
    start: Start

    def close(self) -> None:
        """Close everything, and release the lock last."""
        self.sides.journal.close()
        self.sides.state.close()
        self.sides.tree.close()
        self.lock.release()


def make_root(config: Config, name: str) -> Path:
    """The root of a tenant's tree, made if it is missing. Raises UserError if that is not possible."""
    root = config.mirror / name
    make_directory(config.mirror)
    try:
        marker.make_root(root, config.mode)
    except OSError as error:
        raise UserError(f"The mirror directory {root} cannot be made: {error.strerror}.") from error
    make_directory(root)
    return root


def make_directory(path: Path) -> None:
    """Make a directory if it is missing. Raises UserError if that fails, or it cannot be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):  # access rights do not show read-only file systems
            pass
    except OSError as error:
        raise UserError(f"The mirror directory {path} cannot be written: {error.strerror}.") from error


def fill_root(config: Config, name: str, source: Path) -> int:
    """Copy *source* into the root of a tenant if that is empty; returns the number of files. Raises UserError."""
    root = make_root(config, name)
    if any(entry.name != STATE_DIRECTORY for entry in root.iterdir()):
        return 0
    shutil.copytree(source, root, dirs_exist_ok=True)
    return sum(1 for path in source.rglob("*") if path.is_file())


async def open_mirror(
    database: Database, config: Config, name: str, tenant: TenantId, past: TenantPast | None = None
) -> OpenMirror:
    """
    Lock a tenant's tree, find out which mirror it is, and take its lease.

    past: what was read of the tenant just now, with those of others; None: it is read here.
    Raises Refused if another daemon works on it, Halted if its mirror cannot be identified.
    """
    lock = await asyncio.to_thread(_lock_root, config, name)
    with ExitStack() as on_failure:
        on_failure.callback(lock.release)
        past = past or (await load_pasts(database, [tenant]))[tenant]
        sides, decision = await _open_sides(
            database, Tree(lock.directory, config.attachments), name, tenant, past, config.dialect
        )
        sides.links, sides.content_loss = config.links, config.content_loss
        on_failure.pop_all()
    return OpenMirror(sides, lock, decision.adopting, decision.start)


def _lock_root(config: Config, name: str) -> Lock:
    """The lock of a tenant's root, which is made if it is missing. Blocking: both may wait for the disk."""
    lock = Lock(make_root(config, name))
    lock.acquire()
    return lock


async def _open_sides(
    database: Database, tree: Tree, name: str, tenant: TenantId, past: TenantPast, dialect: Dialect | None
) -> tuple[Sides, StartDecision]:
    with ExitStack() as on_failure:
        on_failure.callback(tree.close)
        known_mirrors = [KnownMirror(*row) for row in past.mirrors]
        decision = await decide_start_of(database, tree, tenant, known_mirrors)
        if decision.start is Start.HALT:
            raise Halted(
                f"{decision.sentence} Nothing of {name} is read or written. If this tree is right, run "
                f"`mirrord adopt --tenant {name}`: everything in it is then taken in, and nothing is deleted. "
                f"If not, put the right one at {tree.root}."
            )
        mirror = decision.mirror or MirrorId(new_id())
        had_state = tree.stat(f"{STATE_DIRECTORY}/state.db") is not None
        sides = await asyncio.to_thread(_open_files, database, tree, Marker(name, tenant, mirror, *past.spoken))
        on_failure.callback(sides.state.close)
        on_failure.callback(sides.journal.close)
        sides.is_first = past.is_empty
        was_away = any(row.mirror == mirror for row in known_mirrors) and await mirror_leases.was_released_for(
            database, tenant, mirror, tombstone_purge.TOMBSTONE_AGE
        )
        if was_away or decision.start is Start.RECLAIM:
            await asyncio.to_thread(forget_first_adoption, sides)
        # of a tree that another host had, the lock here may say nothing about a daemon there
        is_moved = decision.start is Start.MOVED
        await take_lease(sides, root_locked=not is_moved, other_host=is_moved)
        spoken = await settle_dialect(sides, dialect, past.spoken)
        if spoken != past.spoken:
            marker.write(tree, Marker(name, tenant, mirror, *spoken))
        sides.dialect, sides.days = spoken
        on_failure.pop_all()
    adopting = decision.adopting or not had_state or was_away
    return sides, StartDecision(decision.start, mirror, adopting)


def _open_files(database: Database, tree: Tree, tree_marker: Marker) -> Sides:
    """Mark a tree as that of a mirror, and open what it has of its own. Blocking: much of it waits for the disk."""
    with ExitStack() as on_failure:
        marker.write(tree, tree_marker)
        journal = Journal(tree, DAEMON_WRITER)
        on_failure.callback(journal.close)
        state = State(tree)
        on_failure.callback(state.close)
        looker = Looker(tree, Index(state.load()), Ignore())
        unrecorded_files = UnrecordedFiles.load(state)
        on_failure.pop_all()
    return Sides(
        tree_marker.tenant,
        tree_marker.tenant_id,
        tree_marker.mirror,
        tree,
        journal,
        state,
        looker,
        database,
        unrecorded_files=unrecorded_files,
    )


def adopt_tree(config: Config, name: str, tenant: TenantId) -> None:
    """
    Make the tree of a tenant a new mirror: the next daemon takes it as it is, and deletes nothing.

    Raises Refused while a daemon works on it.
    """
    root = make_root(config, name)
    with Lock(root):
        tree = Tree(root)
        try:
            marker.write(tree, Marker(name, tenant, MirrorId(new_id())))
        finally:
            tree.close()


async def take_lease(sides: Sides, *, root_locked: bool, other_host: bool = False) -> None:
    """
    Record the mirror's host and root (a restored database may not know it), and take its lease.

    root_locked: the lock of this very root was just taken, so an earlier holder is dead. other_host: another host had
    the tree, whose place is recorded until the lease is taken. Raises Refused as acquire().
    """
    host, database = socket.gethostname(), sides.database
    place = (host, str(sides.tree.root))
    lease = await mirror_leases.acquire_lease(
        database,
        sides.tenant,
        sides.mirror,
        f"{host}:{os.getpid()}",
        root_locked=root_locked,
        place=place if not other_host else None,
    )
    if other_host:
        await mirror_leases.record_mirror(database, sides.tenant, sides.mirror, *place)
    sides.hold_lease(lease)
