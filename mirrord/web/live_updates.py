"""
Live updates for browsers, one listening connection per tenant, and the event streams that carry them.

A notification only says that something changed. The changes are read from the feed, which is also polled, so a lost
notification costs a second. Events never cross tenants: a follower reads only its own.
"""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from uuid import UUID

import orjson
from psycopg import sql
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from mirrord.auth.roles import Role
from mirrord.db import tenant_rows
from mirrord.db.database import APP_ROLE, Connection, acting_dsn, translate_errors
from mirrord.domain.entry import EntryId, TenantId, parse_id
from mirrord.errors import MirrordError
from mirrord.sync.timing import pause
from mirrord.web.presence import Presence, Window
from mirrord.web.request_context import Visit, session_of, visit_of
from mirrord.web.rows import live_rows
from mirrord.web.rows.live_rows import Change, Cursor

log = logging.getLogger(__name__)

MAX_QUEUED_EVENTS = 1000  # queued events of a window before it must reconnect
RETRY_SECONDS = 0.5  # seconds between attempts to reach Postgres
POLL_SECONDS, PENDING_POLL_SECONDS = 1.0, 0.05  # seconds between polls; SOON while files are pending
COUNT_SECONDS = 1.0  # seconds between counts of what waits for a person, and checks of mirrors
_MAX_TIMED_CHANGES = 60  # with recorded times to disk
_MAX_SIDEBAR_PAGES = 20_000  # with a remembered state in the sidebar

Queue = asyncio.Queue["Event | Window | None"]


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event. seq: of the feed, from which a stream resumes; None: as before this event."""

    name: str
    data: dict[str, Any]
    seq: int | None = None

    def to_bytes(self) -> bytes:
        """The event as bytes of the stream."""
        id_line = f"id: {self.seq}\n" if self.seq is not None else ""
        return f"{id_line}event: {self.name}\ndata: ".encode() + orjson.dumps(self.data, default=str) + b"\n\n"


def page_event(change: Change) -> Event:
    """The event of a page that changed or was written to disk."""
    data = {"id": change.id, "version": change.version, "by": change.by, "on_disk": change.on_disk}
    return Event("page", data, change.seq)


@dataclass(slots=True)
class _Follower:
    """
    The follower of one tenant.

    ready: set once no further change is missed. pending: changes not on disk yet, each with the time it was noticed.
    to_disk: seconds until the last changes were on disk.
    """

    tenant: UUID
    queues: set[Queue] = field(default_factory=set)
    task: asyncio.Task[None] | None = None
    cursor: Cursor | None = None
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    pending: dict[EntryId, tuple[Change, float]] = field(default_factory=dict)
    to_disk: deque[float] = field(default_factory=lambda: deque(maxlen=_MAX_TIMED_CHANGES))
    sidebar: dict[EntryId, str] = field(default_factory=dict)
    counts: dict[str, int] | None = None
    counts_at: float = 0.0
    mirrors: str | None = None

    def publish(self, event: Event) -> None:
        """Queue an event for every window. Windows too far behind are disconnected; they reconnect and resume."""
        for queue in list(self.queues):
            if queue.qsize() >= MAX_QUEUED_EVENTS:
                self.queues.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(event)

    def publish_change(self, change: Change) -> None:
        """Publish a changed page, and a changed sidebar."""
        self.publish(page_event(change))
        if len(self.sidebar) > _MAX_SIDEBAR_PAGES:
            self.sidebar.clear()
        if self.sidebar.get(change.id) != change.sidebar_state:
            self.sidebar[change.id] = change.sidebar_state
            self.publish(Event("tree", {}))
        self.pending.pop(change.id, None)
        if not change.on_disk:
            self.pending[change.id] = change, time.monotonic()


class LiveEvents:
    """The followers of all tenants with open windows."""

    def __init__(self, dsn: str, stop: asyncio.Event) -> None:
        self._dsn = acting_dsn(dsn, APP_ROLE)
        self._stop = stop
        self._followers: dict[UUID, _Follower] = {}

    @asynccontextmanager
    async def subscribe(self, tenant: UUID) -> AsyncIterator[Queue]:
        """A queue of the tenant's events from now on; a Window in it: other people; None: reconnect and resume."""
        follower = self._followers.setdefault(tenant, _Follower(tenant))
        queue: Queue = asyncio.Queue()
        follower.queues.add(queue)
        if follower.counts is not None:
            queue.put_nowait(Event("attention", follower.counts))
        if follower.task is None:
            follower.task = asyncio.ensure_future(self._follow(follower))
        try:
            await pause(self._stop, None, follower.ready)
            yield queue
        finally:
            follower.queues.discard(queue)
            if not follower.queues and self._followers.get(tenant) is follower:
                del self._followers[tenant]
                follower.task.cancel()

    def to_disk(self, tenant: UUID) -> list[float]:
        """Seconds from the last changes to their files, measured while windows are open; oldest first."""
        follower = self._followers.get(tenant)
        return [round(seconds, 3) for seconds in follower.to_disk] if follower else []

    async def _follow(self, follower: _Follower) -> None:
        while not self._stop.is_set():
            try:
                with translate_errors():
                    await self._listen(follower)
            except MirrordError as error:
                log.warning("console_feed_lost", extra={"tenant": str(follower.tenant), "error": str(error)})
                await pause(self._stop, RETRY_SECONDS)

    async def _listen(self, follower: _Follower) -> None:
        async with await Connection.connect(self._dsn, autocommit=True) as connection:
            setting = sql.SQL("SET mirrord.tenant = {}").format(sql.Literal(str(follower.tenant)))
            await connection.execute(setting)
            channel = f"mirrord_{follower.tenant.hex[:16]}"
            await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            if follower.cursor is None:
                follower.cursor = await live_rows.load_newest_cursor(connection)
                follower.ready.set()
            while not self._stop.is_set():
                await _publish_changes(connection, follower)
                async for _ in connection.notifies(
                    timeout=PENDING_POLL_SECONDS if follower.pending else POLL_SECONDS, stop_after=1
                ):
                    pass


