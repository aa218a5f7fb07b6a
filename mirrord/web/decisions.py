"""What waits for a person, and deciding about it: requests, conflicts, halts, problems, notices."""

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

_SHOWN = 20  # paths a halt
_LISTED = 200  # problems, and notices


async def waiting(request: Request) -> Response:
    """GET api/attention: all of it. Requests and halts are an operator's."""
    visit = await visit_of(request)
    tenant = TenantId(visit.tenant)
    found: dict[str, Any] = {"approvals": [], "halts": []}
    async with visit.reading() as connection:
        if visit.session.is_operator:
            pending = await approvals.listed(connection, tenant, [State.PENDING, State.APPROVED])
            found["approvals"] = [_approval(one) for one in pending]
            for halt in await attention.halts(connection, tenant):
                paths = await attention.paths_of(connection, tenant, halt.entries, _SHOWN)
                found["halts"].append(_halt(halt, paths))
        found["conflicts"] = await settling.listed(connection, tenant)
        found["problems"] = [_problem(one) for one in (await attention.problems(connection, tenant))[:_LISTED]]
        found["notices"] = [_notice(one) for one in (await approvals.notices(connection, tenant))[:_LISTED]]
    return answered(found)


def _approval(one: Stored) -> dict[str, Any]:
    return {
        "id": one.id,
        "command": one.command,
        "arguments": one.arguments,
        "by": one.actor,
        "level": one.level,
        "needs_own_decision": one.level == Trust.REQUIRE.name,
        "state": one.state,
        "preview": one.preview,
        "requested_at": one.requested_at.isoformat(),
        "expires_at": one.expires_at.isoformat(),
    }


def _halt(halt: Halt, paths: list[str]) -> dict[str, Any]:
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


def _problem(one: Problem) -> dict[str, Any]:
    known = {"path": one.path, "code": one.code, "sentence": one.sentence, "page": one.entry}
    return {**known, "remedy": REMEDIES.get(one.code, "")}


def _notice(one: Notice) -> dict[str, Any]:
    return {"id": one.id, "type": one.type, "at": one.occurred_at.isoformat(), "by": one.actor, "data": one.data}


async def decide_requests(request: Request) -> Response:
    """POST api/approvals: `ids`, `approve`, `reason`. Several at once, but never what needs a decision of its own."""
    visit = _operators(await visit_of(request))
    body = await asked(request, ids=list, approve=bool, reason=(str, type(None)))
    ids = [entry_of(one) for one in body["ids"]]
    reason = (body["reason"] or "").strip()[:1000] or None
    async with visit.writing() as connection:
        known = await approvals.known(connection, TenantId(visit.tenant), ids)
        if len(ids) > 1 and body["approve"] and any(one.level == Trust.REQUIRE.name for one in known.values()):
            raise refused("One of these needs a decision of its own; approve it by itself.")
        for one in ids:
            await approvals.decide(
                connection, TenantId(visit.tenant), one, approve=body["approve"], reason=reason, channel=CHANNEL
            )
    return answered({"decided": len(ids)})


async def decide_halt(request: Request) -> Response:
    """POST api/halts/{number}: `decision` is apply or discard."""
    visit = _operators(await visit_of(request))
    body = await asked(request, decision=str)
    if body["decision"] not in ("apply", "discard"):
        raise refused("The decision is `apply` or `discard`.")
    async with visit.writing() as connection:
        if not await attention.decide_halt(connection, number_of(request), body["decision"]):
            raise HTTPException(409, "This halt is not open any more.")
    return answered({})


async def settle(request: Request) -> Response:
    """POST api/conflicts/{number}: `choice` is file, row or merged, with `text`; `seen` as it was shown."""
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
    """POST api/notices: `ids` were read."""
    visit = await visit_of(request)
    body = await asked(request, ids=list)
    async with visit.writing() as connection:
        await approvals.read_notices(connection, [UUID(str(entry_of(one))) for one in body["ids"]])
    return answered({})


def _operators(visit: Visit) -> Visit:
    """Raises 403 for whoever sees one tenant only."""
    if not visit.session.is_operator:
        raise HTTPException(403, "Only an operator decides about this.")
    return visit
