"""Serves `/metrics`, `/healthz` and `/readyz` on a loopback port or a Unix socket, nowhere else."""

import asyncio
import socket
import stat
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from mirrord.domain.measures import Endpoint
from mirrord.errors import Unavailable

GRACE_SECONDS = 1  # seconds that a response under way may take when the daemon stops
SOCKET_MODE = 0o660  # of a Unix socket: the daemon's user and group

Reasons = Callable[[], Awaitable[list[str]]]


def make_application(registry: CollectorRegistry, reasons: Reasons, endpoint: Endpoint) -> Starlette:
    """The application. reasons: why the daemon is not ready, as sentences; empty: it is."""

    async def metrics(request: Request) -> Response:
        encode, kind = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(registry), headers={"Content-Type": kind})

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        sentences = await reasons()
        return JSONResponse({"ready": not sentences, "reasons": sentences}, status_code=503 if sentences else 200)

    routes = [Route("/metrics", metrics), Route("/healthz", healthz), Route("/readyz", readyz)]
    # a web page may resolve its own name to 127.0.0.1; no browser reaches a Unix socket
    hosts = ["*"] if isinstance(endpoint, str) else ["localhost", "127.0.0.1", "::1", "[::1]", endpoint[0]]
    return Starlette(routes=routes, middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts)])


class _ServerWithoutSignals(uvicorn.Server):
    """A server that leaves signals to the daemon."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    application: Starlette, endpoint: Endpoint, stop: asyncio.Event, on_port: Callable[[int], None] = lambda _: None
) -> None:
    """
    Serve at *endpoint* until *stop*. on_port: called with the port once it is bound, which matters for port 0.

    Raises Unavailable if it cannot be bound.
    """
    with _open_listener(endpoint) as listener:
        if not isinstance(endpoint, str):
            on_port(listener.getsockname()[1])
        config = uvicorn.Config(
            application,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        server = _ServerWithoutSignals(config)
        serving = asyncio.ensure_future(server.serve([listener]))
        stopping = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            server.should_exit = True
            await serving


@contextmanager
def _open_listener(endpoint: Endpoint) -> Iterator[socket.socket]:
    try:
        listener = _unix_listener(Path(endpoint)) if isinstance(endpoint, str) else _loopback_listener(*endpoint)
    except OSError as error:
        where = endpoint if isinstance(endpoint, str) else f"{endpoint[0]}:{endpoint[1]}"
        raise Unavailable(f"{where} cannot be had ({error.strerror or error}).") from error
    try:
        yield listener
    finally:
        listener.close()
        if isinstance(endpoint, str):
            Path(endpoint).unlink(missing_ok=True)


def _loopback_listener(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    return listener


def _unix_listener(path: Path) -> socket.socket:
    """A listener at *path*. A socket that a killed daemon left is replaced; any other file there stays."""
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.lstat().st_mode) and not _is_listening(path):
            path.unlink()
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(path))
        path.chmod(SOCKET_MODE)  # before the socket listens
    except OSError:
        listener.close()
        raise
    return listener


def _is_listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True
