"""The console as an application: routes and error responses."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection

import psycopg
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from mirrord.db.connect import Database
from mirrord.errors import Unavailable, UserError
from mirrord.sync.look import LIMIT
from mirrord.web import decisions, files, finding, history, pages, shell, signing, status, streams, waiting
from mirrord.web.desk import Desk, Tenants, answered, desk_of, session_of
from mirrord.web.gate import Gate
from mirrord.web.live import Live
from mirrord.web.paint import STATIC, Assets, painted
from mirrord.web.protection import READING, Protected, TooLarge

LARGEST = LIMIT + (1 << 20)  # bytes of a body: the largest attachment and its multipart envelope

Endpoint = Callable[[Request], Awaitable[Response]]


def console(
    dsn: str, database: Database, gate: Gate, tenants: Tenants, stop: asyncio.Event, hosts: Collection[str] = ()
) -> Starlette:
    """
    The application.

    dsn: of the listening connections. database: open, as mirrord_app. tenants: returns all tenants by name; called
    from time to time. stop: ends the streams. hosts: accepted host names in addition to those of loopback.
    """
    application = Starlette(
        routes=_routes(),
        middleware=[Middleware(Protected, hosts=hosts, largest=LARGEST)],
        exception_handlers={
            HTTPException: _http_error,
            TooLarge: _too_large,
            Unavailable: _unavailable,
            UserError: _user_error,
            psycopg.IntegrityError: _postgres_error,
            psycopg.DataError: _postgres_error,
            psycopg.ProgrammingError: _postgres_error,
        },
    )
    application.state.desk = Desk(database, gate, tenants, stop)
    application.state.live = Live(dsn, stop)
    application.state.streams = Counter()
    return application


def _routes() -> list[BaseRoute]:
    return [
        Route("/", shell.front),
        Route("/sign-in", signing.sign_in),
        _write_route("/sign-out", signing.sign_out),
        Route("/api/waiting", waiting.in_tenants),
        Mount("/static", Assets(directory=STATIC)),
        Mount("/t/{tenant}", routes=[*_view_routes(), Mount("/api", routes=_api_routes())]),
    ]


def _view_routes() -> list[BaseRoute]:
    return [
        Route("/", shell.home),
        Route("/p/{page}", shell.page),
        Route("/p/{page}/file", files.hand_out),
        Route("/p/{page}/history", shell.page_history),
        Route("/conflicts/{number}/{side}", files.hand_out_side),
        Route("/trash", shell.view("trash.html")),
        Route("/search", shell.view("search.html")),
        Route("/attention", shell.view("attention.html")),
        Route("/status", shell.view("status.html")),
    ]


def _api_routes() -> list[BaseRoute]:
    page = "/pages/{page}"
    return [
        Route("/live", streams.live),
        Route("/tree", finding.level),
        Route("/trash", finding.trash),
        Route("/search", finding.find),
        Route("/completions", finding.completions),
        Route("/preview", finding.preview),
        Route("/attention", decisions.waiting),
        Route("/status", status.status),
        _write_route("/approvals", decisions.decide_requests),
        _write_route("/notices", decisions.read_notices),
        _write_route("/halts/{number}", decisions.decide_halt),
        _write_route("/conflicts/{number}", decisions.settle),
        Route(page, pages.show),
        Route(f"{page}/version", pages.show_version),
        Route(f"{page}/above", finding.above),
        Route(f"{page}/resolve", finding.resolve),
        Route(f"{page}/backlinks", finding.backlinks),
        Route(f"{page}/history", history.versions),
        Route(f"{page}/diff", history.difference),
        _write_route("/pages", pages.create),
        _write_route(page, pages.change, "PATCH"),
        _write_route(page, pages.delete, "DELETE"),
        _write_route(f"{page}/content", pages.put_content, "PUT"),
        _write_route(f"{page}/markdown", pages.put_markdown, "PUT"),
        _write_route(f"{page}/move", pages.move),
        _write_route(f"{page}/revive", pages.revive),
        _write_route(f"{page}/restore", history.restore),
        _write_route(f"{page}/attachments", files.bring),
    ]


def _write_route(path: str, endpoint: Endpoint, method: str = "POST") -> Route:
    """A route that accepts requests only from pages of the session, at a limited rate."""

    async def checked(request: Request) -> Response:
        session, desk = session_of(request), desk_of(request)
        if session is None:
            raise HTTPException(401, "Sign in with a link; `mirrord console link` prints one.")
        if not desk.gate.is_mark_of(session, request.headers.get("x-csrf-token", "")):
            raise HTTPException(403, "This request did not come from a page of the console. Reload the page.")
        if not desk.writes.allows(session.id):
            raise HTTPException(429, "Too many changes. Try again in a moment.")
        return await endpoint(request)

    return Route(path, checked, methods=[method])


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if _wants_json(request):
        return answered({"sentence": error.detail}, error.status_code)
    if error.status_code == 401:
        return RedirectResponse("/sign-in", 303)
    return painted(request, "wrong.html", error.status_code, problem=error.detail)


async def _too_large(request: Request, _: Exception) -> Response:
    return answered({"sentence": f"A request may have at most {LARGEST >> 20} MiB."}, 413)


async def _unavailable(request: Request, error: Exception) -> Response:
    if _wants_json(request):
        return answered({"sentence": str(error)}, 503)
    return painted(request, "wrong.html", 503, problem=str(error))


async def _user_error(request: Request, error: Exception) -> Response:
    return answered({"sentence": str(error)}, 422)


async def _postgres_error(request: Request, error: Exception) -> Response:
    """Errors of triggers carry a sentence for users."""
    assert isinstance(error, psycopg.Error)
    message = error.diag.message_primary or "the text cannot be stored"
    hint = f" {error.diag.message_hint}" if error.diag.message_hint else ""
    return answered({"sentence": f"{message[:1].upper()}{message[1:]}.{hint}"}, 422)


def _wants_json(request: Request) -> bool:
    return "/api/" in request.url.path or request.method not in READING
