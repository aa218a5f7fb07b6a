"""The pages of HTML: the frame around a tenant's pages, and the list of tenants."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mirrord.web.desk import Visit, desk_of, not_found, session_of, visit_of
from mirrord.web.paint import EDITOR, painted
from mirrord.web.rows import pages, tree
from mirrord.web.rows.tree import LEVEL


async def front(request: Request) -> Response:
    """GET /: the list of tenants for an operator, their own tenant for everybody else."""
    session, desk = session_of(request), desk_of(request)
    if session is None:
        return RedirectResponse("/sign-in", 303)
    known = await desk.known_tenants()
    names = sorted(name for name, tenant in known.items() if session.tenant in (None, tenant))
    if len(names) == 1:
        return RedirectResponse(f"/t/{names[0]}/", 303)
    return painted(request, "tenants.html", names=names)


async def home(request: Request) -> Response:
    """GET /t/{tenant}/: the sidebar, and nothing chosen yet."""
    return await _framed(request, await visit_of(request), "home.html")


async def page(request: Request) -> Response:
    """GET /t/{tenant}/p/{page}: a page."""
    return await _of_page(request, "page.html")


async def page_history(request: Request) -> Response:
    """GET /t/{tenant}/p/{page}/history: its versions, and what each changed."""
    return await _of_page(request, "history.html")


async def _of_page(request: Request, template: str) -> Response:
    visit = await visit_of(request)
    async with visit.reading() as connection:
        found = await pages.titled(connection, visit.page)
    if found is None:
        raise not_found()
    return await _framed(request, visit, template, page=found)


def view(template: str) -> Callable[[Request], Awaitable[Response]]:
    """A page of which a script fills in all that is the tenant's."""

    async def shown(request: Request) -> Response:
        return await _framed(request, await visit_of(request), template)

    return shown


async def _framed(request: Request, visit: Visit, template: str, **values: Any) -> Response:
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
