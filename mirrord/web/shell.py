"""HTML pages: the frame around a tenant's pages, and the list of tenants."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mirrord.web.desk import Visit, desk_of, not_found, session_of, visit_of
from mirrord.web.paint import EDITOR, painted
from mirrord.web.rows import pages, tree
from mirrord.web.rows.tree import LEVEL


async def front(request: Request) -> Response:
    """GET /: the list of tenants for operators, the session's tenant for others."""
    session, desk = session_of(request), desk_of(request)
    if session is None:
        return RedirectResponse("/sign-in", 303)
    tenants = await desk.known_tenants()
    names = sorted(name for name, tenant in tenants.items() if session.tenant in (None, tenant))
    if len(names) == 1:
        return RedirectResponse(f"/t/{names[0]}/", 303)
    return painted(request, "tenants.html", names=names)


async def home(request: Request) -> Response:
    """GET /t/{tenant}/: the sidebar, with no page chosen."""
    return await _render_in_frame(request, await visit_of(request), "home.html")


async def page(request: Request) -> Response:
    """GET /t/{tenant}/p/{page}: a page."""
    return await _page_view(request, "page.html")


async def page_history(request: Request) -> Response:
    """GET /t/{tenant}/p/{page}/history: its versions and their changes."""
    return await _page_view(request, "history.html")


async def _page_view(request: Request, template: str) -> Response:
    visit = await visit_of(request)
    async with visit.reading() as connection:
        page = await pages.titled(connection, visit.page)
    if page is None:
        raise not_found()
    return await _render_in_frame(request, visit, template, page=page)


def view(template: str) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint for a template whose contents are loaded by a script."""

    async def show(request: Request) -> Response:
        return await _render_in_frame(request, await visit_of(request), template)

    return show


async def _render_in_frame(request: Request, visit: Visit, template: str, **values: Any) -> Response:
    async with visit.reading() as connection:
        top = await tree.children(connection, None)
    return painted(
        request,
        template,
        nodes=top[:LEVEL],
        more=len(top) > LEVEL,
        has_editor=EDITOR.is_file(),
        **values,
    )
