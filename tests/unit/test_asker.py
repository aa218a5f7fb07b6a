"""Who may ask: whoever shows a token of the tenant that may write, as themselves; and nobody else."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mirrord.auth.access_grant import LOCAL_ACTOR, Rights
from mirrord.auth.delegations import DelegationStore, TokenMaker
from mirrord.auth.signed_tokens import Keyring, issue_token, signing_key
from mirrord.config import Agents, Config
from mirrord.domain.approval import Request
from mirrord.domain.entry import Actor, TenantId, new_id
from mirrord.domain.scope import UNLIMITED, parse_scope
from mirrord.errors import Refused
from mirrord.intake.request_execution import TenantContext
from mirrord.sync.observation.mirror_handles import Sides

TENANT, OTHER = TenantId(new_id()), TenantId(new_id())
ACTOR = Actor("agent", "notes")
REQUEST = Request(new_id(), "delete_page", {}, {}, {}, TENANT, ACTOR, None, datetime.now(UTC))


def desk(tmp_path: Path, *, local: bool = False) -> TenantContext:
    config = Config(tmp_path / "mirror", tmp_path / "data", "host=x", agents=Agents(local_trust=local))
    return TenantContext(cast(Sides, SimpleNamespace(tenant=TENANT)), config)


def token(tmp_path: Path, tenant: TenantId = TENANT, **changed: Any) -> tuple[str, str]:
    private = signing_key(tmp_path / "data", Keyring(tmp_path / "mirror"))
    settings: dict[str, Any] = {"rights": Rights(), "expires": None, **changed}
    return issue_token(private, "demo", tenant, ACTOR, **settings)


def test_the_holder_of_a_token_may_ask_as_themselves(tmp_path: Path) -> None:
    shown_token, _ = token(tmp_path)
    desk(tmp_path).check_author(replace(REQUEST, token=shown_token))
    with pytest.raises(Refused, match="belongs to another actor"):
        desk(tmp_path).check_author(replace(REQUEST, token=shown_token, actor=Actor("human", "owner")))


def test_of_a_hosted_client_only_the_token_for_requests_counts(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path / "mirror")
    store = DelegationStore(tmp_path / "delegations", keyring)
    delegation = store.create("client", "Ada", ACTOR.name, Rights(), "https://pages.example/mcp")
    maker = TokenMaker(signing_key(tmp_path / "data", keyring), "demo", TENANT)
    request = replace(REQUEST, token=maker.request_token(delegation))
    desk(tmp_path).check_author(request)
    with pytest.raises(Refused, match="another server"):
        desk(tmp_path).check_author(replace(REQUEST, token=maker.access_token(delegation)[0]))
    store.revoke(delegation.id)
    with pytest.raises(Refused, match="revoked"):
        desk(tmp_path).check_author(request)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"tenant": OTHER}, "belongs to another actor"),
        ({"rights": Rights(may_write=False)}, "may only read"),
        ({"rights": Rights(paths=parse_scope(deny=["Private"]))}, "not those of its token"),
        ({"expires": datetime.now(UTC) - timedelta(seconds=1)}, "expired"),
    ],
)
def test_a_token_that_does_not_grant_it_is_refused(tmp_path: Path, changed: dict[str, Any], words: str) -> None:
    shown_token, _ = token(tmp_path, **changed)
    with pytest.raises(Refused, match=words):
        desk(tmp_path).check_author(replace(REQUEST, token=shown_token))


def test_a_request_has_exactly_the_scope_of_its_token(tmp_path: Path) -> None:
    scope = parse_scope(["Inbox/**"], deny=["Inbox/Private"])
    shown_token, _ = token(tmp_path, rights=Rights(paths=scope))
    assert desk(tmp_path).check_author(replace(REQUEST, token=shown_token, scope=scope)) == scope
    wider = (UNLIMITED, parse_scope(["**"]), parse_scope(["Inbox/**"]), parse_scope(deny=["Inbox/Private"]))
    for other in (*wider, parse_scope(["Inbox/Private"])):
        for changed in ({"writes": True}, {"writes": False}, {"is_undo": True}):
            with pytest.raises(Refused, match="not those of its token"):
                desk(tmp_path).check_author(replace(REQUEST, token=shown_token, scope=other), **changed)


def test_a_local_caller_is_held_to_the_scope_that_its_server_names(tmp_path: Path) -> None:
    scope, reading = parse_scope(["Inbox/**"]), parse_scope(read=["Inbox/**"])
    local, where = replace(REQUEST, actor=LOCAL_ACTOR), desk(tmp_path, local=True)
    assert where.check_author(replace(local, scope=scope)) == scope
    assert where.check_author(replace(local, scope=reading), writes=False) == reading
    with pytest.raises(Refused, match="read only"):
        where.check_author(replace(local, scope=reading))


def test_a_token_that_was_revoked_is_refused(tmp_path: Path) -> None:
    shown_token, name = token(tmp_path)
    Keyring(tmp_path / "mirror").revoke(name)
    with pytest.raises(Refused, match="revoked"):
        desk(tmp_path).check_author(replace(REQUEST, token=shown_token))


def test_without_a_token_only_the_local_agent_is_trusted_and_only_where_an_operator_says_so(tmp_path: Path) -> None:
    local = replace(REQUEST, actor=LOCAL_ACTOR)
    desk(tmp_path, local=True).check_author(local)
    for where, request in ((desk(tmp_path), local), (desk(tmp_path, local=True), REQUEST)):
        with pytest.raises(Refused, match="no actor is trusted"):
            where.check_author(request)


def test_a_request_of_another_tenant_is_refused_whatever_it_shows(tmp_path: Path) -> None:
    shown_token, _ = token(tmp_path, tenant=OTHER)
    with pytest.raises(Refused, match="another tenant"):
        desk(tmp_path, local=True).check_author(replace(REQUEST, token=shown_token, tenant_id=OTHER))
