"""The state of a tenant, and what awaits a person in all tenants."""

from bisect import bisect_right
from dataclasses import asdict
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mirrord.db import tenant_rows
from mirrord.domain.entry import TenantId
from mirrord.web.request_context import Visit, app_context_of, json_response, not_found, session_of, visit_of
from mirrord.web.rows import mirror_rows
from mirrord.web.rows.mirror_rows import Mirror


async def show_status(request: Request) -> Response:
    """GET api/status: counts, mirrors, recent events, and times to disk."""
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        counts = await tenant_rows.load_counts(connection, TenantId(visit.tenant))
        rows = await mirror_rows.load_mirrors(connection)
        recent = await mirror_rows.load_recent_events(connection)
    return json_response(
        {
            "counts": asdict(counts),
            "mirrors": [_facts(visit, row) for row in rows],
            "events": [asdict(row) for row in recent],
            "to_disk": request.app.state.live.to_disk(visit.tenant),
        }
    )


def _facts(visit: Visit, mirror: Mirror) -> dict[str, Any]:
    """The facts of a mirror. Only operators see its host and path."""
    hidden = set() if visit.session.is_operator else {"host", "root", "holder"}
    return {name: None if name in hidden else value for name, value in asdict(mirror).items()}


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
        waiting = await tenant_rows.count_waiting_in_each(connection, ids)
    counts = {name: asdict(counted) for name, counted in zip(page, waiting, strict=True)}
    return json_response({"counts": counts, "next": page[-1] if start + TENANTS_PER_ANSWER < len(names) else None})
