"""What every response needs: the person, the tenant, its database, and refusals."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mirrord.auth.page_shares import ShareStore
from mirrord.auth.roles import Role
from mirrord.auth.sign_in import Gate, Session
from mirrord.db.database import Connection, Database, set_actor
from mirrord.domain.entry import EntryId, TenantId, parse_id
from mirrord.domain.link_rule import LinkRule
from mirrord.errors import UserError
from mirrord.web.accounts.account_desk import AccountDesk
from mirrord.web.operators.backup_runs import BackupDesk
from mirrord.web.read_limits import CONSOLE_CONNECTIONS, MAX_COSTLY_READS, MAX_SHARED_READS, ReadLimit
from mirrord.web.request_checks import RateLimit

CHANNEL = "console"

Tenants = Callable[[], Awaitable[Mapping[str, UUID]]]
Endpoint = Callable[[Request], Awaitable[Response]]

_TENANTS_CACHE_SECONDS = 5.0  # until the list of tenants is read again
_MIN_THREAD_BYTES = 256 << 10  # of a body parsed in a thread
_MAX_DEPTH = 150  # levels of a JSON body; each list level of a document takes about ten


@dataclass(slots=True)
class AppContext:
    """
    Shared objects of the application.

    database: as mirrord_app, a small separate pool, so that synchronization does not wait for the console.
    tenants: returns all tenants by name. stop: set when the server ends; ends the streams. A new tenant becomes known
    after some seconds. links: what the daemon does with links of moved pages.
    accounts: where people sign in besides by links. trees: the directory of the trees on this machine; None: none.
    signing: the private key of tokens; None: below the data directory. rescan: held while one waits for a scan.
    backups: where they are, and those that are being made; None: none are listed or made.
    """

    database: Database
    gate: Gate
    shares: ShareStore
    tenants: Tenants
    stop: asyncio.Event
    links: LinkRule = LinkRule.TOOLS
    accounts: AccountDesk | None = None
    trees: Path | None = None
    signing: Path | None = None
    backups: BackupDesk | None = None
    sign_in_rate: RateLimit = field(default_factory=lambda: RateLimit(20))
    write_rate: RateLimit = field(default_factory=lambda: RateLimit(600))
    rescan_rate: RateLimit = field(default_factory=lambda: RateLimit(6))
    account_rate: RateLimit = field(default_factory=lambda: RateLimit(60))
    upload_rate: RateLimit = field(default_factory=lambda: RateLimit(60))
    costly_reads: ReadLimit = field(default_factory=lambda: ReadLimit(MAX_COSTLY_READS))
    quick_reads: ReadLimit = field(default_factory=lambda: ReadLimit(CONSOLE_CONNECTIONS))
    shared_reads: ReadLimit = field(default_factory=lambda: ReadLimit(MAX_SHARED_READS))
    share_rate: RateLimit = field(default_factory=lambda: RateLimit(600))
    unknown_share_rate: RateLimit = field(default_factory=lambda: RateLimit(60))
    rescan: asyncio.Lock = field(default_factory=asyncio.Lock)
    _cached_tenants: Mapping[str, UUID] = field(default_factory=dict)
    _cached_at: float = -_TENANTS_CACHE_SECONDS

    async def known_tenants(self) -> Mapping[str, UUID]:
        """All tenants by name, cached for a few seconds."""
        if time.monotonic() - self._cached_at >= _TENANTS_CACHE_SECONDS:
            self._cached_tenants = await self.tenants()
            self._cached_at = time.monotonic()
        return self._cached_tenants


@dataclass(frozen=True, slots=True)
class Visit:
    """One authorised request about one tenant."""

    app: AppContext
    session: Session
    role: Role
    tenant: UUID
    name: str
    request: Request

    def read_transaction(self) -> AbstractAsyncContextManager[Connection]:
        """Open a transaction of the tenant."""
        return self.app.database.transaction(TenantId(self.tenant))

    @asynccontextmanager
    async def write_transaction(self) -> AsyncIterator[Connection]:
        """Open a transaction of the tenant with the visitor as author."""
        async with self.read_transaction() as connection:
            await set_actor(connection, {"kind": "human", "name": self.session.name, "channel": CHANNEL})
            yield connection

    @property
    def page(self) -> EntryId:
        """The page id in the URL. Raises 404 if it is not an id."""
        return entry_of(self.request.path_params["page"])

    def href(self, page: UUID) -> str:
        """The URL path of a page of this tenant."""
        return f"/t/{self.name}/p/{page}"


def app_context_of(request: Request) -> AppContext:
    """The desk of the request's application."""
    desk: AppContext = request.app.state.desk
    return desk


