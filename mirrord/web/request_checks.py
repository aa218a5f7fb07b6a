"""Checks before any request is handled: host, origin, size, and rate limits."""

import time
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MAX_CLIENTS = 10_000  # remembered at once; the longest idle one is dropped first


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class RateLimit:
    """Allows each client *minute* calls per minute."""

    def __init__(self, minute: int) -> None:
        self._per_minute = minute
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def allows(self, client: str) -> bool:
        """Whether *client* may make another call; if so, the call is counted."""
        now = time.monotonic()
        bucket = self._buckets.setdefault(client, _Bucket(self._per_minute, now))
        self._buckets.move_to_end(client)
        if len(self._buckets) > _MAX_CLIENTS:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._per_minute, bucket.tokens + (now - bucket.filled_at) * self._per_minute / 60)
        bucket.filled_at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
READ_METHODS = ("GET", "HEAD")
WRITE_METHODS = ("POST", "PUT", "PATCH", "DELETE")

# Only own files: no inline scripts, no inline styles, no foreign frames or images.
CONTENT_POLICY = "; ".join(
    (
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' blob:", "font-src 'self'"),
        *(
            "connect-src 'self'",
            "worker-src 'self'",
            "frame-src 'self'",
            "manifest-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ),
        *("object-src 'none'", "require-trusted-types-for 'script'"),
    )
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()",
    "Cache-Control": "no-store",
}


class TooLarge(Exception):
    """A body exceeds the limit of bytes."""


class Protection:
    """
    An application behind the checks that need no session.

    A foreign page may resolve its own name to 127.0.0.1, or send forms here: only the names in *hosts* are accepted,
    and requests from other origins change nothing and read only what they may navigate to.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], largest: int) -> None:
        """hosts: names in addition to those of loopback, without ports. largest: bytes of a body."""
        self._app = app
        self._hosts = {*LOOPBACK_HOSTS, *(host.lower() for host in hosts)}
        self._largest = largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle the request, or refuse it."""
        if scope["type"] != "http":
            return
        if (refusal := self._refusal_of(scope)) is not None:
            await refusal(scope, receive, _with_headers(send))
            return
        await self._app(scope, _limit_body(receive, self._largest), _with_headers(send))

    def _refusal_of(self, scope: Scope) -> Response | None:
        headers, method = Headers(scope=scope), scope["method"]
        hosts = headers.getlist("host")
        if len(hosts) != 1 or _hostname(hosts[0]) not in self._hosts:
            return PlainTextResponse("Unknown host name; add it to `console.hosts`.\n", 421)
        if method not in (*READ_METHODS, *WRITE_METHODS):
            return PlainTextResponse("The console does not support this method.\n", 405)
        if _is_foreign(headers, hosts[0], method):
            return JSONResponse({"sentence": "This request came from another site; nothing was done."}, 403)
        size = headers.get("content-length", "0")
        if not size.isascii() or not size.isdigit() or int(size) > self._largest:
            return JSONResponse({"sentence": f"A request may have at most {self._largest >> 20} MiB."}, 413)
        return None


def _hostname(host: str) -> str:
    """The host name without the port."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and (port.isdigit() and port.isascii()) and (":" not in name or name[-1:] == "]") else host


def _is_foreign(headers: Headers, host: str, method: str) -> bool:
    origin = headers.get("origin")
    if origin is not None and (urlsplit(origin).scheme not in ("http", "https") or _netloc(origin) != host.lower()):
        return True
    site, mode = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode", "navigate")
    if site in ("none", "same-origin"):
        return False
    # of other sites only links are allowed
    return method not in READ_METHODS or mode != "navigate" or headers.get("sec-fetch-dest", "document") != "document"


def _netloc(origin: str) -> str:
    return urlsplit(origin).netloc.lower()


def _limit_body(receive: Receive, largest: int) -> Receive:
    """Limit the body by its actual bytes: Content-Length may be wrong or missing."""
    remaining = largest

    async def receive_limited() -> Message:
        nonlocal remaining
        message = await receive()
        remaining -= len(message.get("body", b""))
        if remaining < 0:
            raise TooLarge
        return message

    return receive_limited


def _with_headers(send: Send) -> Send:
    async def send_message(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_message
