"""What a person sees before choosing a page: what changed last, and the tags."""

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from mirrord.documents.link_places import paths_of
from mirrord.domain.entry import TenantId
from mirrord.web.request_context import CHANNEL, json_response, visit_of
from mirrord.web.rows import overview_rows

_MAX_TAG_CHARACTERS = 200  # of a tag that is asked for


async def list_recent(request: Request) -> Response:
    """GET api/recent: the pages that were changed last; `mine` if this person did it in the console."""
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        pages = await overview_rows.load_recent(connection)
        paths = await paths_of(connection, TenantId(visit.tenant), [page.id for page in pages])
    me = {"kind": "human", "name": visit.session.name, "channel": CHANNEL}
    return json_response(
        [
            {**asdict(page), "path": paths.get(page.id, page.title), "mine": page.by == me, "href": visit.href(page.id)}
            for page in pages
        ]
    )


async def list_tags(request: Request) -> Response:
    """GET api/tags?tag=: all tags with their numbers of pages; with `tag` the pages that have it."""
    visit = await visit_of(request)
    tag = request.query_params.get("tag", "")[:_MAX_TAG_CHARACTERS].replace("\0", "").strip().lstrip("#")
    async with visit.read_transaction() as connection:
        if not tag:
            tags = await overview_rows.load_tags(connection)
            return json_response([{"tag": name, "pages": count} for name, count in tags])
        pages = await overview_rows.load_tagged(connection, tag)
        paths = await paths_of(connection, TenantId(visit.tenant), [page for page, *_ in pages])
    return json_response(
        [
            {"id": page, "title": title, "icon": icon, "path": paths.get(page, title), "href": visit.href(page)}
            for page, _, title, icon in pages
        ]
    )
