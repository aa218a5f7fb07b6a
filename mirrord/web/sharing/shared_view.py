"""
Shared and published pages, for people without a session and browsers without scripts.

A share shows its page, with has_inside also the pages below it, and the attachments that these texts name. Everything
else is answered as what does not exist.
"""

from dataclasses import dataclass
from uuid import UUID

import orjson
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mirrord.auth.page_shares import PageShare
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, TenantId
from mirrord.web.html_pages import render_page
from mirrord.web.page_files import file_response
from mirrord.web.read_limits import run_in_thread, run_while_connected
from mirrord.web.request_context import Endpoint, app_context_of, entry_of, not_found
from mirrord.web.request_parameters import start_of
from mirrord.web.rows import file_rows, page_rows, shared_rows, tree_rows
from mirrord.web.rows.page_rows import Page
from mirrord.web.rows.tree_rows import LEVEL_ENTRIES, Node
from mirrord.web.sharing.document_html import ReadableLinks, render_document, without_title

_NOT_INDEXED = "noindex, nofollow, noarchive"
# Stricter than that of the console, at whose origin these pages are: nothing runs, nothing is sent.
_PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True, slots=True)
class _SharedPage:
    """A page of a share. above: the pages from the shared one down to it, without it. inside: those that it lists."""

    page: Page
    above: list[Node]
    inside: list[Node]
    links: ReadableLinks


def shared_endpoint(endpoint: Endpoint) -> Endpoint:
    """*endpoint* in the turn of its share: shares wait for each other, and no session waits for them."""

    async def answer_in_turn(request: Request) -> Response:
        share, desk = _share_of(request), app_context_of(request)
        turn = desk.shared_reads.turn(f"share {share.id}", share.place.tenant)
        response = await run_while_connected(request, turn, endpoint)
        if not share.is_indexed:
            response.headers["X-Robots-Tag"] = _NOT_INDEXED
        return response

    return answer_in_turn


def _share_of(request: Request) -> PageShare:
    """The share that the address names. Raises 404, and 429 for an address that asks too much."""
    desk = app_context_of(request)
    address = request.client.host if request.client else ""
    share = desk.shares.find(request.path_params["token"])
    limit, reader = (desk.unknown_share_rate, address) if share is None else (desk.share_rate, f"{address} {share.id}")
    if not limit.allows(reader):
        raise HTTPException(429, "Too many requests. Try again in a minute.")
    if share is None:
        raise not_found()
    return share


async def show_shared_page(request: Request) -> Response:
    """GET /s/{token} and /s/{token}/p/{page}: a page to read."""
    share = _known_share(request)
    text = request.path_params.get("page")
    page_id = entry_of(text) if text is not None else EntryId(share.place.page)
    async with app_context_of(request).database.transaction(TenantId(share.place.tenant)) as connection:
        view = await _load_shared_page(connection, request, share, page_id)
    response = render_page(
        request,
        "shared.html",
        title=view.page.title,
        icon=view.page.icon,
        text=await run_in_thread(_html_of, view),
        top=_address_of(request),
        above=view.above,
        inside=view.inside[:LEVEL_ENTRIES],
        next=start_of(request) + LEVEL_ENTRIES if len(view.inside) > LEVEL_ENTRIES else None,
        robots=None if share.is_indexed else _NOT_INDEXED,
    )
    response.headers["Content-Security-Policy"] = _PAGE_POLICY
    return response


async def download_shared_file(request: Request) -> Response:
    """GET /s/{token}/p/{page}/file/{file}: an attachment that the text of the page names."""
    share = _known_share(request)
    page_id, file_id = (entry_of(request.path_params[name]) for name in ("page", "file"))
    tenant = TenantId(share.place.tenant)
    async with app_context_of(request).database.transaction(tenant) as connection:
        await _load_path(connection, share, page_id)
        files = {target for _, _, target in await shared_rows.load_linked_files(connection, page_id)}
        stored = await file_rows.load_attachment(connection, file_id) if file_id in files else None
        if stored is None:
            raise not_found()
        return await file_response(request, connection, tenant, stored)


def _known_share(request: Request) -> PageShare:
    """The share, once more: it may have been revoked while the request waited for its turn."""
    share = app_context_of(request).shares.find(request.path_params["token"])
    if share is None:
        raise not_found()
    return share


async def _load_shared_page(
    connection: Connection, request: Request, share: PageShare, page_id: EntryId
) -> _SharedPage:
    path = await _load_path(connection, share, page_id)
    page = await page_rows.load_page(connection, page_id)
    if page is None or page.is_deleted:
        raise not_found()
    has_inside = share.place.has_inside
    inside = await tree_rows.load_children(connection, page_id, start_of(request)) if has_inside else []
    return _SharedPage(page, path[:-1], inside, await _load_links(connection, request, share, page_id))


async def _load_path(connection: Connection, share: PageShare, page: UUID) -> list[Node]:
    """The pages from the shared one down to *page*. Raises 404 if the share does not show it."""
    path = await tree_rows.load_path(connection, page)
    start = next((number for number, node in enumerate(path) if node.id == share.place.page), None)
    if start is None or not (share.place.has_inside or page == share.place.page):
        raise not_found()
    return path[start:]


async def _load_links(connection: Connection, request: Request, share: PageShare, page: EntryId) -> ReadableLinks:
    linked = await shared_rows.load_linked_pages(connection, page) if share.place.has_inside else []
    visible = await shared_rows.load_inside(connection, share.place.page, {target for _, _, target in linked})
    top = _address_of(request)
    return ReadableLinks(
        {(kind, target): f"{top}/p/{entry}" for kind, target, entry in linked if entry in visible},
        {
            (kind, target): f"{top}/p/{page}/file/{entry}"
            for kind, target, entry in await shared_rows.load_linked_files(connection, page)
        },
    )


def _html_of(view: _SharedPage) -> Markup:
    document = orjson.loads(view.page.content) if view.page.content else None
    return render_document(without_title(document, view.page.title), view.links)


def _address_of(request: Request) -> str:
    return f"/s/{request.path_params['token']}"
