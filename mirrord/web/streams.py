"""The stream of server-sent events: what was missed, then what happens, until somebody goes or is to go."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from mirrord.web.desk import Visit, session_of, visit_of
from mirrord.web.gate import Session
from mirrord.web.live import Event, Live, Queue, page_event
from mirrord.web.rows import feed
from mirrord.web.rows.feed import Cursor

QUIET = 15.0  # seconds after which a comment shows that the stream is alive
MISSED = 1000  # changes that are told again; of more than that only the tree is
STREAMS = 1000  # open at once, of all people together
STREAMS_OF_SESSION = 20  # windows of one who signed in: they do not take those of others
OF_OPERATORS = ("approvals", "halts")  # counts of `attention` that a guest is not told
_COMMENT = b": alive\n\n"
_BEGIN = b"retry: 1000\nevent: begin\ndata: {}\n\n"  # what is read after this is told of when it changes
_HEADERS = {"X-Accel-Buffering": "no"}


async def live(request: Request) -> Response:
    """GET api/live: events from now on, or from what `Last-Event-ID` names."""
    visit = await visit_of(request)
    state = request.app.state
    if state.streams[visit.session.id] >= STREAMS_OF_SESSION or state.streams.total() >= STREAMS:
        raise HTTPException(429, "Too many windows look at once; close some.")
    told = request.headers.get("last-event-id") or request.query_params.get("since", "")
    since = int(told) if told.isascii() and told.isdigit() and len(told) < 19 else None
    return StreamingResponse(_events(visit, state.live, since), media_type="text/event-stream", headers=_HEADERS)


async def _events(visit: Visit, live: Live, since: int | None) -> AsyncIterator[bytes]:
    streams: Counter[str] = visit.request.app.state.streams
    streams[visit.session.id] += 1
    try:
        async with live.looking(visit.tenant) as queue:
            yield _BEGIN
            for event in await _missed(visit, since) if since is not None else ():
                yield event.spelled()
            while (chunk := await _next(visit, queue)) is not None:
                yield chunk
    finally:
        streams[visit.session.id] -= 1
        streams += Counter()  # forgets those that have none


def told_to(session: Session, event: Event) -> Event:
    """*event* as somebody is told of it: what only operators decide is not counted for guests."""
    if event.name != "attention" or session.is_operator:
        return event
    return replace(event, data={**event.data, **dict.fromkeys(OF_OPERATORS, 0)})


async def _missed(visit: Visit, since: int) -> list[Event]:
    events, cursor = [Event("tree", {})], Cursor(since)
    while len(events) < MISSED:
        async with visit.reading() as connection:
            changes, behind = await feed.changed(connection, cursor)
        events += [page_event(change) for change in changes]
        if behind == cursor:
            return events
        cursor = behind
    return events[:1]


async def _next(visit: Visit, queue: Queue) -> bytes | None:
    """The next event, or a comment; None: the stream ends, because the session or the server does."""
    stopping = asyncio.ensure_future(visit.desk.stop.wait())
    getting = asyncio.ensure_future(queue.get())
    try:
        await asyncio.wait([stopping, getting], timeout=QUIET, return_when=asyncio.FIRST_COMPLETED)
        if stopping.done() or session_of(visit.request) is None:
            return None
        if not getting.done():
            return _COMMENT
        event = getting.result()
        return told_to(visit.session, event).spelled() if event is not None else None
    finally:
        stopping.cancel()
        getting.cancel()
