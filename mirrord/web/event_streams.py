"""Server-sent event streams: what was missed, then what happens."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from mirrord.web.live_updates import Event, LiveEvents, Queue, page_event
from mirrord.web.request_context import Visit, session_of, visit_of
from mirrord.web.rows import feed_rows
from mirrord.web.rows.feed_rows import Cursor
from mirrord.web.sign_in import Session

COMMENT_SECONDS = 15.0  # seconds without an event before a comment is sent
MAX_MISSED_CHANGES = 1000  # changes sent again; if there are more, only the tree event
MAX_STREAMS = 1000  # open at once, over all sessions
MAX_STREAMS_OF_SESSION = 20  # per session, so that one cannot use up those of others
OPERATOR_COUNTS = ("approvals", "halts")  # counts of `attention` hidden from guests
_COMMENT = b": alive\n\n"
_BEGIN = b"retry: 1000\nevent: begin\ndata: {}\n\n"  # changes after this are sent as events
_HEADERS = {"X-Accel-Buffering": "no"}


async def stream_events(request: Request) -> Response:
    """GET api/live: events from now on, or after `Last-Event-ID`."""
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
            while (chunk := await _next_chunk(visit, queue)) is not None:
                yield chunk
    finally:
        streams[visit.session.id] -= 1
        streams += Counter()  # removes zero counts


def event_for(session: Session, event: Event) -> Event:
    """*event* for a session: guests do not receive counts that concern only operators."""
    if event.name != "attention" or session.is_operator:
        return event
    return replace(event, data={**event.data, **dict.fromkeys(OPERATOR_COUNTS, 0)})


async def _missed_events(visit: Visit, since: int) -> list[Event]:
    events, cursor = [Event("tree", {})], Cursor(since)
    while len(events) < MAX_MISSED_CHANGES:
        async with visit.read_transaction() as connection:
            changes, next_cursor = await feed_rows.load_changes(connection, cursor)
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
        if stopping.done() or session_of(visit.request) is None:
            return None
        if not getting.done():
            return _COMMENT
        event = getting.result()
        return event_for(visit.session, event).to_bytes() if event is not None else None
    finally:
        stopping.cancel()
        getting.cancel()
