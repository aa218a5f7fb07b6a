"""Lists of what waits for a person, and decisions: requests, conflicts, halts, problems, notices."""

from typing import Any
from uuid import UUID

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mirrord.db import approvals, attention
from mirrord.db.approvals import Notice, Stored
from mirrord.db.attention import Halt, Problem
from mirrord.domain.approval import State
from mirrord.domain.entry import TenantId
from mirrord.domain.remedies import REMEDIES
from mirrord.domain.trust import Trust
from mirrord.sync.guard import outlook
from mirrord.web import settling
from mirrord.web.desk import CHANNEL, Visit, answered, asked, entry_of, number_of, refused, visit_of

_MAX_PATHS = 20  # per halt
_MAX_ROWS = 200  # of problems and of notices


async def waiting(request: Request) -> Response:
    """GET api/attention: all lists. Only operators receive requests and halts."""
    visit = await visit_of(request)
    tenant = TenantId(visit.tenant)
    answer: dict[str, Any] = {"approvals": [], "halts": []}
    async with visit.reading() as connection:
        if visit.session.is_operator:
            pending = await approvals.listed(connection, tenant, [State.PENDING, State.APPROVED])
            answer["approvals"] = [_approval_facts(row) for row in pending]
            for halt in await attention.halts(connection, tenant):
                paths = await attention.paths_of(connection, tenant, halt.entries, _MAX_PATHS)
                answer["halts"].append(_halt_facts(halt, paths))
        answer["conflicts"] = await settling.listed(connection, tenant)
        answer["problems"] = [_problem_facts(row) for row in (await attention.problems(connection, tenant))[:_MAX_ROWS]]
        answer["notices"] = [_notice_facts(row) for row in (await approvals.notices(connection, tenant))[:_MAX_ROWS]]
    return answered(answer)


def _approval_facts(request: Stored) -> dict[str, Any]:
    return {
        "id": request.id,
        "command": request.command,
        "arguments": request.arguments,
        "by": request.actor,
        "level": request.level,
        "needs_own_decision": request.level == Trust.REQUIRE.name,
        "state": request.state,
        "preview": request.preview,
        "requested_at": request.requested_at.isoformat(),
        "expires_at": request.expires_at.isoformat(),
    }


def _halt_facts(halt: Halt, paths: list[str]) -> dict[str, Any]:
    apply, discard = outlook(halt.side, len(halt.entries))
    return {
        "id": halt.id,
        "reason": halt.reason,
        "sentence": halt.sentence,
        "count": len(halt.entries),
        "paths": paths,
        "decision": halt.decision,
        "apply": apply,
        "discard": discard,
        "at": halt.created_at.isoformat(),
    }


def _problem_facts(problem: Problem) -> dict[str, Any]:
    facts = {"path": problem.path, "code": problem.code, "sentence": problem.sentence, "page": problem.entry}
    return {**facts, "remedy": REMEDIES.get(problem.code, "")}


def _notice_facts(notice: Notice) -> dict[str, Any]:
    return {
        "id": notice.id,
        "type": notice.type,
        "at": notice.occurred_at.isoformat(),
        "by": notice.actor,
        "data": notice.data,
    }


async def decide_requests(request: Request) -> Response:
    """POST api/approvals: `ids`, `approve`, `reason`. Some requests need a decision of their own."""
    visit = _require_operator(await visit_of(request))
    body = await asked(request, ids=list, approve=bool, reason=(str, type(None)))
    ids = [entry_of(text) for text in body["ids"]]
    reason = (body["reason"] or "").strip()[:1000] or None
    async with visit.writing() as connection:
        stored = await approvals.known(connection, TenantId(visit.tenant), ids)
        if len(ids) > 1 and body["approve"] and any(row.level == Trust.REQUIRE.name for row in stored.values()):
            raise refused("One of these needs a separate decision; approve it alone.")
        for request_id in ids:
            await approvals.decide(
                connection, TenantId(visit.tenant), request_id, approve=body["approve"], reason=reason, channel=CHANNEL
            )
    return answered({"decided": len(ids)})


async def decide_halt(request: Request) -> Response:
    """POST api/halts/{number}: `decision` is apply or discard."""
    visit = _require_operator(await visit_of(request))
    body = await asked(request, decision=str)
    if body["decision"] not in ("apply", "discard"):
        raise refused("The decision is `apply` or `discard`.")
    async with visit.writing() as connection:
        if not await attention.decide_halt(connection, number_of(request), body["decision"]):
            raise HTTPException(409, "This halt is no longer open.")
    return answered({})


async def settle(request: Request) -> Response:
    """POST api/conflicts/{number}: `choice` is file, row or merged, with `text`; `seen` as shown."""
    visit = await visit_of(request)
    body = await asked(request, choice=str, seen=str, text=(str, type(None)))
    async with visit.writing() as connection:
        choice = settling.CHOICES.get(body["choice"])
        if choice is None:
            raise refused(f"The choice is one of {', '.join(settling.CHOICES)}.")
        await settling.settle(
            connection, TenantId(visit.tenant), number_of(request), choice, body["seen"], body["text"]
        )
    return answered({})


async def read_notices(request: Request) -> Response:
    """POST api/notices: mark the notices `ids` as read."""
    visit = await visit_of(request)
    body = await asked(request, ids=list)
    async with visit.writing() as connection:
        await approvals.read_notices(connection, [UUID(str(entry_of(notice))) for notice in body["ids"]])
    return answered({})


def _require_operator(visit: Visit) -> Visit:
    """Raises 403 for sessions of a single tenant."""
    if not visit.session.is_operator:
        raise HTTPException(403, "Only an operator can decide this.")
    return visit
