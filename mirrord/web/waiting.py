"""What waits for a person in all tenants, for an operator's list of them."""

from bisect import bisect_right
from dataclasses import asdict

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mirrord.db import overview
from mirrord.domain.entry import TenantId
from mirrord.web.desk import answered, desk_of, not_found, session_of

ONCE = 50  # tenants counted for one answer: the list may have hundreds


async def in_tenants(request: Request) -> Response:
    """
    GET api/waiting?after=: `counts` of the next tenants by name, and `next`, the last of them if there are more.

    Raises 404 for whoever sees one tenant only, as if there were no list.
    """
    session, desk = session_of(request), desk_of(request)
    if session is None:
        raise HTTPException(401, "Sign in with a link; `mirrord console link` prints one.")
    if not session.is_operator:
        raise not_found()
    known = await desk.known_tenants()
    names = sorted(known)
    start = bisect_right(names, request.query_params.get("after", ""))
    shown = names[start : start + ONCE]
    if not shown:
        return answered({"counts": {}, "next": None})
    ids = [TenantId(known[name]) for name in shown]
    async with desk.database.transaction(ids[0]) as connection:
        found = await overview.waiting_in_each(connection, ids)
    counts = {name: asdict(one) for name, one in zip(shown, found, strict=True)}
    return answered({"counts": counts, "next": shown[-1] if start + ONCE < len(names) else None})
