"""What every request passes before anything looks at it: whose host it names, where it comes from, how large it is."""

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
READING = ("GET", "HEAD")
WRITING = ("POST", "PUT", "PATCH", "DELETE")

# Nothing but our own files: no inline script, no inline style, no frame around us, nobody else's images.
POLICY = "; ".join(
    (
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' blob:", "font-src 'self'"),
        *("connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"),
        *("object-src 'none'", "require-trusted-types-for 'script'"),
    )
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()",
    "Cache-Control": "no-store",
}


class TooLarge(Exception):
    """A body has more bytes than anything asks for."""


class Protected:
    """
    An application behind all that needs no session.

    A page of somebody else's may let its own name mean 127.0.0.1, or send forms here: the names in *hosts* are ours,
    and what a browser says comes from another origin changes nothing and reads nothing but what it may navigate to.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], largest: int) -> None:
        """hosts: names besides those of loopback, without ports. largest: bytes of a body."""
        self._app = app
        self._hosts = {*LOOPBACK, *(host.lower() for host in hosts)}
        self._largest = largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            return
        if (refusal := self._refusal(scope)) is not None:
            await refusal(scope, receive, _with_headers(send))
            return
        await self._app(scope, _bounded(receive, self._largest), _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers, method = Headers(scope=scope), scope["method"]
        hosts = headers.getlist("host")
        if len(hosts) != 1 or _name(hosts[0]) not in self._hosts:
            return PlainTextResponse("The console is not called like that; name the host in `console.hosts`.\n", 421)
        if method not in (*READING, *WRITING):
            return PlainTextResponse("The console does not know this method.\n", 405)
        if _is_foreign(headers, hosts[0], method):
            return JSONResponse({"sentence": "This came from another site; nothing was done."}, 403)
        size = headers.get("content-length", "0")
        if not size.isascii() or not size.isdigit() or int(size) > self._largest:
            return JSONResponse({"sentence": f"At most {self._largest >> 20} MiB are taken at once."}, 413)
        return None


def _name(host: str) -> str:
    """Without the port."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and (port.isdigit() and port.isascii()) and (":" not in name or name[-1:] == "]") else host


def _is_foreign(headers: Headers, host: str, method: str) -> bool:
    origin = headers.get("origin")
    if origin is not None and (urlsplit(origin).scheme not in ("http", "https") or _netloc(origin) != host.lower()):
        return True
    site, mode = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode", "navigate")
    if site in ("none", "same-origin"):
        return False
    # a link on another site may lead here; nothing else of theirs may
    return method not in READING or mode != "navigate" or headers.get("sec-fetch-dest", "document") != "document"


def _netloc(origin: str) -> str:
    return urlsplit(origin).netloc.lower()


def _bounded(receive: Receive, largest: int) -> Receive:
    """A body may be longer than it says, or not say."""
    left = largest

    async def counted() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise TooLarge
        return message

    return counted


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
