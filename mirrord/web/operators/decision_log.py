"""An operator sees who decided what."""

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from mirrord.web.request_context import json_response, require_operator, visit_of
from mirrord.web.rows.decision_rows import load_decisions


async def list_decisions(request: Request) -> Response:
    """GET api/decisions: what people decided last about requests, halts and conflicts."""
    visit = require_operator(await visit_of(request))
    async with visit.read_transaction() as connection:
        return json_response([asdict(decision) for decision in await load_decisions(connection)])
