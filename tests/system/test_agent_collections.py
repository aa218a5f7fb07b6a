"""The tools for collections as their document asks for them, requirement by requirement, through the protocol."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mirrord.commands.core.session import Gate
from mirrord.domain.trust import DEFAULTS, Trust, trust_levels
from mirrord.errors import Refused
from mirrord.mcp.admission import Tenant
from mirrord.mcp.prompts import instructions_for
from mirrord.mcp.tool_sets import tools_of
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write.tree_locks import records_lock
from tests.support.clients import Agent, in_memory, on_stdio, process, tenant_in

PAGES = {"Books/A.md": "a", "Books/novels/B.md": "b", "Poems/C.md": "c"}
READING = {"name": "reading", "categories": ["books"], "description": "what I read"}


@pytest.fixture(autouse=True, scope="module")
def _prepared() -> None:
    prepare_process()


@pytest.fixture
def tenant(tmp_path: Path) -> Tenant:
    return tenant_in(tmp_path / "mirror", pages=PAGES)


@asynccontextmanager
async def prepared(tenant: Tenant) -> AsyncIterator[Agent]:
    """An agent, two categories and a collection."""
    async with in_memory(tenant, sets=["collections"]) as connected:
        await connected.call("category_add", name="books", dir="Books")
        await connected.call("category_add", name="poems", dir="Poems", patterns=["*.md"])
        await connected.call("collection_add", **READING)
        yield connected


async def refused(agent: Agent, error_type: str, tool: str, **arguments: Any) -> dict[str, Any]:
    refusal = await agent.refused(tool, **arguments)
    assert refusal["error_type"] == error_type
    assert refusal["instruction"]
    return refusal


async def test_list_collections_successfully(tenant: Tenant) -> None:
    async with prepared(tenant) as agent:
        await agent.call("collection_add", name="later")
        listed = await agent.call("collection_list")
        assert listed == {"success": True, "value": [READING, {"name": "later", "categories": [], "description": None}]}
        verbose = (await agent.call("collection_list", verbose=True))["value"][0]
        assert verbose == {**READING, "path": ".records/collections/reading.yaml", "created": verbose["created"]}


async def test_add_collection_successfully(tenant: Tenant) -> None:
    async with prepared(tenant) as agent:
        added = await agent.call(
            "collection_add", name="all", description="both", categories=["poems", "books", "poems"]
        )
        assert added == {
            "success": True,
            "value": {"name": "all", "categories": ["poems", "books"], "description": "both"},
        }
        assert "- poems\n  - books\n" in (tenant.root / ".records/collections/all.yaml").read_text()


async def test_add_collection_refuses_a_name_twice_a_bad_name_and_missing_categories(tenant: Tenant) -> None:
    async with prepared(tenant) as agent:
        await refused(agent, "already_exists", "collection_add", name="Reading")
        await refused(agent, "invalid_name", "collection_add", name="-x")
        await refused(agent, "category_not_found", "collection_add", name="x", categories=["nothing"])
        assert len((await agent.call("collection_list"))["value"]) == 1


async def test_remove_collection_successfully(tenant: Tenant) -> None:
    async with prepared(tenant) as agent:
        removed = await agent.call("collection_remove", name="reading")
        assert (removed["success"], removed["value"]) == (True, READING)
        assert not (tenant.root / ".records/collections/reading.yaml").exists()
        await refused(agent, "not_found", "collection_remove", name="reading")


async def test_change_collection_successfully(tenant: Tenant) -> None:
    async with prepared(tenant) as agent:
        changed = await agent.call(
            "collection_change", name="reading", new_name="verse", description="", categories=["poems"]
        )
        assert changed["value"] == {"name": "verse", "categories": ["poems"], "description": None}
        await agent.call("collection_add", name="other")
        await refused(agent, "not_found", "collection_change", name="reading", description="x")
        await refused(agent, "name_conflict", "collection_change", name="verse", new_name="OTHER")
        await refused(agent, "invalid_name", "collection_change", name="verse", new_name="a b")
        await refused(agent, "category_not_found", "collection_change", name="verse", categories=["books", "no"])


async def test_update_collection_successfully(tenant: Tenant) -> None:
    async with prepared(tenant) as agent:
        updated = await agent.call(
            "collection_update", name="reading", add_categories=["poems"], remove_categories=["books", "absent"]
        )
        assert updated["value"] == {**READING, "categories": ["poems"]}
        await refused(agent, "not_found", "collection_update", name="x", add_categories=["poems"])
        await refused(agent, "category_not_found", "collection_update", name="reading", add_categories=["no"])


async def test_validate_collection_name(tenant: Tenant) -> None:
    async with prepared(tenant) as agent:
        for name in ("", "a" * 31, "-a", "a_", "a b", "a.b", "é", "../a"):
            await refused(agent, "invalid_name", "collection_add", name=name)
        await agent.call("collection_add", name="A-1_b")


async def test_validate_description(tenant: Tenant) -> None:
    async with prepared(tenant) as agent:
        for tool in ("collection_add", "category_add"):
            await refused(agent, "description_too_long", tool, name="x", description="x" * 501)
            for description in ("it's", 'a "b"', "bell\x07"):
                await refused(agent, "invalid_characters", tool, name="x", description=description)
            await agent.call(tool, name="x", description="é" * 500)
            await agent.call(tool, name="y", description="")
            await agent.call(tool, name="z")


async def test_validate_category_references_names_all_that_are_missing(tenant: Tenant) -> None:
    async with prepared(tenant) as agent:
        refusal = await refused(
            agent, "category_not_found", "collection_add", name="x", categories=["one", "books", "two"]
        )
        assert refusal["missing"] == ["one", "two"]
        assert "'one', 'two'" in refusal["error"]


async def test_auto_save_configuration_another_process_sees_every_change_at_once(tenant: Tenant) -> None:
    async with (
        on_stdio(process(tenant.root.parent, None, "--tools", "pages,collections")) as first,
        in_memory(tenant, sets=["collections"]) as other,
    ):
        names = [tool.name for tool in (await first.client.list_tools()).tools]
        assert {"list_pages", "collection_add"} <= set(names)
        await first.call("category_add", name="books", dir="Books")
        await first.call("collection_add", **READING)
        assert (await other.call("collection_list"))["value"] == [READING]
        await first.call("collection_update", name="reading", remove_categories=["books"])
        assert (await other.call("collection_list"))["value"] == [{**READING, "categories": []}]


async def test_auto_save_is_never_a_success_without_the_lock_or_the_file(tenant: Tenant) -> None:
    async with prepared(tenant) as agent:
        tree = Tree(tenant.root)
        with records_lock(tree):
            await refused(agent, "lock_error", "collection_add", name="x")
        tree.close()
        file = tenant.root / ".records/collections/reading.yaml"
        file.write_text("categories: [\n")
        await refused(agent, "write_error", "collection_update", name="reading", add_categories=["poems"])
        assert file.read_text() == "categories: [\n"
        listed = await agent.call("collection_list")
        assert listed["value"] == []
        assert "line 2" in listed["message"]


async def test_return_result_pattern(tenant: Tenant) -> None:
    async with prepared(tenant) as agent:
        for tool in tools_of(["collections"]):
            schema = tool.result_for(DEFAULTS[tool.name])
            answer = await agent.reply(tool.name, {"name": "reading"} if tool.name.endswith("content") else {})
            jsonschema.validate(answer.structured_content, schema)
        failed = await refused(agent, "not_found", "collection_remove", name="x")
        assert failed.keys() >= {"success", "error", "error_type", "instruction"}


async def test_define_argument_schemas() -> None:
    for tool in tools_of(["collections"]):
        listed = tool.entry_for(DEFAULTS[tool.name])
        assert listed.input_schema["additionalProperties"] is False
        assert ("name" in listed.input_schema.get("required", ())) is not tool.name.endswith("_list")
        for argument in listed.input_schema["properties"].values():
            assert argument["type"] in ("string", "boolean", "array")
        assert "Example: {" in (listed.description or "")


async def test_use_session_management_without_a_session_every_tool_says_how_to_get_one(tenant: Tenant) -> None:
    async with prepared(tenant) as agent:

        def revoked() -> None:
            raise Refused("The token was revoked.")

        async with in_memory(tenant, sets=["collections"], still_holds=revoked) as stranger:
            for tool in tools_of(["collections"]):
                refusal = await refused(stranger, "no_session", tool.name, name="x")
                assert "mirrord tenant token" in refusal["instruction"]
        assert (await agent.call("collection_list"))["value"] == [READING]


async def test_distinguish_change_vs_update(tenant: Tenant) -> None:
    async with prepared(tenant) as agent:
        await agent.call("collection_change", name="reading", categories=["poems"])
        assert (await agent.call("collection_list"))["value"] == [{**READING, "categories": ["poems"]}]
        await agent.call("collection_update", name="reading", add_categories=["books"])
        assert (await agent.call("collection_list"))["value"] == [{**READING, "categories": ["poems", "books"]}]
        refusal = await agent.refused("collection_update", name="reading", new_name="x")
        assert refusal["error"] == "collection_update has no argument 'new_name'."


async def test_categories_have_the_same_five_verbs_and_collections_follow(tenant: Tenant) -> None:
    async with prepared(tenant) as agent:
        added = await agent.call("category_add", name="novels", dir="books", patterns='["novels/**"]')
        assert added["value"] == {"name": "novels", "dir": "Books", "patterns": ["novels/**"], "description": None}
        changed = await agent.call("category_change", name="books", new_name="shelf", patterns=["*.md"])
        assert changed["message"] == "Collections that follow: reading."
        updated = await agent.call("category_update", name="shelf", add_patterns=["!novels/"], remove_patterns=["x"])
        assert updated["value"]["patterns"] == ["*.md", "!novels/"]
        assert [category["name"] for category in (await agent.call("category_list"))["value"]] == [
            "shelf",
            "poems",
            "novels",
        ]
        assert (await agent.call("collection_content", name="reading"))["value"] == {
            "name": "reading",
            "pages": [
                {
                    "path": "Books/A.md",
                    "title": "A",
                    "page_id": (await agent.call("collection_content", name="reading"))["value"]["pages"][0]["page_id"],
                    "category": "shelf",
                }
            ],
            "total_count": 1,
        }
        await agent.call("category_remove", name="shelf")
        assert (await agent.call("collection_list"))["value"] == [{**READING, "categories": []}]
        await refused(agent, "not_found", "category_remove", name="shelf")
        await refused(agent, "name_conflict", "category_change", name="poems", new_name="novels")
        await refused(agent, "forbidden", "category_add", name="x", dir="../rival")


async def test_what_an_operator_lets_people_decide_is_shown_to_them_and_not_done(tenant: Tenant) -> None:
    async with prepared(tenant):
        pass
    raised = Gate(trust_levels({"category_change": "SUGGEST"}))
    async with in_memory(tenant, sets=["collections"], gate=raised) as agent:
        pending = await agent.call("category_change", name="books", new_name="shelf")
        assert pending["status"] == "pending_approval"
        assert pending["also_changed"] == ["reading"]
        assert "+  - shelf" in pending["preview"]["lines"]
        assert (await agent.call("collection_list"))["value"] == [READING]


def test_lists_and_content_are_autonomous_and_the_others_are_notified() -> None:
    for tool in tools_of(["collections"]):
        assert DEFAULTS[tool.name] is (Trust.NOTIFY if tool.writes else Trust.AUTONOMOUS)
    assert "People are notified of changes." in instructions_for(["collections"])
