"""The state of a tenant, what awaits a person in all tenants, and the person's decisions."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mirrord.db import approval_rows, open_issues, review_rows, tenant_rows
from mirrord.db.approval_rows import Notice, StoredRequest
from mirrord.db.database import Connection
from mirrord.db.open_issues import Halt, Problem
from mirrord.db.review_rows import Obstacle
from mirrord.domain.approval import RequestState
from mirrord.domain.entry import TenantId
from mirrord.domain.problem_advice import REMEDIES
from mirrord.domain.trust import Trust
from mirrord.operations.review_decisions import Acceptance
from mirrord.sync.decisions.guard import describe_effects, split_sentence
from mirrord.web import conflict_writer
from mirrord.web.request_context import (
    CHANNEL,
    Visit,
    app_context_of,
    entry_of,
    json_response,
    not_found,
    number_of,
    read_json,
    refusal,
    require_operator,
    session_of,
    visit_of,
)
from mirrord.web.review_api import accept_review
from mirrord.web.rows import live_rows
from mirrord.web.rows.live_rows import Mirror


async def show_status(request: Request) -> Response:
    """GET api/status: counts, mirrors, problems of files, recent events, and times to disk."""
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        counts = await tenant_rows.load_counts(connection, TenantId(visit.tenant))
        rows = await live_rows.load_mirrors(connection)
        recent = await live_rows.load_recent_events(connection, with_requests=visit.role.is_operator)
        problems = await _list_problems(connection, visit)
    return json_response(
        {
            "counts": asdict(counts),
            "mirrors": [_facts(visit, row) for row in rows],
            "events": [asdict(row) for row in recent],
            "problems": problems,
            "to_disk": request.app.state.live.to_disk(visit.tenant),
        }
    )


def _facts(visit: Visit, mirror: Mirror) -> dict[str, Any]:
    """The facts of a mirror. Only who sees all tenants sees its host and path; the reason of a stop names them."""
    facts = asdict(mirror)
    if not visit.session.sees_all:
        facts |= {"host": None, "root": None, "holder": None}
        facts["stopped"] = None if mirror.stopped is None else _STOPPED
    return facts


_STOPPED = "Files and pages are not brought together at the moment; an operator sees why."

TENANTS_PER_ANSWER = 50  # tenants per answer: the list may have hundreds


async def count_in_tenants(request: Request) -> Response:
    """
    GET api/waiting?after=: `counts` and `states` of the next tenants by name, and `next`: the last, if there are more.

    Raises 404 for sessions that do not see all tenants, as if there were no list.
    """
    session, desk = session_of(request), app_context_of(request)
    if session is None:
        raise HTTPException(401, "Sign in with a link; `mirrord console link` prints one.")
    if not session.sees_all:
        raise not_found()
    tenants = await desk.known_tenants()
    names = sorted(tenants)
    start = bisect_right(names, request.query_params.get("after", ""))
    page = names[start : start + TENANTS_PER_ANSWER]
    if not page:
        return json_response({"counts": {}, "states": {}, "next": None})
    ids = [TenantId(tenants[name]) for name in page]
    async with desk.database.transaction(ids[0]) as connection:
        waiting = await tenant_rows.count_waiting_in_each(connection, ids)
        states = await live_rows.load_state_of_each(connection, ids)
    counts = {name: asdict(counted) for name, counted in zip(page, waiting, strict=True)}
    after = page[-1] if start + TENANTS_PER_ANSWER < len(names) else None
    return json_response({"counts": counts, "states": dict(zip(page, states, strict=True)), "next": after})


_MAX_PATHS = 20  # per halt
_SENTENCES = {
    Obstacle.OUTDATED: "its files changed since it was shown; review it to see it as it is now",
    Obstacle.SEPARATED: "a part of it was rejected that belongs to another part; review it",
    Obstacle.ALL_REJECTED: "every page of it is marked as rejected",
}
_MAX_ROWS = 200  # of problems and of notices


async def list_waiting(request: Request) -> Response:
    """GET api/attention: all lists. Only operators receive requests and halts."""
    visit = await visit_of(request)
    tenant = TenantId(visit.tenant)
    answer: dict[str, Any] = {"approvals": [], "halts": []}
    async with visit.read_transaction() as connection:
        if visit.role.is_operator:
            pending = await approval_rows.list_requests(
                connection, tenant, [RequestState.PENDING, RequestState.APPROVED]
            )
            answer["approvals"] = [_approval_facts(row) for row in pending]
            for halt in await open_issues.load_halts(connection, tenant):
                paths = await open_issues.load_paths(connection, tenant, halt.entries, _MAX_PATHS)
                answer["halts"].append(_halt_facts(halt, paths))
        answer["conflicts"] = await conflict_writer.load_conflicts(connection, tenant)
        answer["problems"] = await _list_problems(connection, visit)
        answer["notices"] = [
            _notice_facts(row) for row in (await approval_rows.load_notices(connection, tenant))[:_MAX_ROWS]
        ]
    return json_response(answer)


def _approval_facts(request: StoredRequest) -> dict[str, Any]:
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
    apply, discard = describe_effects(halt.side, len(halt.entries))
    happened, note = split_sentence(halt.sentence)
    return {
        "id": halt.id,
        "reason": halt.reason,
        "side": halt.side,
        "sentence": " ".join((happened, note)).rstrip(),  # the console has buttons for what else it says
        "note": note,
        "count": len(halt.entries),
        "paths": paths,
        "decision": halt.decision,
        "apply": apply,
        "discard": discard,
        "at": halt.created_at.isoformat(),
    }


async def _list_problems(connection: Connection, visit: Visit) -> list[dict[str, Any]]:
    """The first problems of a tenant, with their pages."""
    tenant = TenantId(visit.tenant)
    problems = (await open_issues.load_problems(connection, tenant))[:_MAX_ROWS]
    unnamed_paths = [problem.path for problem in problems if problem.entry is None]
    pages = await open_issues.load_pages_at(connection, tenant, unnamed_paths) if unnamed_paths else {}
    return [
        _problem_facts(visit, replace(problem, entry=problem.entry or pages.get(problem.path))) for problem in problems
    ]


def _problem_facts(visit: Visit, problem: Problem) -> dict[str, Any]:
    is_hidden = problem.code == "root" and not visit.session.sees_all
    sentence = _STOPPED if is_hidden else problem.sentence
    facts = {"path": problem.path, "code": problem.code, "sentence": sentence, "page": problem.entry}
    is_powerless = is_hidden and not visit.role.is_operator
    return {**facts, "remedy": "" if is_powerless else REMEDIES.get(problem.code, "")}


def _notice_facts(notice: Notice) -> dict[str, Any]:
    return {
        "id": notice.id,
        "type": notice.type,
        "at": notice.occurred_at.isoformat(),
        "by": notice.actor,
        "data": notice.data,
    }


async def decide_requests(request: Request) -> Response:
    """
    POST api/approvals: `ids`, `approve`, `reason`.

    Of several, those that a person has to look at again are left, and listed in `left`.
    """
    visit = require_operator(await visit_of(request))
    body = await read_json(request, ids=list, approve=bool, reason=(str, type(None)))
    ids = [entry_of(text) for text in body["ids"]]
    reason = (body["reason"] or "").strip()[:1000] or None
    if body["approve"] and len(ids) == 1 and await _accept_change_set(visit, ids[0], reason):
        return json_response({"decided": 1, "left": []})
    async with visit.write_transaction() as connection:
        stored = await approval_rows.load_requests(connection, TenantId(visit.tenant), ids)
        is_joint = len(ids) > 1 and body["approve"]
        if is_joint and any(row.level == Trust.REQUIRE.name for row in stored.values()):
            raise refusal("One of these needs a separate decision; approve it alone.")
        obstacles = await _find_obstacles(connection, visit, stored.values()) if is_joint else {}
        chosen = [request_id for request_id in ids if request_id not in obstacles]
        for request_id in chosen:
            await approval_rows.decide_request(
                connection, TenantId(visit.tenant), request_id, approve=body["approve"], reason=reason, channel=CHANNEL
            )
    return json_response({"decided": len(chosen), "left": list(obstacles.values())})


async def _accept_change_set(visit: Visit, request_id: UUID, reason: str | None) -> bool:
    """Accept a change set that waits, as it was shown, and wait until it is applied; False: it is another request."""
    tenant = TenantId(visit.tenant)
    async with visit.read_transaction() as connection:
        stored = (await approval_rows.load_requests(connection, tenant, [request_id])).get(request_id)
        if stored is None or "change_set" not in stored.arguments or stored.state is not RequestState.PENDING:
            return False
        digest = (await review_rows.load_review(connection, tenant, stored)).shown
    change_set = str(stored.arguments["change_set"])
    await accept_review(visit, Acceptance(change_set, lambda review: review.choice, digest, reason, CHANNEL))
    return True


async def _find_obstacles(
    connection: Connection, visit: Visit, requests: Iterable[StoredRequest]
) -> dict[UUID, dict[str, Any]]:
    """The change sets that a person has to look at again before they are approved, for the person."""
    obstacles = {}
    for stored in requests:
        obstacle = await review_rows.find_obstacle(connection, TenantId(visit.tenant), stored)
        if obstacle is not None:
            facts = {"id": stored.id, "change_set": stored.arguments["change_set"]}
            title = str(stored.preview["facts"].get("title"))
            obstacles[stored.id] = {**facts, "title": title, "sentence": _SENTENCES[obstacle]}
    return obstacles


async def decide_halt(request: Request) -> Response:
    """POST api/halts/{number}: `decision` is apply or discard."""
    visit = require_operator(await visit_of(request))
    body = await read_json(request, decision=str)
    if body["decision"] not in ("apply", "discard"):
        raise refusal("The decision is `apply` or `discard`.")
    async with visit.write_transaction() as connection:
        if not await open_issues.decide_halt(connection, number_of(request), body["decision"]):
            raise HTTPException(409, "This halt is no longer open.")
    return json_response({})


async def resolve_conflict(request: Request) -> Response:
    """POST api/conflicts/{number}: `choice` is file, row or merged, with `text`; `seen` as shown."""
    visit = await visit_of(request)
    body = await read_json(request, choice=str, seen=str, text=(str, type(None)))
    async with visit.write_transaction() as connection:
        choice = conflict_writer.CHOICES_BY_NAME.get(body["choice"])
        if choice is None:
            raise refusal(f"The choice is one of {', '.join(conflict_writer.CHOICES_BY_NAME)}.")
        await conflict_writer.resolve_conflict(
            connection, TenantId(visit.tenant), number_of(request), choice, body["seen"], body["text"]
        )
    return json_response({})


async def read_notices(request: Request) -> Response:
    """POST api/notices: mark the notices `ids` as read."""
    visit = await visit_of(request)
    body = await read_json(request, ids=list)
    async with visit.write_transaction() as connection:
        await approval_rows.mark_notices_read(connection, [UUID(str(entry_of(notice))) for notice in body["ids"]])
    return json_response({})