async def _publish_changes(connection: Connection, follower: _Follower) -> None:
    """Publish changed pages, pages written to disk, counts of what waits for a person, and changes of mirrors."""
    while True:
        assert follower.cursor is not None
        changes, next_cursor = await live_rows.load_changes(connection, follower.cursor)
        for change in changes:
            follower.publish_change(change)
        if next_cursor == follower.cursor:
            break
        follower.cursor = next_cursor
    if follower.pending:
        for page in await live_rows.load_pages_on_disk(connection, list(follower.pending)):
            change, noticed_at = follower.pending.pop(page)
            follower.to_disk.append(time.monotonic() - noticed_at)
            data = {"id": page, "version": change.version, "by": change.by, "on_disk": True}
            follower.publish(Event("page", data))
    if time.monotonic() - follower.counts_at >= COUNT_SECONDS:
        follower.counts_at = time.monotonic()
        counts = asdict(await tenant_rows.count_waiting(connection, TenantId(follower.tenant)))
        if counts != follower.counts:
            follower.counts = counts
            follower.publish(Event("attention", counts))
        if (mirrors_state := await live_rows.load_mirrors_state(connection)) != follower.mirrors:
            follower.mirrors = mirrors_state
            follower.publish(Event("mirrors", {}))


COMMENT_SECONDS = 15.0  # seconds without an event before a comment is sent
MAX_MISSED_CHANGES = 1000  # changes sent again; if there are more, only the tree event
MAX_STREAMS = 1000  # open at once, over all sessions
MAX_STREAMS_OF_SESSION = 20  # per session, so that one cannot use up those of others
OPERATOR_COUNTS = ("approvals", "halts")  # counts of `attention` hidden from guests
_COMMENT = b": alive\n\n"
_BEGIN = b"retry: 1000\nevent: begin\ndata: {}\n\n"  # changes after this are sent as events
_HEADERS = {"X-Accel-Buffering": "no"}


async def stream_events(request: Request) -> Response:
    """GET api/live: events from now on, or after `Last-Event-ID`; with `?page=`, of a window at that page."""
    visit = await visit_of(request)
    state = request.app.state
    if state.streams[visit.session.id] >= MAX_STREAMS_OF_SESSION or state.streams.total() >= MAX_STREAMS:
        raise HTTPException(429, "Too many windows are open; close some.")
    last_id = request.headers.get("last-event-id") or request.query_params.get("since", "")
    since = int(last_id) if last_id.isascii() and last_id.isdigit() and len(last_id) < 19 else None
    return StreamingResponse(_events(visit, state.live, since), media_type="text/event-stream", headers=_HEADERS)


async def _events(visit: Visit, live: LiveEvents, since: int | None) -> AsyncIterator[bytes]:
    streams: Counter[str] = visit.request.app.state.streams
    streams[visit.session.id] += 1
    try:
        async with live.subscribe(visit.tenant) as queue:
            yield _BEGIN
            for event in await _missed_events(visit, since) if since is not None else ():
                yield event.to_bytes()
            with _presence_of(visit, queue):
                while (chunk := await _next_chunk(visit, queue)) is not None:
                    yield chunk
    finally:
        streams[visit.session.id] -= 1
        streams += Counter()  # removes zero counts


def _presence_of(visit: Visit, queue: Queue) -> AbstractContextManager[None]:
    """The window at the page that it names; ids that the tenant lacks are places where only those who name them are."""
    page = parse_id(visit.request.query_params.get("page", ""))
    if page is None:
        return nullcontext()
    presence: Presence = visit.request.app.state.presence
    return presence.window(visit.tenant, page, visit.session.owner, visit.session.name, queue.put_nowait)


def event_for(role: Role, event: Event) -> Event:
    """*event* for a person: only operators receive the counts that concern them."""
    if event.name != "attention" or role.is_operator:
        return event
    return replace(event, data={**event.data, **dict.fromkeys(OPERATOR_COUNTS, 0)})


async def _missed_events(visit: Visit, since: int) -> list[Event]:
    events, cursor = [Event("tree", {})], Cursor(since)
    while len(events) < MAX_MISSED_CHANGES:
        async with visit.read_transaction() as connection:
            changes, next_cursor = await live_rows.load_changes(connection, cursor)
        events += [page_event(change) for change in changes]
        if next_cursor == cursor:
            return events
        cursor = next_cursor
    return events[:1]


async def _next_chunk(visit: Visit, queue: Queue) -> bytes | None:
    """The next event or comment; None: the session or the server has ended."""
    stopping = asyncio.ensure_future(visit.app.stop.wait())
    getting = asyncio.ensure_future(queue.get())
    try:
        await asyncio.wait([stopping, getting], timeout=COMMENT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        session = session_of(visit.request)
        role = session.role_in(visit.tenant) if session is not None else None  # as it is now
        if stopping.done() or role is None:
            return None
        if not getting.done():
            return _COMMENT
        event = getting.result()
        if isinstance(event, Window):
            event = Event("people", event.list_others())
        return event_for(role, event).to_bytes() if event is not None else None
    finally:
        stopping.cancel()
        getting.cancel()