def session_of(request: Request) -> Session | None:
    """The session of the request; None: not signed in."""
    gate = app_context_of(request).gate
    cookie = request.cookies.get(gate.cookie)
    return gate.session(cookie) if cookie else None


async def visit_of(request: Request) -> Visit:
    """
    The visit of a request.

    Raises 401 without a session, and 404 both for missing tenants and for those that the session may not see.
    """
    session, desk = session_of(request), app_context_of(request)
    if session is None:
        raise HTTPException(401, "Sign in with a link; `mirrord console link` prints one.")
    name = request.path_params["tenant"]
    tenant = (await desk.known_tenants()).get(name)
    role = session.role_in(tenant) if tenant is not None else None
    if tenant is None or role is None:
        raise not_found()
    return Visit(desk, session, role, tenant, name, request)


def require_writer(visit: Visit) -> Visit:
    """The visit of a person who may change pages. Raises 403 for readers."""
    if not visit.role.may_write:
        raise HTTPException(403, "You may read here, and change nothing.")
    return visit


def require_operator(visit: Visit) -> Visit:
    """The visit of an operator of the tenant. Raises 403 for others."""
    if not visit.role.is_operator:
        raise HTTPException(403, "Only an operator can decide this.")
    return visit


def not_found() -> HTTPException:
    """The response to missing objects and to those that the session may not see."""
    return HTTPException(404, "Not found: it may have been deleted or moved.")


def refusal(sentence: str) -> HTTPException:
    """The response to a request that cannot be carried out."""
    return HTTPException(422, sentence)


def entry_of(text: object) -> EntryId:
    """Parse an id in a URL or a body. Raises 404 for anything else."""
    if not isinstance(text, str) or (entry := parse_id(text)) is None:
        raise not_found()
    return entry


def number_of(request: Request) -> int:
    """The number in the URL. Raises UserError if it is not a number."""
    text = request.path_params["number"]
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise UserError("Not found.")
    return int(text)


def json_response(value: Any, status: int = 200) -> Response:
    """A JSON response."""
    return Response(orjson.dumps(value, default=str), status, media_type="application/json")


async def read_json(request: Request, **types_by_key: type | tuple[type, ...]) -> dict[str, Any]:
    """
    The JSON object in the body of a request, with every key of *types_by_key* in its type.

    A missing key is None if its type allows that. Raises 415 for another content type, 422 for another body.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "Send JSON with the Content-Type application/json.")
    body = await request.body()
    values = _parse_object(body) if len(body) < _MIN_THREAD_BYTES else await asyncio.to_thread(_parse_object, body)
    for key, kind in types_by_key.items():
        value = values.setdefault(key, None)
        is_flag = isinstance(value, bool) and kind is not bool  # an int in Python
        if not isinstance(value, kind) or is_flag:
            raise refusal(f"{key!r} is missing or has the wrong type.")
    return values


def _parse_object(body: bytes) -> dict[str, Any]:
    """Called in a thread for large bodies: the daemon's work runs in the event loop."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise refusal("The body is not JSON.") from error
    if not isinstance(value, dict) or not _is_shallow(value):
        raise refusal("The body is not a JSON object, or is nested too deeply.")
    return value


def _is_shallow(root: Any) -> bool:
    level = [root]
    for _ in range(_MAX_DEPTH):
        level = [
            child
            for value in level
            if isinstance(value, dict | list)
            for child in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return True
    return False
