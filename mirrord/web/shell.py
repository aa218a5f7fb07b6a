"""HTML pages: the frame around a tenant's pages, and the list of tenants."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mirrord.web.desk import Visit, app_context_of, not_found, session_of, visit_of
from mirrord.web.paint import EDITOR_SCRIPT, render_page
from mirrord.web.rows import pages, tree
from mirrord.web.rows.tree import LEVEL_ENTRIES


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
        page = await pages.load_title(connection, visit.page)
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
        top = await tree.load_children(connection, None)
    return render_page(
        request,
        template,
        nodes=top[:LEVEL_ENTRIES],
        more=len(top) > LEVEL_ENTRIES,
        has_editor=EDITOR_SCRIPT.is_file(),
        **values,
    )
