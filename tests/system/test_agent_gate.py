"""The trust gate as clients see it: what tools say of themselves, what waits, what a person approves in the client."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequestParams, ElicitResult, ResourceTemplateReference

from mirrord.commands.command_registry import COMMANDS
from mirrord.commands.core.session import Gate
from mirrord.domain.approval import Answer, RequestState
from mirrord.domain.trust import DEFAULTS, Limits, trust_levels
from mirrord.mcp import served_resources
from mirrord.mcp.admission import Tenant
from mirrord.mcp.refusals import BUSY
from mirrord.mcp.tool_sets import ALL_SETS, tools_of
from mirrord.mcp.tools.move_tools import DELETE_PAGE
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import request_files
from tests.support.clients import in_memory, tenant_in
from tests.unit.commands.conftest import events

RAISED = trust_levels({"delete_page": "REQUIRE"})
PAGE = ResourceTemplateReference(type="ref/resource", uri=served_resources.PAGE_TEMPLATE)
CALL = {"path": "Alpha.md"}
LEGACY, MODERN = "legacy", "2026-07-28"
both_eras = pytest.mark.parametrize("mode", [LEGACY, MODERN])


@pytest.fixture
def tenant(tmp_path: Path) -> Tenant:
    return tenant_in(tmp_path / "mirror", pages={"Alpha.md": "one\n"})


OUTSIDE_TREE = ("begin_changes", "discard_changes", "undo_changes")  # the daemon carries out the last


def test_every_tool_that_writes_goes_through_the_gate() -> None:
    tools = tools_of([ALL_SETS])
    assert {tool.name for tool in tools if tool.writes and tool.name not in OUTSIDE_TREE} == {
        tool.name for tool in tools if tool.run is None
    }
    assert {tool.name for tool in tools if tool.run is None} <= COMMANDS.keys()
    assert COMMANDS.keys() <= DEFAULTS.keys()


@both_eras
async def test_tools_tell_the_level_that_an_operator_gave_them(tenant: Tenant, mode: str) -> None:
    async with in_memory(tenant, mode=mode, gate=Gate(RAISED)) as agent:
        listed = {tool.name: tool for tool in (await agent.client.list_tools()).tools}

    assert (listed["delete_page"].meta or {})["mirrord/trust"] == "REQUIRE"
    assert "A person decides first" in (listed["delete_page"].description or "")
    assert (listed["move_page"].meta or {})["mirrord/trust"] == "NOTIFY"
    assert "A person decides first" not in (listed["move_page"].description or "")


async def test_a_tool_that_only_reads_is_closed_to_agents_where_an_operator_raised_it(tenant: Tenant) -> None:
    async with in_memory(tenant, gate=Gate(trust_levels({"read_page": "SUGGEST"}))) as agent:
        listed = [tool.name for tool in (await agent.client.list_tools()).tools]
        refused = await agent.refused("read_page", **CALL)

    assert "read_page" not in listed
    assert refused["code"] == "NOT_ALLOWED"


@both_eras
async def test_a_call_that_waits_is_no_error_and_tells_how_it_goes_on(tenant: Tenant, mode: str) -> None:
    async with in_memory(tenant, mode=mode, gate=Gate(RAISED)) as agent:
        pending = await agent.call("delete_page", **CALL)
        again = await agent.call("delete_page", **CALL)

    assert pending == again
    assert pending["status"] == "pending_approval"
    assert pending["deleted_pages_count"] == 1
    assert pending["preview"]["summary"] == "The page Alpha.md would go to the trash."
    assert "mirrord approvals" in pending["instruction"]
    jsonschema.validate(pending, DELETE_PAGE.result_for(RAISED["delete_page"]))
    assert (tenant.root / "Alpha.md").exists()


async def test_the_outcome_looks_as_if_the_call_had_just_been_made(tenant: Tenant) -> None:
    async with in_memory(tenant, gate=Gate(RAISED)) as agent:
        pending = await agent.call("delete_page", **CALL)
        _conclude(tenant, pending["request_id"])

        outcome = await agent.call("delete_page", **CALL)

    assert outcome == {"deleted": True, "pageId": "p", "trashId": "t", "pages": 2, "below": {"Alpha/B.md": "u"}}


async def test_too_many_calls_are_told_how_long_to_wait(tenant: Tenant) -> None:
    async with in_memory(tenant, gate=Gate(DEFAULTS, Limits(calls=20))) as agent:
        for _ in range(20):
            await agent.reply("read_page", CALL)
        refused = await agent.refused("read_page", **CALL)

    assert refused["code"] == "RATE_LIMITED"
    assert 0 < refused["seconds"] <= 60


@pytest.mark.filterwarnings("ignore:ping is removed")
@both_eras
async def test_whatever_a_client_asks_for_counts_but_pings(tenant: Tenant, mode: str) -> None:
    requests: dict[str, Callable[[Client], Awaitable[object]]] = {
        "resources/read": lambda client: client.read_resource("page:///Alpha.md"),
        "resources/list": lambda client: client.list_resources(),
        "resources/templates/list": lambda client: client.list_resource_templates(),
        "tools/list": lambda client: client.list_tools(),
        "prompts/list": lambda client: client.list_prompts(),
        "prompts/get": lambda client: client.get_prompt("review_page", {"path": "Alpha.md"}),
        "completion/complete": lambda client: client.complete(PAGE, {"name": "path", "value": "A"}),
    }
    async with in_memory(tenant, mode=mode, gate=Gate(DEFAULTS, Limits(calls=50))) as agent:
        if mode == "legacy":
            for _ in range(60):
                await agent.client.send_ping()
        for _ in range(50):
            await agent.reply("read_page", CALL)
        for ask in requests.values():
            with pytest.raises(MCPError, match="Too many calls in a minute") as refused:
                await ask(agent.client)
            assert refused.value.error.code == BUSY
            assert refused.value.error.data["code"] == "RATE_LIMITED"
            assert 0 < refused.value.error.data["seconds"] <= 60


@both_eras
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
async def test_a_person_may_approve_in_the_client_where_an_operator_allows_it(
    tenant: Tenant, mode: str, action: Any
) -> None:
    questions = []

    async def answer(_: ClientRequestContext, question: ElicitRequestParams) -> ElicitResult:
        questions.append(question.message)
        return ElicitResult(action=action, content={} if action == "accept" else None)

    gate = Gate(RAISED, elicits=True)
    async with in_memory(tenant, mode=mode, gate=gate, elicitation_callback=answer) as agent:
        result = await agent.reply("delete_page", CALL)

    content = result.structured_content or {}
    assert [question.splitlines()[0] for question in questions] == ["The page Alpha.md would go to the trash."]
    assert (tenant.root / "Alpha.md").exists() is (action != "accept")
    if action == "accept":
        assert content["deleted"] is True
        ((_, data),) = events(tenant.root)
        assert (data["trust"], data["channel"]) == ("REQUIRE", "elicitation")
    elif action == "decline":
        assert content["code"] == "REJECTED"
        assert not (tenant.root / ".records/approvals").exists()
    else:
        assert content["status"] == "pending_approval"


async def test_a_person_is_not_asked_in_the_client_unless_an_operator_allows_it(tenant: Tenant) -> None:
    async def answer(_: ClientRequestContext, question: ElicitRequestParams) -> ElicitResult:
        raise AssertionError(question.message)

    async with in_memory(tenant, mode=LEGACY, gate=Gate(RAISED), elicitation_callback=answer) as agent:
        pending = await agent.call("delete_page", **CALL)

    assert pending["status"] == "pending_approval"


def _conclude(tenant: Tenant, request: str) -> None:
    """What the daemon does in the end."""
    tree = Tree(tenant.root)
    for stored, answer in request_files.read_all(tree):
        assert str(stored.id) == request
        result = {"page_id": "p", "trash_id": "t", "path": "Alpha.md", "below": {"Alpha/B.md": "u"}}
        request_files.write(tree, stored, Answer(RequestState.EXECUTED, answer.expires_at, answer.preview, result))
    tree.close()
