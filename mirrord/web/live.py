"""
What changes, told to everybody who looks: one connection a tenant listens, however many look.

The bell only says that something changed; what changed is read from the feed, also without a bell, so a notification
that is lost costs a second. Nobody is told anything of another tenant: a follower knows only its own.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

import orjson
from psycopg import AsyncConnection, sql

from mirrord.db import overview
from mirrord.db.connect import APP_ROLE, Connection, acting_dsn, translated
from mirrord.domain.entry import EntryId, TenantId
from mirrord.errors import MirrordError
from mirrord.sync.pausing import pause
from mirrord.web.rows import feed, mirrors
from mirrord.web.rows.feed import Change, Cursor

log = logging.getLogger(__name__)

WAITING = 1000  # events that one who looks may be behind before they have to come back
AGAIN = 0.5  # seconds between tries to reach Postgres
POLL, SOON = 1.0, 0.05  # seconds without a bell; the second while files are awaited
COUNT = 1.0  # seconds between counts of what waits for a person, and looks at how mirrors are
_TIMED = 60  # changes whose way to disk is remembered
_REMEMBERED = 20_000  # pages whose place in the sidebar is remembered

Queue = asyncio.Queue["Event | None"]


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event. seq: of the feed, by which a stream resumes; None: it resumes as before."""

    name: str
    data: dict[str, Any]
    seq: int | None = None

    def spelled(self) -> bytes:
        """As the stream has it."""
        number = f"id: {self.seq}\n" if self.seq is not None else ""
        return f"{number}event: {self.name}\ndata: ".encode() + orjson.dumps(self.data, default=str) + b"\n\n"


def page_event(change: Change) -> Event:
    """A page changed, or came to be on disk."""
    data = {"id": change.id, "version": change.version, "by": change.by, "on_disk": change.on_disk}
    return Event("page", data, change.seq)


@dataclass(slots=True)
class _Follower:
    """
    One tenant's.

    begun: from then on nothing is missed. awaited: changes that are not on disk yet, each with when it was seen.
    to_disk: seconds that the last of those took.
    """

    tenant: UUID
    queues: set[Queue] = field(default_factory=set)
    task: asyncio.Task[None] | None = None
    cursor: Cursor | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    awaited: dict[EntryId, tuple[Change, float]] = field(default_factory=dict)
    to_disk: deque[float] = field(default_factory=lambda: deque(maxlen=_TIMED))
    standing: dict[EntryId, str] = field(default_factory=dict)
    counted: dict[str, int] | None = None
    counted_at: float = 0.0
    mirrors: str | None = None

    def tell(self, event: Event) -> None:
        """Who is too far behind is sent away; they come back and resume."""
        for queue in list(self.queues):
            if queue.qsize() >= WAITING:
                self.queues.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(event)

    def tell_change(self, change: Change) -> None:
        """That a page changed, and the sidebar with it."""
        self.tell(page_event(change))
        if len(self.standing) > _REMEMBERED:
            self.standing.clear()
        if self.standing.get(change.id) != change.standing:
            self.standing[change.id] = change.standing
            self.tell(Event("tree", {}))
        self.awaited.pop(change.id, None)
        if not change.on_disk:
            self.awaited[change.id] = change, time.monotonic()


class Live:
    """All tenants that somebody looks at."""

    def __init__(self, dsn: str, stop: asyncio.Event) -> None:
        self._dsn = acting_dsn(dsn, APP_ROLE)
        self._stop = stop
        self._followers: dict[UUID, _Follower] = {}

    @asynccontextmanager
    async def looking(self, tenant: UUID) -> AsyncIterator[Queue]:
        """Events of a tenant from now on; None: come back, and resume."""
        follower = self._followers.setdefault(tenant, _Follower(tenant))
        queue: Queue = asyncio.Queue()
        follower.queues.add(queue)
        if follower.counted is not None:
            queue.put_nowait(Event("attention", follower.counted))
        if follower.task is None:
            follower.task = asyncio.ensure_future(self._follow(follower))
        try:
            await pause(self._stop, None, follower.begun)
            yield queue
        finally:
            follower.queues.discard(queue)
            if not follower.queues and self._followers.get(tenant) is follower:
                del self._followers[tenant]
                follower.task.cancel()

    def to_disk(self, tenant: UUID) -> list[float]:
        """Seconds that the last changes took to be in files, as seen from here since somebody looks; oldest first."""
        follower = self._followers.get(tenant)
        return [round(seconds, 3) for seconds in follower.to_disk] if follower else []

    async def _follow(self, follower: _Follower) -> None:
        while not self._stop.is_set():
            try:
                with translated():
                    await self._listen(follower)
            except MirrordError as error:
                log.warning("console_feed_lost", extra={"tenant": str(follower.tenant), "error": str(error)})
                await pause(self._stop, AGAIN)

    async def _listen(self, follower: _Follower) -> None:
        async with await AsyncConnection.connect(self._dsn, autocommit=True) as connection:
            setting = sql.SQL("SET mirrord.tenant = {}").format(sql.Literal(str(follower.tenant)))
            await connection.execute(setting)
            channel = f"mirrord_{follower.tenant.hex[:16]}"
            await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            if follower.cursor is None:
                follower.cursor = await feed.newest(connection)
                follower.begun.set()
            while not self._stop.is_set():
                await _look(connection, follower)
                async for _ in connection.notifies(timeout=SOON if follower.awaited else POLL, stop_after=1):
                    pass


async def _look(connection: Connection, follower: _Follower) -> None:
    """Tell what changed, what came to be on disk, what waits for a person, and that mirrors are not as before."""
    while True:
        assert follower.cursor is not None
        changes, behind = await feed.changed(connection, follower.cursor)
        for change in changes:
            follower.tell_change(change)
        if behind == follower.cursor:
            break
        follower.cursor = behind
    if follower.awaited:
        for page in await feed.on_disk(connection, list(follower.awaited)):
            change, seen = follower.awaited.pop(page)
            follower.to_disk.append(time.monotonic() - seen)
            data = {"id": page, "version": change.version, "by": change.by, "on_disk": True}
            follower.tell(Event("page", data))
    if time.monotonic() - follower.counted_at >= COUNT:
        follower.counted_at = time.monotonic()
        counted = asdict(await overview.waiting(connection, TenantId(follower.tenant)))
        if counted != follower.counted:
            follower.counted = counted
            follower.tell(Event("attention", counted))
        if (standing := await mirrors.standing(connection)) != follower.mirrors:
            follower.mirrors = standing
            follower.tell(Event("mirrors", {}))
