"""An operator sees who decided what."""

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mirrord.sync.decisions.guard import split_sentence
from mirrord.web.request_context import json_response, require_operator, visit_of
from mirrord.web.rows.decision_rows import MadeDecision, load_decisions


async def list_decisions(request: Request) -> Response:
    """GET api/decisions: what people decided last about requests, halts and conflicts."""
    visit = require_operator(await visit_of(request))
    async with visit.read_transaction() as connection:
        return json_response([_facts(decision) for decision in await load_decisions(connection)])


def _facts(decision: MadeDecision) -> dict[str, Any]:
    facts = asdict(decision)
    if decision.about == "halt":  # of which the sentence names commands, where the console has buttons
        facts["subject"] = " ".join(split_sentence(decision.subject)).rstrip()
    return facts
