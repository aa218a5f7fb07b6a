"""The status of a tenant: counts, mirrors, recent events."""

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mirrord.db import overview
from mirrord.domain.entry import TenantId
from mirrord.web.desk import Visit, json_response, visit_of
from mirrord.web.rows import mirrors
from mirrord.web.rows.mirrors import Mirror


async def show_status(request: Request) -> Response:
    """GET api/status: counts, mirrors, recent events, and times to disk."""
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        counts = await overview.load_counts(connection, TenantId(visit.tenant))
        rows = await mirrors.load_mirrors(connection)
        recent = await mirrors.load_recent_events(connection)
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
