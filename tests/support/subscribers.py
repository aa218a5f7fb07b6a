"""Clients that subscribed to pages and to the list of pages, in both eras of the protocol, and what they hear."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ServerNotification

PATIENCE_SECONDS = 60
UPDATED, LIST_CHANGED = "notifications/resources/updated", "notifications/resources/list_changed"


@dataclass(slots=True)
class Subscriber:
    """A client, and the notices that it got."""

    client: Client
    notices: list[tuple[str, str | None]] = field(default_factory=list)
    arrived: anyio.Event = field(default_factory=anyio.Event)

    def note(self, method: str, uri: str | None = None) -> None:
        self.notices.append((method, uri))
        self.arrived.set()
        self.arrived = anyio.Event()

    async def until(self, method: str, uri: str | None = None) -> None:
        while (method, uri) not in self.notices:
            await self.arrived.wait()


@asynccontextmanager
async def subscribed(connection: Any, mode: str, uris: list[str], bearer: str | None) -> AsyncIterator[Subscriber]:
    """A client of *connection*, a URL with a token or the parameters of a process, subscribed to *uris*."""
    subscriber: Subscriber

    async def hear(message: object) -> None:
        if isinstance(message, ServerNotification):
            subscriber.note(message.method, getattr(message.params, "uri", None))

    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {bearer}"}, timeout=PATIENCE_SECONDS) as bare:
        transport = connection if bearer is None else streamable_http_client(connection, http_client=bare)
        async with Client(transport, mode=mode, message_handler=hear) as client:
            subscriber = Subscriber(client)
            if mode == "legacy":
                for uri in uris:
                    await client.subscribe_resource(uri)
                yield subscriber
                return
            async with (
                anyio.create_task_group() as tasks,
                client.listen(resource_subscriptions=uris, resources_list_changed=True) as events,
            ):

                async def note_events() -> None:
                    async for event in events:
                        uri = getattr(event, "uri", None)
                        subscriber.note(LIST_CHANGED if uri is None else UPDATED, uri)

                tasks.start_soon(note_events)
                yield subscriber
                tasks.cancel_scope.cancel()
