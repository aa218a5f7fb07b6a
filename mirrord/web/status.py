"""How a tenant is: counts, mirrors, what happened last."""

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mirrord.db import overview
from mirrord.domain.entry import TenantId
from mirrord.web.desk import Visit, answered, visit_of
from mirrord.web.rows import mirrors
from mirrord.web.rows.mirrors import Mirror


async def status(request: Request) -> Response:
    """GET api/status."""
    visit = await visit_of(request)
    async with visit.reading() as connection:
        counts = await overview.counts(connection, TenantId(visit.tenant))
        found = await mirrors.mirrors(connection)
        happened = await mirrors.events(connection)
    return answered(
        {
            "counts": asdict(counts),
            "mirrors": [_facts(visit, one) for one in found],
            "events": [asdict(one) for one in happened],
            "to_disk": request.app.state.live.to_disk(visit.tenant),
        }
    )


def _facts(visit: Visit, one: Mirror) -> dict[str, Any]:
    """Where it is on which machine is nobody's business but an operator's."""
    hidden = set() if visit.session.is_operator else {"host", "root", "holder"}
    return {name: None if name in hidden else value for name, value in asdict(one).items()}
