"""Sharing in the console: links that expire, published folders, and their end."""

from datetime import UTC, datetime
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from mirrord.auth.page_shares import PageShare, SharedPlace
from mirrord.web.read_limits import run_in_thread
from mirrord.web.request_context import json_response, not_found, read_json, refusal, require_operator, visit_of
from mirrord.web.rows import tree_rows


async def list_shares(request: Request) -> Response:
    """GET api/pages/{page}/shares: the shares of the page."""
    visit = await visit_of(request)
    page = visit.page
    shares = await run_in_thread(visit.app.shares.shares_of, visit.tenant)
    return json_response({"shares": [_facts_of(share) for share in shares if share.place.page == page]})


async def share_page(request: Request) -> Response:
    """POST api/pages/{page}/shares: a link for `days`; with `name` the page is published, by operators only."""
    visit = await visit_of(request)
    body = await read_json(request, days=(int, type(None)), inside=bool, name=(str, type(None)), indexed=bool)
    async with visit.read_transaction() as connection:
        if not await tree_rows.load_path(connection, visit.page):
            raise not_found()
    place = SharedPlace(visit.tenant, visit.page, body["inside"], visit.session.name)
    if body["name"] is not None:
        require_operator(visit)
        share = await run_in_thread(partial(visit.app.shares.publish, is_indexed=body["indexed"]), place, body["name"])
        return json_response({**_facts_of(share), "href": f"/s/{share.name}"}, 201)
    if body["days"] is None:
        raise refusal("Say for how many days the link is valid.")
    share, token = await run_in_thread(visit.app.shares.share, place, body["days"])
    return json_response({**_facts_of(share), "href": f"/s/{token}"}, 201)


async def revoke_share(request: Request) -> Response:
    """DELETE api/shares/{share}: end a share. What is published only operators end."""
    visit = await visit_of(request)
    share_id = request.path_params["share"]
    shares = await run_in_thread(visit.app.shares.shares_of, visit.tenant)
    share = next((share for share in shares if share.id == share_id), None)
    if share is None:
        raise not_found()
    if share.name is not None:
        require_operator(visit)
    await run_in_thread(visit.app.shares.revoke, visit.tenant, share.id)
    return json_response({"id": share.id})


def _facts_of(share: PageShare) -> dict[str, object]:
    return {
        "id": share.id,
        "by": share.place.by,
        "inside": share.place.has_inside,
        "until": datetime.fromtimestamp(share.until, UTC).isoformat() if share.until is not None else None,
        "name": share.name,
        "indexed": share.is_indexed,
    }
