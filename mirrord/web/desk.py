"""What every answer needs: who asks, in which tenant, by whose tables; and how refusals are spelled."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mirrord.db.connect import Connection, Database, set_actor
from mirrord.domain.entry import EntryId, TenantId, parse_id
from mirrord.errors import UserError
from mirrord.web.gate import Gate, Session
from mirrord.web.rates import Rate

CHANNEL = "console"

Tenants = Callable[[], Awaitable[Mapping[str, UUID]]]

_KNOWN_FOR = 5.0  # seconds for which the list of tenants is not read again
_LARGE_BYTES = 256 << 10  # of a body that is read beside the loop
_DEPTH = 150  # levels of a JSON body: of a document some ten a level of its lists


@dataclass(slots=True)
class Desk:
    """
    What the application is made with.

    database: as mirrord_app, a small pool of the console's own: what it waits for, sync does not wait for.
    tenants: all there are, by name. stop: set when the server ends, so that streams do. A tenant made a moment ago is
    not known for some seconds.
    """

    database: Database
    gate: Gate
    tenants: Tenants
    stop: asyncio.Event
    sign_ins: Rate = field(default_factory=lambda: Rate(20))
    writes: Rate = field(default_factory=lambda: Rate(600))
    uploads: Rate = field(default_factory=lambda: Rate(60))
    _known: Mapping[str, UUID] = field(default_factory=dict)
    _known_at: float = -_KNOWN_FOR

    async def known_tenants(self) -> Mapping[str, UUID]:
        """All tenants by name, read again from time to time."""
        if time.monotonic() - self._known_at >= _KNOWN_FOR:
            self._known = await self.tenants()
            self._known_at = time.monotonic()
        return self._known


@dataclass(frozen=True, slots=True)
class Visit:
    """One request about one tenant, by somebody who may see it."""

    desk: Desk
    session: Session
    tenant: UUID
    name: str
    request: Request

    def reading(self) -> AbstractAsyncContextManager[Connection]:
        """A transaction of the tenant."""
        return self.desk.database.transaction(TenantId(self.tenant))

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Connection]:
        """The same, in the visitor's name."""
        async with self.reading() as connection:
            await set_actor(connection, {"kind": "human", "name": self.session.name, "channel": CHANNEL})
            yield connection

    @property
    def page(self) -> EntryId:
        """The page that the address names. Raises 404 for what is no id."""
        return entry_of(self.request.path_params["page"])

    def href(self, page: UUID) -> str:
        """Where a page of this tenant is shown."""
        return f"/t/{self.name}/p/{page}"


def desk_of(request: Request) -> Desk:
    """The application's."""
    desk: Desk = request.app.state.desk
    return desk


def session_of(request: Request) -> Session | None:
    """Who asks; None: nobody who signed in."""
    gate = desk_of(request).gate
    cookie = request.cookies.get(gate.cookie)
    return gate.session(cookie) if cookie else None


async def visit_of(request: Request) -> Visit:
    """
    The visit that a request is.

    Raises 401 for nobody, and 404 alike for tenants that are not there and for those that are not theirs.
    """
    session, desk = session_of(request), desk_of(request)
    if session is None:
        raise HTTPException(401, "Sign in with a link; `mirrord console link` prints one.")
    name = request.path_params["tenant"]
    tenant = (await desk.known_tenants()).get(name)
    if tenant is None or session.tenant not in (None, tenant):
        raise not_found()
    return Visit(desk, session, tenant, name, request)


def not_found() -> HTTPException:
    """There is nothing, or nothing for them."""
    return HTTPException(404, "There is nothing here; it may have been deleted or moved.")


def refused(sentence: str) -> HTTPException:
    """What was asked for cannot be done as it is."""
    return HTTPException(422, sentence)


def entry_of(text: object) -> EntryId:
    """The id that an address or a body spells. Raises 404 for anything else."""
    if not isinstance(text, str) or (found := parse_id(text)) is None:
        raise not_found()
    return found


def number_of(request: Request) -> int:
    """The number that the address names."""
    said = request.path_params["number"]
    if not said.isascii() or not said.isdigit() or len(said) > 18:
        raise UserError("There is nothing of that number.")
    return int(said)


def answered(value: Any, status: int = 200) -> Response:
    """JSON."""
    return Response(orjson.dumps(value, default=str), status, media_type="application/json")


async def asked(request: Request, **wanted: type | tuple[type, ...]) -> dict[str, Any]:
    """
    The JSON object that a request brings; every key of *wanted* is there, of its type, None where that allows it.

    Raises 415, 422.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "Send JSON, and say so in Content-Type.")
    body = await request.body()
    found = _object(body) if len(body) < _LARGE_BYTES else await asyncio.to_thread(_object, body)
    for key, kind in wanted.items():
        value = found.setdefault(key, None)
        is_flag = isinstance(value, bool) and kind is not bool  # which Python takes for a number
        if not isinstance(value, kind) or is_flag:
            raise refused(f"{key!r} is missing, or not of the right kind.")
    return found


def _object(body: bytes) -> dict[str, Any]:
    """Of a large body in a thread: the daemon's own work is in the loop."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise refused("The body is no JSON.") from error
    if not isinstance(found, dict) or not _is_shallow(found):
        raise refused("The body is no JSON object, or too deep.")
    return found


def _is_shallow(value: Any) -> bool:
    level = [value]
    for _ in range(_DEPTH):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return True
    return False
