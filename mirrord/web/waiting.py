"""Counts of what waits for a person in each tenant, for an operator's list of tenants."""

from bisect import bisect_right
from dataclasses import asdict

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mirrord.db import overview
from mirrord.domain.entry import TenantId
from mirrord.web.desk import app_context_of, json_response, not_found, session_of

TENANTS_PER_ANSWER = 50  # tenants per answer: the list may have hundreds


async def count_in_tenants(request: Request) -> Response:
    """
    GET api/waiting?after=: `counts` of the next tenants by name, and `next`: the last of them, if there are more.

    Raises 404 for sessions of a single tenant, as if there were no list.
    """
    session, desk = session_of(request), app_context_of(request)
    if session is None:
        raise HTTPException(401, "Sign in with a link; `mirrord console link` prints one.")
    if not session.is_operator:
        raise not_found()
    tenants = await desk.known_tenants()
    names = sorted(tenants)
    start = bisect_right(names, request.query_params.get("after", ""))
    page = names[start : start + TENANTS_PER_ANSWER]
    if not page:
        return json_response({"counts": {}, "next": None})
    ids = [TenantId(tenants[name]) for name in page]
    async with desk.database.transaction(ids[0]) as connection:
        waiting = await overview.count_waiting_in_each(connection, ids)
    counts = {name: asdict(counted) for name, counted in zip(page, waiting, strict=True)}
    return json_response({"counts": counts, "next": page[-1] if start + TENANTS_PER_ANSWER < len(names) else None})
