"""The console as an application: addresses, and how what goes wrong is told."""

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

LARGEST = LIMIT + (1 << 20)  # bytes of a body: the largest attachment, and what is around it

Endpoint = Callable[[Request], Awaitable[Response]]


def console(
    dsn: str, database: Database, gate: Gate, tenants: Tenants, stop: asyncio.Event, hosts: Collection[str] = ()
) -> Starlette:
    """
    The application.

    dsn: of the connections that listen. database: open, as mirrord_app. tenants: asked now and then for all there are,
    by name. stop: ends what streams. hosts: names by which it may be called besides those of loopback.
    """
    application = Starlette(
        routes=_routes(),
        middleware=[Middleware(Protected, hosts=hosts, largest=LARGEST)],
        exception_handlers={
            HTTPException: _told,
            TooLarge: _too_large,
            Unavailable: _unavailable,
            UserError: _refused,
            psycopg.IntegrityError: _refused_by_postgres,
            psycopg.DataError: _refused_by_postgres,
            psycopg.ProgrammingError: _refused_by_postgres,
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
        _writing("/sign-out", signing.sign_out),
        Route("/api/waiting", waiting.in_tenants),
        Mount("/static", Assets(directory=STATIC)),
        Mount("/t/{tenant}", routes=[*_views(), Mount("/api", routes=_api())]),
    ]


def _views() -> list[BaseRoute]:
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


def _api() -> list[BaseRoute]:
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
        _writing("/approvals", decisions.decide_requests),
        _writing("/notices", decisions.read_notices),
        _writing("/halts/{number}", decisions.decide_halt),
        _writing("/conflicts/{number}", decisions.settle),
        Route(page, pages.show),
        Route(f"{page}/version", pages.show_version),
        Route(f"{page}/above", finding.above),
        Route(f"{page}/resolve", finding.resolve),
        Route(f"{page}/backlinks", finding.backlinks),
        Route(f"{page}/history", history.versions),
        Route(f"{page}/diff", history.difference),
        _writing("/pages", pages.create),
        _writing(page, pages.change, "PATCH"),
        _writing(page, pages.delete, "DELETE"),
        _writing(f"{page}/content", pages.put_content, "PUT"),
        _writing(f"{page}/markdown", pages.put_markdown, "PUT"),
        _writing(f"{page}/move", pages.move),
        _writing(f"{page}/revive", pages.revive),
        _writing(f"{page}/restore", history.restore),
        _writing(f"{page}/attachments", files.bring),
    ]


def _writing(path: str, endpoint: Endpoint, method: str = "POST") -> Route:
    """Of a page of the session's own only, and not too often."""

    async def checked(request: Request) -> Response:
        session, desk = session_of(request), desk_of(request)
        if session is None:
            raise HTTPException(401, "Sign in with a link; `mirrord console link` prints one.")
        if not desk.gate.is_mark_of(session, request.headers.get("x-csrf-token", "")):
            raise HTTPException(403, "This did not come from a page of the console; load the page again.")
        if not desk.writes.allows(session.id):
            raise HTTPException(429, "So many changes at once are not taken; wait a moment.")
        return await endpoint(request)

    return Route(path, checked, methods=[method])


async def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if _wants_json(request):
        return answered({"sentence": error.detail}, error.status_code)
    if error.status_code == 401:
        return RedirectResponse("/sign-in", 303)
    return painted(request, "wrong.html", error.status_code, problem=error.detail)


async def _too_large(request: Request, _: Exception) -> Response:
    return answered({"sentence": f"At most {LARGEST >> 20} MiB are taken at once."}, 413)


async def _unavailable(request: Request, error: Exception) -> Response:
    if _wants_json(request):
        return answered({"sentence": str(error)}, 503)
    return painted(request, "wrong.html", 503, problem=str(error))


async def _refused(request: Request, error: Exception) -> Response:
    return answered({"sentence": str(error)}, 422)


async def _refused_by_postgres(request: Request, error: Exception) -> Response:
    """What triggers refuse they refuse with a sentence for people."""
    assert isinstance(error, psycopg.Error)
    said = error.diag.message_primary or "the text cannot be stored"
    hint = f" {error.diag.message_hint}" if error.diag.message_hint else ""
    return answered({"sentence": f"{said[:1].upper()}{said[1:]}.{hint}"}, 422)


def _wants_json(request: Request) -> bool:
    return "/api/" in request.url.path or request.method not in READING
