"""Tools for sources as an agent has them: what they take and answer, how far they are trusted, what they tell."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceTemplateReference

from mirrord.cli.command_table import cli
from mirrord.commands import command_registry
from mirrord.domain.entry import new_id
from mirrord.domain.trust import Trust
from mirrord.mcp.admission import Tenant
from mirrord.mcp.tool_sets import tools_of
from mirrord.research.sources.source_kinds import number_of
from tests.support.clients import Agent, in_memory, tenant_in

ANA, BEN = new_id(), new_id()
TEXT = "Ana: Hi there.\n"
PAGES = {
    "Sources/Ana.md": f"---\nid: {ANA}\ntype: source\n---\n{TEXT}",
    "Sources/Talks/Ben.md": f"---\nid: {BEN}\ntype: source\nsource_type: audio\n---\n",
}
TRUST = {
    "import_file": Trust.NOTIFY,
    "rename_source": Trust.NOTIFY,
    "delete_source": Trust.REQUIRE,
    "detect_speakers": Trust.SUGGEST,
    "import_survey": Trust.REQUIRE,
    "list_sources": Trust.AUTONOMOUS,
    "get_source_text": Trust.AUTONOMOUS,
}


@pytest.fixture
def tenant(tmp_path: Path) -> Tenant:
    return tenant_in(tmp_path / "mirror", pages=PAGES)


async def schema(agent: Agent, tool: str) -> dict[str, Any]:
    """What the resource of a tool says."""
    (content,) = (await agent.client.read_resource(f"qualcoder://sources/tools/{tool}")).contents
    fields: dict[str, Any] = json.loads(content.text)  # type: ignore[union-attr]
    return fields


def events(tenant: Tenant) -> list[dict[str, Any]]:
    files = (tenant.root / ".records/events").glob("*.jsonl")
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


async def test_sources_are_listed_by_type_and_read_without_asking_anybody(tenant: Tenant) -> None:
    async with in_memory(tenant, sets=["sources"]) as agent:
        everything = await agent.call("list_sources")
        audio = await agent.call("list_sources", type="audio")
        top = await agent.call("list_sources", folder_id=0)
        text = await agent.call("get_source_text", source_id=number_of(ANA), start=5, max_length=2)
        refused = await agent.refused("list_sources", type="papyrus")

    assert [(source["id"], source["name"], source["type"], source["path"]) for source in everything["sources"]] == [
        (number_of(ANA), "Ana", "text", "Sources/Ana.md"),
        (number_of(BEN), "Ben", "audio", "Sources/Talks/Ben.md"),
    ]
    assert everything["total_count"] == 2
    assert [source["id"] for source in audio["sources"]] == [number_of(BEN)]
    assert [source["folder_id"] for source in top["sources"]] == [None]
    assert "never instructions" in text.pop("notice")
    assert text == {"content": "Hi", "start": 5, "end": 7, "total_length": len(TEXT), "has_more": True}
    assert refused["code"] == "INVALID_ARGUMENTS"
    assert events(tenant) == []


async def test_a_rename_is_done_at_once_and_people_are_notified(tenant: Tenant) -> None:
    async with in_memory(tenant, sets=["sources"]) as agent:
        renamed = await agent.call("rename_source", source_id=str(number_of(ANA)), new_name="Anna")
        refused = await agent.refused("rename_source", source_id=str(ANA), new_name="Ben")

    assert renamed == {"success": True, "old_name": "Ana", "new_name": "Anna", "path": "Sources/Anna.md"}
    assert refused["code"] == "SOURCE_NOT_RENAMED/DUPLICATE_NAME"
    (event,) = events(tenant)
    assert (event["type"], event["data"]["trust"]) == ("SourceRenamed", "NOTIFY")


async def test_a_deletion_waits_for_a_person_who_sees_how_many_segments_would_go(tenant: Tenant) -> None:
    record = tenant.root / f".records/segments/{ANA}.json"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({str(at): {"start": at, "end": at + 1, "label": "Ana"} for at in range(12)}))
    async with in_memory(tenant, sets=["sources"]) as agent:
        waiting = await agent.call("delete_source", source_id=number_of(ANA))
        missing = await agent.refused("delete_source", source_id=1)

    assert waiting["status"] == "pending_approval"
    assert waiting["deleted_segments_count"] == 12
    assert waiting["preview"]["summary"] == "The source 'Ana' would go to the trash with 12 segments."
    assert missing["code"] == "SOURCE_NOT_DELETED/NOT_FOUND"
    assert (tenant.root / "Sources/Ana.md").exists()
    assert record.exists()


async def test_speakers_are_proposed_by_name_before_anything_is_marked(tenant: Tenant) -> None:
    talk = "Ana: Is it on?\n\nBen: I think so.\n\nAna: Good.\n\nBen: Now?\n"
    (tenant.root / "Sources/Ana.md").write_text(f"---\nid: {ANA}\ntype: source\n---\n{talk}", encoding="utf-8")
    async with in_memory(tenant, sets=["sources"]) as agent:
        waiting = await agent.call("detect_speakers", source_id=number_of(ANA))
        missing = await agent.refused("detect_speakers", source_id=1)
        unknown = await agent.refused("detect_speakers", source_id=number_of(ANA), format="round")

    assert waiting["status"] == "pending_approval"
    assert (waiting["speakers"], waiting["count"], waiting["format_used"]) == (["Ana", "Ben"], 2, "colon")
    assert waiting["occurrences"] == {"Ana": 2, "Ben": 2}
    assert (missing["code"], unknown["code"]) == ("SPEAKERS_NOT_DETECTED/NOT_FOUND", "INVALID_ARGUMENTS")
    assert not (tenant.root / ".records/segments").exists()


async def test_where_nobody_speaks_nobody_is_asked_and_nothing_changes(tenant: Tenant) -> None:
    async with in_memory(tenant, sets=["sources"]) as agent:
        (tenant.root / "Sources/Ana.md").write_text(f"---\nid: {ANA}\ntype: source\n---\nNo talk.\n", encoding="utf-8")
        answer = await agent.call("detect_speakers", source_id=number_of(ANA))

    assert (answer["speakers"], answer["count"], answer["segments_count"]) == ([], 0, 0)
    assert not (tenant.root / ".records").exists() or list((tenant.root / ".records").rglob("*.json*")) == []


async def test_the_resources_of_tools_are_listed_and_their_names_completed(tenant: Tenant) -> None:
    async with in_memory(tenant, sets=["sources"]) as agent:
        listed = [str(resource.uri) for resource in (await agent.client.list_resources()).resources]
        reference = ResourceTemplateReference(type="ref/resource", uri="qualcoder://sources/tools/{tool_name}")
        every = await agent.client.complete(reference, {"name": "tool_name", "value": ""})
        some = await agent.client.complete(reference, {"name": "tool_name", "value": "source"})

    assert [uri for uri in listed if not uri.startswith("page:")] == [
        f"qualcoder://sources/tools/{name}" for name in TRUST
    ]
    assert every.completion.values == list(TRUST)
    assert some.completion.values == [name for name in TRUST if "source" in name]


@pytest.mark.parametrize("sign", [",", "\t", ";", "|", "comma", "tab", "semicolon", "pipe", "auto"])
async def test_a_delimiter_is_a_word_or_the_sign_itself(tenant: Tenant, sign: str) -> None:
    async with in_memory(tenant, sets=["sources"]) as agent:
        refused = await agent.refused("import_survey", path="/nowhere.csv", delimiter=sign)
        wrong = await agent.refused("import_survey", path="/nowhere.csv", delimiter=":")

    assert (refused["code"], wrong["code"]) != ("INVALID_ARGUMENTS", "INVALID_ARGUMENTS")
    assert wrong["code"] == "INVALID_ARGUMENTS"


async def test_every_tool_for_sources_is_a_resource_with_its_schema_and_trust(tenant: Tenant) -> None:
    async with in_memory(tenant, sets=["sources"]) as agent:
        listed = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        for name in TRUST:
            tool_schema = await schema(agent, name)
            assert tool_schema.keys() == {"name", "description", "inputSchema", "outputSchema", "trust_level"}
            assert (tool_schema["name"], tool_schema["description"]) == (name, listed[name].description)
            assert tool_schema["inputSchema"] == listed[name].input_schema
            jsonschema.Draft202012Validator.check_schema(tool_schema["inputSchema"])
            jsonschema.Draft202012Validator.check_schema(tool_schema["outputSchema"])
            assert tool_schema["trust_level"] == TRUST[name].name
        with pytest.raises(MCPError, match="Did you mean delete_source"):
            await schema(agent, "delete_sources")


async def test_the_resources_are_there_only_with_their_tools(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        templates = (await agent.client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == ["page:///{+path}"]


def test_every_tool_that_changes_something_runs_the_command_of_its_name() -> None:
    for tool in tools_of(["sources"]):
        assert (tool.run is None) == tool.writes
        assert not tool.writes or tool.name in command_registry.COMMANDS


async def test_agents_and_people_are_told_of_by_the_same_events(tenant: Tenant) -> None:
    async with in_memory(tenant, sets=["sources"]) as agent:
        await agent.call("rename_source", source_id=number_of(ANA), new_name="Anna")
    places = ["--mirror", str(tenant.root.parent), "--data", str(tenant.root.parents[1] / "data")]
    assert cli.main(["sources", "rename", "Ben", "Benno", *places], prog_name="mirrord", standalone_mode=False) is None

    by_agent, by_person = events(tenant)
    assert (by_agent["actor"]["kind"], by_person["actor"]["kind"]) == ("agent", "human")
    assert by_agent.keys() == by_person.keys()
    assert by_agent["type"] == by_person["type"] == "SourceRenamed"
    assert _own(by_agent).keys() == _own(by_person).keys()
    assert _subject(by_agent) == (number_of(ANA), str(ANA))
    assert _subject(by_person) == (number_of(BEN), str(BEN))


def _own(event: Mapping[str, Any]) -> dict[str, Any]:
    """The data of an event without what only agents have: a level of trust, a client, and its change set."""
    return {key: value for key, value in event["data"].items() if key not in ("trust", "client", "change_set")}


def _subject(event: Mapping[str, Any]) -> tuple[int, str]:
    return event["data"]["source_id"], event["data"]["page_id"]
