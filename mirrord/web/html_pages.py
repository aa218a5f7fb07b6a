"""HTML pages from templates in which everything inserted is escaped: the frame of pages, the tenants, sign-in."""

import json
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from mirrord.auth.sign_in import SESSION_SECONDS
from mirrord.domain.entry import parse_id
from mirrord.web.own_files.assets import EDITOR_SCRIPT, digest_of_assets, has_console_script
from mirrord.web.request_context import Visit, app_context_of, json_response, session_of, visit_of
from mirrord.web.rows import page_rows, tree_rows
from mirrord.web.rows.tree_rows import LEVEL_ENTRIES, Node

_HERE = Path(__file__).parent


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _words() -> dict[str, str]:
    """Everything that the templates say, by key."""
    words: dict[str, str] = json.loads((_HERE / "templates" / "words.json").read_text(encoding="utf-8"))
    return words


def render_page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page of the console for the session of *request*."""
    session = session_of(request)
    defaults = {
        "session": session,
        "csrf": app_context_of(request).gate.csrf_token(session) if session else "",
        "tenant": request.path_params.get("tenant"),
        "problem": None,
        "token": None,
        "role": None,
        "has_accounts": app_context_of(request).accounts is not None,
        "words": _words(),
        "assets": f"/static/{digest_of_assets()}",
        "has_script": has_console_script(),
    }
    return HTMLResponse(_templates().get_template(template).render(defaults | values), status)


async def show_front(request: Request) -> Response:
    """GET /: the list of tenants for operators, the session's tenant for others."""
    session, desk = session_of(request), app_context_of(request)
    if session is None:
        return RedirectResponse("/sign-in", 303)
    tenants = await desk.known_tenants()
    names = sorted(name for name, tenant in tenants.items() if session.role_in(tenant) is not None)
    if len(names) == 1:
        return RedirectResponse(f"/t/{names[0]}/", 303)
    return render_page(request, "tenants.html", names=names)


async def show_home(request: Request) -> Response:
    """GET /t/{tenant}/: the sidebar, with no page chosen."""
    return await _render_with_tree(request, "home.html")


async def show_page(request: Request) -> Response:
    """GET /t/{tenant}/p/{page}: a page."""
    return await _page_view(request, "page.html")


async def show_history(request: Request) -> Response:
    """GET /t/{tenant}/p/{page}/history: its versions and their changes."""
    return await _page_view(request, "history.html")


async def _page_view(request: Request, template: str) -> Response:
    visit = await visit_of(request)
    page_id = parse_id(request.path_params["page"])
    async with visit.read_transaction() as connection:
        page = await page_rows.load_title(connection, page_id) if page_id else None
        above = await tree_rows.load_path(connection, page.id) if page else []
        top = await tree_rows.load_children(connection, None)
    if page is None:
        return _render_frame(request, visit, top, "missing.html", 404)
    return _render_frame(request, visit, top, template, page=page, above=above[:-1])


def view_of(template: str) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint for a template whose contents are loaded by a script."""

    async def show(request: Request) -> Response:
        return await _render_with_tree(request, template)

    return show


async def _render_with_tree(request: Request, template: str) -> Response:
    """A view without a page."""
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        top = await tree_rows.load_children(connection, None)
    return _render_frame(request, visit, top, template)


def _render_frame(
    request: Request, visit: Visit, top: list[Node], template: str, status: int = 200, **values: Any
) -> Response:
    """A view beside the sidebar. top: the entries at the top of the tree, and one more if there are more."""
    return render_page(
        request,
        template,
        status,
        nodes=top[:LEVEL_ENTRIES],
        names=tree_rows.distinct_names(top),
        more=len(top) > LEVEL_ENTRIES,
        has_editor=EDITOR_SCRIPT.is_file(),
        role=visit.role,
        **values,
    )


_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


async def offer_sign_in(request: Request) -> Response:
    """GET /sign-in?token=: a form that signs in with an unused token. Previews of a link in a chat use nothing up."""
    desk, token = app_context_of(request), request.query_params.get("token", "")
    if request.method == "HEAD" or not token:
        return render_page(request, "sign_in.html", 200 if session_of(request) else 401)
    if not desk.gate.is_unused(token):
        return _refuse_token(request)
    return render_page(request, "sign_in.html", token=token)


async def sign_in(request: Request) -> Response:
    """POST /sign-in: use up a token."""
    desk, token = app_context_of(request), str((await request.form()).get("token", ""))
    cookie = desk.gate.admit(token)  # no limit for valid tokens, even with many invalid ones from the same proxy
    if cookie is None:
        return _refuse_token(request)
    response = RedirectResponse("/", 303)
    response.set_cookie(desk.gate.cookie, cookie, max_age=SESSION_SECONDS, **cookie_options(request))
    return response


def cookie_options(request: Request) -> dict[str, Any]:
    """How cookies of the console are set."""
    is_local = request.url.hostname in _LOOPBACK_HOSTS  # other names are served by a proxy with TLS
    return {"httponly": True, "samesite": "lax", "secure": not is_local}


def _refuse_token(request: Request) -> Response:
    if not app_context_of(request).sign_in_rate.allows(request.client.host if request.client else ""):
        raise HTTPException(429, "Too many attempts. Try again in a minute.")
    return render_page(request, "sign_in.html", 403, problem="This link has been used already or has expired.")


async def sign_out(request: Request) -> Response:
    """POST /sign-out: invalidate the cookie, including its copies."""
    desk, session = app_context_of(request), session_of(request)
    if session is not None:
        desk.gate.end_session(session)
    response = json_response({"href": "/sign-in"})
    response.delete_cookie(desk.gate.cookie)
    return response
