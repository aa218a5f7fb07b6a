"""An operator makes, lists and revokes the tokens of agents, and ends the access of programs that people let in."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mirrord.auth.access_grant import Rights
from mirrord.auth.delegations import Delegation, DelegationStore, store_of
from mirrord.auth.signed_tokens import Keyring
from mirrord.auth.token_list import ListedToken, TokenDesk, TokenOrder, check_actor_name, expiry_after
from mirrord.domain.entry import TenantId
from mirrord.web.read_limits import run_in_thread
from mirrord.web.request_context import (
    Visit,
    json_response,
    not_found,
    read_json,
    refusal,
    require_operator,
    visit_of,
)

MAX_TOKEN_DAYS = 365
_RIGHTS = {"read": Rights(may_write=False), "review": Rights(is_reviewed=True), "write": Rights()}


async def list_tokens(request: Request) -> Response:
    """GET api/tokens: the tokens of the tenant, and the programs that people let in. 404: files are elsewhere."""
    visit = require_operator(await visit_of(request))
    tokens = await run_in_thread(_desk_of(visit).list_all)
    programs = await run_in_thread(_programs_of(visit).list_all)
    return json_response(
        {"tokens": [_token_facts(token) for token in tokens], "programs": list(map(_program_facts, programs))}
    )


async def make_token(request: Request) -> Response:
    """POST api/tokens: a token for the agent `actor`, with a `scope`, for `days`. It is shown only now."""
    visit = require_operator(await visit_of(request))
    body = await read_json(request, actor=str, scope=str, days=int)
    if body["scope"] not in _RIGHTS:
        raise refusal("Choose what the agent may do: read, review or write.")
    if not 1 <= body["days"] <= MAX_TOKEN_DAYS:
        raise refusal(f"A token is valid for 1 to {MAX_TOKEN_DAYS} days.")
    actor = check_actor_name(body["actor"])
    order = TokenOrder(actor, _RIGHTS[body["scope"]], visit.session.name, expiry_after(body["days"]))
    text, listed = await run_in_thread(_desk_of(visit).make, order)
    return json_response({**_token_facts(listed), "token": text}, 201)


async def revoke_token(request: Request) -> Response:
    """DELETE api/tokens/{token}: end a token of the tenant, or the access of a program."""
    visit = require_operator(await visit_of(request))
    token_id = request.path_params["token"]
    if not await run_in_thread(_revoke, visit, token_id):
        raise not_found()
    return json_response({"id": token_id})


def _revoke(visit: Visit, token_id: str) -> bool:
    if _desk_of(visit).revoke(token_id, visit.session.name):
        return True
    programs = _programs_of(visit)
    if programs.find(token_id) is None:
        return False
    programs.revoke(token_id)
    return True


def _desk_of(visit: Visit) -> TokenDesk:
    data, trees = visit.app.gate.data, _trees_of(visit)
    return TokenDesk(data, trees, visit.name, TenantId(visit.tenant), visit.app.signing)


def _programs_of(visit: Visit) -> DelegationStore:
    return store_of(visit.app.gate.data, TenantId(visit.tenant), Keyring(_trees_of(visit)))


def _trees_of(visit: Visit) -> Path:
    if visit.app.trees is None:
        raise not_found()
    return visit.app.trees


def _token_facts(token: ListedToken) -> dict[str, Any]:
    moments = {"made_at": token.made_at, "until": token.until, "ended_at": token.ended_at}
    return asdict(token) | {name: _moment(seconds) for name, seconds in moments.items()}


def _program_facts(program: Delegation) -> dict[str, Any]:
    return {
        "id": program.id,
        "actor": program.actor,
        "scope": program.rights.scope.split()[-1],
        "by": program.person,
        "made_at": _moment(program.created),
        "until": _moment(program.expires),
    }


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
