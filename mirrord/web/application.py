"""The console as an application: routes and error responses."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection

import psycopg
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from mirrord.auth.issuer.issuer_settings import ACCOUNT_RETURN_PATH
from mirrord.auth.page_shares import ShareStore
from mirrord.auth.sign_in import Gate
from mirrord.db.database import Database
from mirrord.domain.entry import MAX_FILE_BYTES
from mirrord.errors import Unavailable, UserError
from mirrord.web import (
    html_pages,
    live_updates,
    new_pages,
    offline,
    overview,
    page_api,
    page_files,
    page_finder,
    page_versions,
    review_api,
    search_api,
    tenant_status,
)
from mirrord.web.accounts import account_sign_in
from mirrord.web.html_pages import render_page
from mirrord.web.live_updates import LiveEvents
from mirrord.web.operators import backup_api, decision_log, token_api, tree_control
from mirrord.web.own_files.assets import STATIC_DIRECTORY, Assets
from mirrord.web.presence import Presence
from mirrord.web.read_limits import ReadLimit, run_while_connected
from mirrord.web.request_checks import READ_METHODS, Protection, TooLarge
from mirrord.web.request_context import (
    AppContext,
    Endpoint,
    Tenants,
    app_context_of,
    json_response,
    require_writer,
    session_of,
    visit_of,
)
from mirrord.web.sharing import share_api, shared_view

MAX_BODY_BYTES = MAX_FILE_BYTES + (1 << 20)  # bytes of a body: the largest attachment and its multipart envelope


def create_application(
    dsn: str, database: Database, gate: Gate, tenants: Tenants, stop: asyncio.Event, hosts: Collection[str] = ()
) -> Starlette:
    """
    The application.

    dsn: of the listening connections. database: open, as mirrord_app. tenants: returns all tenants by name; called
    from time to time. stop: ends the streams. hosts: accepted host names in addition to those of loopback.
    """
    application = Starlette(
        routes=_routes(),
        middleware=[Middleware(Protection, hosts=hosts, largest=MAX_BODY_BYTES)],
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
    application.state.desk = AppContext(database, gate, ShareStore(gate.data), tenants, stop)
    application.state.live = LiveEvents(dsn, stop)
    application.state.presence = Presence()
    application.state.streams = Counter()
    return application


def _routes() -> list[BaseRoute]:
    return [
        Route("/", html_pages.show_front),
        Route("/sign-in", html_pages.offer_sign_in),
        Route("/sign-in", html_pages.sign_in, methods=["POST"]),
        Route("/sign-in/account", account_sign_in.begin_sign_in),
        Route(ACCOUNT_RETURN_PATH, account_sign_in.finish_sign_in),
        _write_route("/sign-out", html_pages.sign_out),
        Route("/api/waiting", tenant_status.count_in_tenants),
        Mount("/static", Assets(directory=STATIC_DIRECTORY)),
        *_shared_routes(),
        Mount("/t/{tenant}", routes=[*_view_routes(), Mount("/api", routes=_api_routes())]),
    ]


def _shared_routes() -> list[BaseRoute]:
    """What people without a session see."""
    show = shared_view.shared_endpoint(shared_view.show_shared_page)
    return [
        Route("/s/{token}", show),
        Route("/s/{token}/p/{page}", show),
        Route("/s/{token}/p/{page}/file/{file}", shared_view.shared_endpoint(shared_view.download_shared_file)),
    ]


def _view_routes() -> list[BaseRoute]:
    return [
        _quick_route("/", html_pages.show_home),
        _quick_route("/p/{page}", html_pages.show_page),
        _quick_route("/p/{page}/file", page_files.download_file),
        _quick_route("/p/{page}/history", html_pages.show_history),
        _quick_route("/conflicts/{number}/{side}", page_files.download_side),
        _quick_route("/worker.js", offline.serve_worker),
        _quick_route("/manifest.webmanifest", offline.show_manifest),
        _quick_route("/tags", html_pages.view_of("tags.html")),
        _quick_route("/trash", html_pages.view_of("trash.html")),
        _quick_route("/search", html_pages.view_of("search.html")),
        _quick_route("/attention", html_pages.view_of("attention.html")),
        _quick_route("/review", html_pages.view_of("review.html")),
        _quick_route("/status", html_pages.view_of("status.html")),
    ]


def _api_routes() -> list[BaseRoute]:
    page = "/pages/{page}"
    return [
        Route("/live", live_updates.stream_events),
        _quick_route("/tree", page_finder.list_children),
        _costly_route("/recent", overview.list_recent),
        _costly_route("/tags", overview.list_tags),
        _quick_route("/templates", new_pages.list_templates),
        _costly_route("/trash", page_finder.list_trash),
        _costly_route("/search", search_api.search_pages),
        _costly_route("/titles", search_api.list_titles),
        _costly_route("/completions", page_finder.list_completions),
        _quick_route("/preview", page_finder.preview_link),
        _costly_route("/attention", tenant_status.list_waiting),
        _costly_route("/status", tenant_status.show_status),
        _write_route("/approvals", tenant_status.decide_requests),
        _write_route("/notices", tenant_status.read_notices),
        _write_route("/halts/{number}", tenant_status.decide_halt),
        _write_route("/conflicts/{number}", tenant_status.resolve_conflict),
        *_operator_routes(),
        *_review_routes(),
        _quick_route(page, page_api.show_page),
        _quick_route(f"{page}/version", page_api.show_version),
        _quick_route(f"{page}/above", page_finder.list_ancestors),
        _quick_route(f"{page}/resolve", page_finder.resolve_link),
        _quick_route(f"{page}/unresolved", page_finder.list_unresolved),
        _costly_route(f"{page}/backlinks", page_finder.list_backlinks),
        _costly_route(f"{page}/linking", page_finder.count_linking),
        _costly_route(f"{page}/history", page_versions.list_versions),
        _costly_route(f"{page}/diff", page_versions.show_difference),
        _costly_route(f"{page}/blocks", page_versions.show_blocks),
        _write_route("/document", page_api.read_markdown),
        _write_route("/pages", new_pages.create_page),
        _write_route("/daily", new_pages.open_daily_note),
        _write_route(page, page_api.change_page, "PATCH"),
        _write_route(page, page_api.delete_page, "DELETE"),
        _write_route(f"{page}/content", page_api.put_content, "PUT"),
        _write_route(f"{page}/markdown", page_api.put_markdown, "PUT"),
        _write_route(f"{page}/saved", page_versions.find_text),
        _write_route(f"{page}/move", page_api.move_page),
        _write_route(f"{page}/duplicate", new_pages.duplicate_page),
        _write_route(f"{page}/revive", page_api.revive_page),
        _write_route(f"{page}/restore", page_versions.restore_version),
        _costly_route(f"{page}/shares", share_api.list_shares),
        _write_route(f"{page}/shares", share_api.share_page),
        _write_route("/shares/{share}", share_api.revoke_share, "DELETE"),
        _write_route(f"{page}/attachments", page_files.upload_attachment),
    ]


def _operator_routes() -> list[BaseRoute]:
    return [
        _costly_route("/local-tree", tree_control.show_tree),
        _write_route("/local-tree/pause", tree_control.change_pause),
        _write_route("/local-tree/ignore", tree_control.put_ignore, "PUT"),
        _write_route("/local-tree/rescan", tree_control.rescan),
        _costly_route("/tokens", token_api.list_tokens),
        _write_route("/tokens", token_api.make_token),
        _write_route("/tokens/{token}", token_api.revoke_token, "DELETE"),
        _costly_route("/decisions", decision_log.list_decisions),
        _costly_route("/backups", backup_api.list_backups),
        _quick_route("/backups/run", backup_api.show_run),
        _write_route("/backups", backup_api.make_backup),
    ]


def _review_routes() -> list[BaseRoute]:
    review, changes = "/reviews/{change_set}", "/changes/{change_set}"
    return [
        _costly_route("/reviews", review_api.list_reviews),
        _costly_route(review, review_api.show_review),
        _costly_route(f"{review}/page", review_api.show_reviewed_page),
        _write_route(f"{review}/page", review_api.choose_page),
        _write_route(review, review_api.decide_review),
        _costly_route("/changes", review_api.list_changes),
        _costly_route(changes, review_api.show_change),
        _costly_route(f"{changes}/undo", review_api.preview_undo_of),
        _write_route(f"{changes}/undo", review_api.ask_undo),
    ]


def _quick_route(path: str, endpoint: Endpoint) -> Route:
    """A route that reads few rows of the tenant by their keys."""
    return _read_route(path, endpoint, lambda desk: desk.quick_reads)


def _costly_route(path: str, endpoint: Endpoint) -> Route:
    """A route that searches the rows of the tenant, lists many of them, or compares texts."""
    return _read_route(path, endpoint, lambda desk: desk.costly_reads)


def _read_route(path: str, endpoint: Endpoint, limit_of: Callable[[AppContext], ReadLimit]) -> Route:
    """A route that reads in turn. A session that may not see the tenant is refused without a turn."""

    async def read_in_turn(request: Request) -> Response:
        visit = await visit_of(request)
        turn = limit_of(visit.app).turn(visit.session.id, visit.tenant)
        return await run_while_connected(request, turn, endpoint)

    return Route(path, read_in_turn)


def _write_route(path: str, endpoint: Endpoint, method: str = "POST") -> Route:
    """A route that accepts requests only from pages of the session, at a limited rate."""

    async def checked(request: Request) -> Response:
        session, desk = session_of(request), app_context_of(request)
        if session is None:
            raise HTTPException(401, "Sign in with a link; `mirrord console link` prints one.")
        if not desk.gate.is_csrf_token(session, request.headers.get("x-csrf-token", "")):
            raise HTTPException(403, "This request did not come from a page of the console. Reload the page.")
        if not desk.write_rate.allows(session.id):
            raise HTTPException(429, "Too many changes. Try again in a moment.")
        if "tenant" in request.path_params:
            require_writer(await visit_of(request))
        return await endpoint(request)

    return Route(path, checked, methods=[method])


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if _wants_json(request):
        return json_response({"sentence": error.detail}, error.status_code)
    if error.status_code == 401:
        return RedirectResponse("/sign-in", 303)
    if error.status_code == 404 and request.url.path.startswith("/s/"):  # for people who have no way in
        return render_page(request, "unshared.html", 404)
    return render_page(request, "wrong.html", error.status_code, problem=error.detail)


async def _too_large(request: Request, _: Exception) -> Response:
    return json_response({"sentence": f"A request may have at most {MAX_BODY_BYTES >> 20} MiB."}, 413)


async def _unavailable(request: Request, error: Exception) -> Response:
    if _wants_json(request):
        return json_response({"sentence": str(error)}, 503)
    return render_page(request, "wrong.html", 503, problem=str(error))


async def _user_error(request: Request, error: Exception) -> Response:
    return json_response({"sentence": str(error)}, 422)


async def _postgres_error(request: Request, error: Exception) -> Response:
    """Errors of triggers carry a sentence for users."""
    assert isinstance(error, psycopg.Error)
    message = error.diag.message_primary or "the text cannot be stored"
    hint = f" {error.diag.message_hint}" if error.diag.message_hint else ""
    return json_response({"sentence": f"{message[:1].upper()}{message[1:]}.{hint}"}, 422)


def _wants_json(request: Request) -> bool:
    return "/api/" in request.url.path or request.method not in READ_METHODS
