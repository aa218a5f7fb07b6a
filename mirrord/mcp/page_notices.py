"""Notifications of changed pages, for both eras of the protocol."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ResourceUpdated
from mcp_types import EmptyResult, SubscribeRequestParams, UnsubscribeRequestParams

from mirrord.domain.entry import Digest
from mirrord.errors import MirrordError
from mirrord.mcp import served_resources
from mirrord.mcp.notice_views import View, ViewBus
from mirrord.mirror.tree.tree_layout import is_own_state
from mirrord.mirror.tree_watch import watch

log = logging.getLogger(__name__)

_LISTENING_METHODS = (
    "resources/list",
    "resources/subscribe",
    "subscriptions/listen",
)  # methods of clients that want notices

SEND_SECONDS = 5.0  # seconds that a notice waits for a client to read those before it

Context = ServerRequestContext[Any, Any]


@dataclass(slots=True, eq=False)
class _Listener:
    """
    A connection of the handshake era.

    session: that of any of its requests, which reaches the connection too. view: of its caller, whose it stays.
    """

    session: ServerSession
    view: View
    uris: set[str] = field(default_factory=set)


class Notices:
    """Listeners, their subscriptions, and the watch of the tree."""

    def __init__(
        self,
        root: Path,
        current_view: Callable[[], View],
        may_hear: Callable[[], bool],
    ) -> None:
        """*current_view*: of the caller of the current request. may_hear: whether clients may be notified."""
        self.bus = ViewBus(current_view)
        self._root, self._current_view, self._may_hear = root, current_view, may_hear
        self._names: dict[View, Digest] = {}
        self._listeners: list[_Listener] = []
        self._stream_counts: Counter[str] = Counter()  # number of streams by URI (newest protocol)
        self._stream_views: Counter[View] = Counter()
        self._is_requested = anyio.Event()

    @property
    def listener_count(self) -> int:
        """Number of connections that are notified, besides the streams of the newest protocol."""
        return len(self._listeners)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Watch the tree during a `with`, from the first request on."""
        self._is_requested = anyio.Event()
        stop = asyncio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, stop)
            try:
                yield
            finally:
                stop.set()
                tasks.cancel_scope.cancel()

    async def observe(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Middleware: note connections that ask for resources, and the subscriptions of open streams."""
        if ctx.method not in _LISTENING_METHODS:
            return await call_next(ctx)
        view = self._current_view()
        await self._note_names(view)
        self._is_requested.set()
        if ctx.method != "subscriptions/listen":
            self._listener_of(ctx.session, view)
            return await call_next(ctx)
        subscribed = _wanted_uris(ctx)
        self._stream_counts.update(subscribed)
        self._stream_views[view] += 1
        try:
            return await call_next(ctx)
        finally:
            self._stream_counts.subtract(subscribed)
            self._stream_views[view] -= 1
            self._stream_counts += Counter()  # drops zero counts
            self._stream_views += Counter()

    async def subscribe(self, context: Context, params: SubscribeRequestParams) -> EmptyResult:
        """`resources/subscribe` of the handshake era."""
        self._listener_of(context.session, self._current_view()).uris.add(str(params.uri))
        return EmptyResult()

    async def unsubscribe(self, context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        """`resources/unsubscribe` of the handshake era."""
        self._listener_of(context.session, self._current_view()).uris.discard(str(params.uri))
        return EmptyResult()

    def _listener_of(self, session: ServerSession, view: View) -> _Listener:
        """The listener of a connection. Its requests have different sessions, but the same handshake parameters."""
        for listener in self._listeners:
            if listener.session.client_params is session.client_params:
                return listener
        listener = _Listener(session, view)
        self._listeners.append(listener)
        session._connection.exit_stack.callback(self._forget, listener)  # sends to ended ones are silent
        return listener

    async def _watch(self, stop: asyncio.Event) -> None:
        await self._is_requested.wait()
        async for changed in watch(self._root, stop):
            if (changed is None or not all(map(is_own_state, changed))) and self._may_hear():
                await self._send_updates(changed)
                await self._send_list_changed()

    async def _note_names(self, view: View) -> None:
        """Note the present names of *view*, unless a client has it open, and hears of changes since."""
        if view not in self._open_views() and (names := await _digest_names(view)) is not None:
            self._names[view] = names

    def _open_views(self) -> set[View]:
        return {listener.view for listener in self._listeners} | self._stream_views.keys()

    async def _send_updates(self, changed: set[str] | None) -> None:
        for uri in _touched_uris(self._stream_counts, changed):
            await self.bus.publish(ResourceUpdated(uri=uri))
        for listener in list(self._listeners):
            for uri in filter(listener.view.shows_uri, _touched_uris(listener.uris, changed)):
                await self._send(listener, partial(listener.session.send_resource_updated, uri))

    async def _send_list_changed(self) -> None:
        changed_views = await self._changed_views()
        if changed_views:
            await self.bus.publish_new_names(changed_views)
        for listener in list(self._listeners):
            if listener.view in changed_views:
                await self._send(listener, listener.session.send_resource_list_changed)

    async def _changed_views(self) -> set[View]:
        """The open views in which names changed since the last look."""
        changed_views = set()
        for view in self._open_views():
            earlier, names = self._names.get(view), await _digest_names(view)
            if names is not None and names != earlier:
                self._names[view] = names
                changed_views |= {view} if earlier is not None else set()
        return changed_views

    async def _send(self, listener: _Listener, send: Callable[[], Awaitable[None]]) -> None:
        """Notify a connection that is not forgotten; one that does not read is, because it would delay all others."""
        if listener not in self._listeners:
            return
        with anyio.move_on_after(SEND_SECONDS) as waiting:
            await send()
        if waiting.cancelled_caught:
            self._forget(listener)

    def _forget(self, listener: _Listener) -> None:
        with suppress(ValueError):
            self._listeners.remove(listener)


async def _digest_names(view: View) -> Digest | None:
    """The digest of the names in a view; None: the tree cannot be read."""
    try:
        return await view.digest_names()
    except (MirrordError, OSError) as error:
        log.warning("not_listed", extra={"error": str(error)})
        return None


def _touched_uris(subscribed: Iterable[str], changed: set[str] | None) -> list[str]:
    """URIs of pages that may be among the *changed* paths (None: all)."""
    paths_by_uri = {uri: served_resources.paths_from_uri(uri) for uri in subscribed}
    return [uri for uri, paths in paths_by_uri.items() if paths and (changed is None or _is_near(paths, changed))]


def _wanted_uris(context: Context) -> list[str]:
    notifications = (context.params or {}).get("notifications")
    uris = notifications.get("resourceSubscriptions") if isinstance(notifications, dict) else None
    return [uri for uri in uris if isinstance(uri, str)] if isinstance(uris, list) else []


def _is_near(paths: Iterable[str], changed: set[str]) -> bool:
    """Whether one of *paths*, or a directory above it, is in *changed*."""
    return any(ancestor in changed for path in paths for ancestor in _path_and_parents(path))


def _path_and_parents(path: str) -> Iterable[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]
