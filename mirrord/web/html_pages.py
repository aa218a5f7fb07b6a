"""The HTML pages: the frame of a tenant's pages, the list of tenants, sign-in and sign-out."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mirrord.web.html_templates import EDITOR_SCRIPT, render_page
from mirrord.web.request_context import Visit, app_context_of, json_response, not_found, session_of, visit_of
from mirrord.web.rows import page_rows, tree_rows
from mirrord.web.rows.tree_rows import LEVEL_ENTRIES
from mirrord.web.sign_in import SESSION_SECONDS


async def show_front(request: Request) -> Response:
    """GET /: the list of tenants for operators, the session's tenant for others."""
    session, desk = session_of(request), app_context_of(request)
    if session is None:
        return RedirectResponse("/sign-in", 303)
    tenants = await desk.known_tenants()
    names = sorted(name for name, tenant in tenants.items() if session.tenant in (None, tenant))
    if len(names) == 1:
        return RedirectResponse(f"/t/{names[0]}/", 303)
    return render_page(request, "tenants.html", names=names)


async def show_home(request: Request) -> Response:
    """GET /t/{tenant}/: the sidebar, with no page chosen."""
    return await _render_in_frame(request, await visit_of(request), "home.html")


async def show_page(request: Request) -> Response:
    """GET /t/{tenant}/p/{page}: a page."""
    return await _page_view(request, "page.html")


async def show_history(request: Request) -> Response:
    """GET /t/{tenant}/p/{page}/history: its versions and their changes."""
    return await _page_view(request, "history.html")


async def _page_view(request: Request, template: str) -> Response:
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        page = await page_rows.load_title(connection, visit.page)
    if page is None:
        raise not_found()
    return await _render_in_frame(request, visit, template, page=page)


def view_of(template: str) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint for a template whose contents are loaded by a script."""

    async def show(request: Request) -> Response:
        return await _render_in_frame(request, await visit_of(request), template)

    return show


async def _render_in_frame(request: Request, visit: Visit, template: str, **values: Any) -> Response:
    async with visit.read_transaction() as connection:
        top = await tree_rows.load_children(connection, None)
    return render_page(
        request,
        template,
        nodes=top[:LEVEL_ENTRIES],
        more=len(top) > LEVEL_ENTRIES,
        has_editor=EDITOR_SCRIPT.is_file(),
        **values,
    )


_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


async def sign_in(request: Request) -> Response:
    """GET /sign-in?token=: sign in with an unused token."""
    desk, token = app_context_of(request), request.query_params.get("token", "")
    if request.method == "HEAD" or not token:  # a check of the link does not use it up
        return render_page(request, "sign_in.html", 200 if session_of(request) else 401)
    cookie = desk.gate.admit(token)  # no limit for valid tokens, even with many invalid ones from the same proxy
    if cookie is None:
        if not desk.sign_in_rate.allows(request.client.host if request.client else ""):
            raise HTTPException(429, "Too many attempts. Try again in a minute.")
        return render_page(request, "sign_in.html", 403, problem="This link has been used already or has expired.")
    response = RedirectResponse("/", 303)
    response.set_cookie(
        desk.gate.cookie,
        cookie,
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="lax",
        secure=request.url.hostname not in _LOOPBACK_HOSTS,  # other names are served by a proxy with TLS
    )
    return response


async def sign_out(request: Request) -> Response:
    """POST /sign-out: invalidate the cookie, including its copies."""
    desk, session = app_context_of(request), session_of(request)
    if session is not None:
        desk.gate.end_session(session)
    response = json_response({"href": "/sign-in"})
    response.delete_cookie(desk.gate.cookie)
    return response
