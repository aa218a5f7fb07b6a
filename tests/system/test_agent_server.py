"""The server as a process and as a protocol: who is served, what is listed, how it fails, what changes it tells."""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import (
    INVALID_PARAMS,
    PromptReference,
    ResourceTemplateReference,
    ServerNotification,
    TextContent,
    TextResourceContents,
)

from mirrord.auth.access_grant import Rights
from mirrord.auth.signed_tokens import Keyring, issue_token, signing_key
from mirrord.commands.core.session import Gate, Session
from mirrord.domain.entry import Actor
from mirrord.domain.trust import DEFAULTS, Trust
from mirrord.errors import Refused, UserError
from mirrord.mcp import served_resources
from mirrord.mcp.admission import Tenant
from mirrord.mcp.callers import Caller, Callers
from mirrord.mcp.prompts import instructions_for
from mirrord.mcp.refusals import TOKEN_REFUSED
from mirrord.mcp.tool_sets import ALL_SETS, SETS, tools_of
from mirrord.mirror.tree.tenant_tree import Tree
from tests.support import sealed
from tests.support.clients import in_memory, on_stdio, process, tenant_in

PAGES = {
    "Welcome.md": "---\ntitle: Welcome\n---\n\nSee [[Alpha]].\n",
    "Projects/_index.md": "---\ntitle: Projects\n---\n\n# Projects\n",
    "Projects/Alpha.md": "---\ntitle: Alpha\n---\n\n# Alpha\n\nDetails.\n",
    "Projects/Über uns.md": "# Über uns\n",
}
NAMES = [
    *("list_pages", "get_tree", "search_pages", "get_page_links", "read_page", "read_pages", "sync_status"),
    *(
        "find_pages",
        "write_page",
        "edit_page",
        "create_page",
        "add_attachment",
        "move_page",
        "delete_page",
        "restore_page",
    ),
]
PATIENCE = 60  # seconds
ROOT = Path(__file__).parents[2]
LEGACY, MODERN = "legacy", "2026-07-28"
both_eras = pytest.mark.parametrize("mode", [LEGACY, MODERN])


@pytest.fixture
def tenant(tmp_path: Path) -> Tenant:
    return tenant_in(tmp_path / "mirror", pages=PAGES)


def token(tmp_path: Path, tenant: Tenant, *, may_write: bool = True, hours: float = 1.0) -> tuple[str, str]:
    private = signing_key(tmp_path / "data", Keyring(tmp_path / "mirror"))
    expires = datetime.now(UTC) + timedelta(hours=hours)
    return issue_token(
        private, tenant.name, tenant.id, Actor("agent", "tester"), rights=Rights(may_write), expires=expires
    )


@both_eras
async def test_the_tools_are_listed_in_the_same_order_with_all_a_client_wants(tenant: Tenant, mode: str) -> None:
    async with in_memory(tenant, mode=mode) as agent:
        tools = (await agent.client.list_tools()).tools

    assert [tool.name for tool in tools] == NAMES
    for tool in tools:
        assert tool.title
        assert tool.description
        assert "Example: {" in tool.description
        assert tool.annotations is not None
        assert tool.input_schema["additionalProperties"] is False
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.output_schema is None  # decision 58
        assert (tool.meta or {}).get("mirrord/trust", "AUTONOMOUS") == DEFAULTS[tool.name].name


@pytest.mark.parametrize("level", Trust)
def test_every_tool_has_a_schema_of_its_answers_though_lists_leave_it_out(level: Trust) -> None:
    for tool in tools_of([ALL_SETS]):
        check_answer_schema(json.dumps(tool.result_for(level)))


@cache  # most schemas are the same at every level
def check_answer_schema(schema_json: str) -> None:
    schema = json.loads(schema_json)
    jsonschema.Draft202012Validator.check_schema(schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate({})


@both_eras
@pytest.mark.parametrize(
    ("sets", "goal", "measured"),
    [(["pages", "changes"], 16 * 1024, 16_246), ([ALL_SETS], 32 * 1024, 31_945)],  # bytes; of 2026-11-25
)
async def test_the_list_of_tools_keeps_its_budget(
    tenant: Tenant, mode: str, sets: list[str], goal: int, measured: int
) -> None:
    async with in_memory(tenant, mode=mode, sets=sets) as agent:
        listed = await agent.client.list_tools()

    wire = json.dumps(
        listed.model_dump(by_alias=True, mode="json", exclude_none=True), ensure_ascii=False, separators=(",", ":")
    )
    size = len(wire.encode())
    assert size <= goal, f"tools/list of {sets} takes {size} bytes; {measured} on 2026-11-25"


async def test_sets_are_served_together_in_their_own_order_and_pages_alone_by_default(tenant: Tenant) -> None:
    async with in_memory(tenant, sets=["collections", "pages"]) as agent:
        names = [tool.name for tool in (await agent.client.list_tools()).tools]
    async with in_memory(tenant) as agent:
        assert [tool.name for tool in (await agent.client.list_tools()).tools] == NAMES
        with pytest.raises(MCPError, match=r"Unknown tool: collection_list.+'collections'"):
            await agent.client.call_tool("collection_list", {})

    assert names == [tool.name for name in ("pages", "collections") for tool in SETS[name]()]


def test_every_tool_of_every_set_has_a_level_of_trust_and_is_in_one_set_only() -> None:
    names = [tool.name for tool in tools_of([ALL_SETS])]
    assert len(set(names)) == len(names)
    assert set(names) <= set(DEFAULTS)


@pytest.mark.parametrize("sets", [["pagse"], ["pages", "source"], []])
def test_a_set_that_does_not_exist_is_refused_with_those_that_do(sets: list[str]) -> None:
    with pytest.raises(UserError, match=r"there are pages, .*changes, attachments, restructure, and all"):
        tools_of(sets)


async def test_the_examples_in_descriptions_are_arguments_the_tools_take(tenant: Tenant) -> None:
    for tool in tools_of([ALL_SETS]):
        _, _, examples = tool.description.partition("Example: ")
        for example in examples.rstrip(".").split(" or "):
            jsonschema.validate(json.loads(example), tool.entry_for(DEFAULTS[tool.name]).input_schema)


async def test_reading_tools_say_so_and_nothing_claims_the_open_world(tenant: Tenant) -> None:
    for tool in tools_of([ALL_SETS]):
        annotations = tool.entry_for(DEFAULTS[tool.name]).annotations
        assert annotations is not None
        assert bool(annotations.read_only_hint) is not tool.writes
        assert annotations.open_world_hint is False
        assert annotations.destructive_hint is (tool.destructive if tool.writes else None)
        assert bool(annotations.idempotent_hint) is (tool.writes and tool.idempotent)


@pytest.mark.parametrize("name", SETS)
def test_the_instructions_of_every_set_take_at_most_1_kb_and_name_its_tools(name: str) -> None:
    text = instructions_for([name])
    assert len(text.encode()) <= 1024
    assert any(tool.name in text for tool in tools_of([name]))


@both_eras
async def test_an_unknown_tool_is_an_error_of_the_protocol_that_names_the_nearest(tenant: Tenant, mode: str) -> None:
    async with in_memory(tenant, mode=mode) as agent:
        with pytest.raises(MCPError, match=r"Unknown tool: readPage. Did you mean read_page\?") as refused:
            await agent.client.call_tool("readPage", {"path": "Welcome"})
    assert refused.value.error.code == -32602


async def test_an_unknown_argument_is_refused_with_the_nearest(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        refused = await agent.refused("read_page", file_path="Welcome.md")
    assert refused["error"] == "read_page has no argument 'file_path'; did you mean 'path'?"
    assert refused["code"] == "INVALID_ARGUMENTS"


async def test_a_failure_of_our_own_tells_nothing_of_the_inside(
    tenant: Tenant, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with in_memory(tenant) as agent:
        (tenant.root / "Welcome.md").unlink()
        (tenant.root / "Welcome.md").symlink_to("/etc/passwd")
        for call in ({"path": "Welcome.md"}, {"path": "../../etc/passwd"}, {"path": "\0"}):
            refused = await agent.refused("read_page", **call)
            assert str(tenant.root.parent) not in json.dumps(refused)
            assert "Traceback" not in json.dumps(refused)


async def test_a_token_that_may_read_sees_no_tool_that_writes(tenant: Tenant) -> None:
    async with in_memory(tenant, may_write=False) as agent:
        names = [tool.name for tool in (await agent.client.list_tools()).tools]
        refused = await agent.refused("write_page", path="Welcome.md", content="x")

    assert names == [tool.name for tool in tools_of(["pages"]) if not tool.writes]
    assert (refused["code"], refused["error_type"]) == ("READ_ONLY", "forbidden")
    assert (tenant.root / "Welcome.md").read_text(encoding="utf-8") == PAGES["Welcome.md"]


@pytest.mark.skipif(not sealed.is_possible(), reason="the calls of this machine are not known")
async def test_the_server_works_where_the_kernel_forbids_the_network(tenant: Tenant) -> None:
    async with on_stdio(process(tenant.root.parent, sealed=True)) as agent:
        page = await agent.call("read_page", path="Projects/Alpha")
        await agent.call("write_page", path="Projects/Alpha.md", content=page["content"] + "\nMore.\n")
        await agent.call("create_page", title="Beta", parentPath="Projects")
        await agent.call("search_pages", query="details")
        await agent.call("get_page_links", path="Projects/Alpha.md")
        await agent.call("sync_status")
        assert len((await agent.client.list_resources()).resources) == 5


def test_a_sealed_process_is_killed_when_it_opens_a_socket() -> None:
    command = [sys.executable, "-m", "tests.support.sealed", sys.executable, "-c", "import socket; socket.socket()"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode < 0


def test_the_server_never_imports_postgres() -> None:
    modules = "mirrord.cli.command_table, mirrord.cli.host.mcp_command, mirrord.mcp.server"
    source = f"import sys, {modules}; print([m for m in sys.modules if 'psycopg' in m])"
    completed = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("environment", "code", "sentence"),
    [
        ({"MIRRORD_TOKEN": "not.a.token"}, 4, "not one of mirrord's"),
        ({"MIRRORD_TOKEN_FILE": "missing"}, 2, "cannot be read"),
        ({"TENANT_ID": "other"}, 2, "no such tenant"),
    ],
)
def test_a_server_that_may_not_serve_says_why(
    tenant: Tenant, environment: dict[str, str], code: int, sentence: str
) -> None:
    parameters = process(tenant.root.parent, environment)
    completed = subprocess.run(
        [parameters.command, *parameters.args],
        cwd=parameters.cwd,
        env=parameters.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (completed.returncode, completed.stdout) == (code, "")
    assert sentence in completed.stderr
    assert "Traceback" not in completed.stderr


async def test_a_token_works_on_stdio_until_it_is_revoked(tenant: Tenant, tmp_path: Path) -> None:
    text, number = token(tmp_path, tenant)
    async with on_stdio(process(tenant.root.parent, {"MIRRORD_TOKEN": text, "MIRRORD_DSN": "host=nowhere"})) as agent:
        await agent.call("read_page", path="Welcome.md")
        Keyring(tmp_path / "mirror").revoke(number)
        refused = await agent.refused("read_page", path="Welcome.md")
    assert (refused["code"], refused["error"]) == ("TOKEN_REFUSED", "The token was revoked.")


async def test_every_method_says_in_the_protocols_form_that_a_token_was_revoked(tenant: Tenant, tmp_path: Path) -> None:
    text, number = token(tmp_path, tenant)
    reference = ResourceTemplateReference(type="ref/resource", uri=served_resources.PAGE_TEMPLATE)
    async with on_stdio(process(tenant.root.parent, {"MIRRORD_TOKEN": text}), mode=LEGACY) as agent:
        client = agent.client
        Keyring(tmp_path / "mirror").revoke(number)
        for ask in (
            client.list_tools,
            client.list_resources,
            client.list_prompts,
            partial(client.read_resource, "page:///Welcome.md"),
            partial(client.complete, reference, {"name": "path", "value": "Wel"}),
        ):
            with pytest.raises(MCPError, match="The token was revoked") as refused:
                await ask()
            assert (refused.value.error.code, refused.value.error.data["code"]) == (TOKEN_REFUSED, "TOKEN_REFUSED")


async def test_what_a_prompt_lacks_is_a_mistake_of_the_client(tenant: Tenant) -> None:
    async with in_memory(tenant, mode=LEGACY) as agent:
        with pytest.raises(MCPError, match="notes") as refused:
            await agent.client.get_prompt("file_notes", {})
    assert refused.value.error.code == INVALID_PARAMS


@both_eras
async def test_all_pages_are_listed_as_resources_part_by_part(tenant: Tenant, mode: str) -> None:
    for number in range(250):
        file = tenant.root / "Projects" / "Deep" / f"{number % 7}" / f"{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("# A page\n", encoding="utf-8")
    names, cursor = list[str](), None
    async with in_memory(tenant, mode=mode) as agent:
        while True:
            part = await agent.client.list_resources(cursor=cursor)
            assert len(part.resources) <= 100
            names += [resource.name for resource in part.resources]
            cursor = part.next_cursor
            if cursor is None:
                break
        with pytest.raises(MCPError, match="cursor") as refused:
            await agent.client.list_resources(cursor="nonsense")
    assert names[:4] == ["Projects/_index.md", "Projects/Alpha.md", "Projects/Über uns.md", "Welcome.md"]
    assert sorted(names) == sorted(str(file.relative_to(tenant.root)) for file in tenant.root.rglob("[!.]*.md"))
    assert refused.value.error.code == INVALID_PARAMS


async def test_clients_hear_of_pages_that_come_and_go_anywhere_in_a_large_tree(tenant: Tenant) -> None:
    deep = tenant.root / "Projects" / "Deep" / "Down"
    deep.mkdir(parents=True)
    for number in range(345):
        (deep / f"{number}.md").write_text("# A page\n", encoding="utf-8")
    changes: list[Callable[[], object]] = [
        lambda: (deep / "zz.md").write_text("# New\n", encoding="utf-8"),
        lambda: (deep / "zz.md").rename(deep / "zzz.md"),
        lambda: (deep / "zzz.md").unlink(),
    ]
    async with in_memory(tenant, mode=MODERN) as agent:
        with anyio.fail_after(PATIENCE):
            async with agent.client.listen(resource_subscriptions=[ANY_PAGE], resources_list_changed=True) as events:
                heard: object = None
                for number in itertools.count():  # until it is watched
                    (tenant.root / "Welcome.md").write_text(f"# Changed {number}\n", encoding="utf-8")
                    with anyio.move_on_after(1.0):
                        heard = await anext(events)
                        break
                assert heard == ResourceUpdated(uri=ANY_PAGE)
                for change in changes:
                    change()
                    while (heard := await anext(events)) == ResourceUpdated(uri=ANY_PAGE):
                        continue  # of an earlier change of Welcome
                    assert heard == ResourcesListChanged()


async def test_nobody_is_told_of_changes_after_the_token_was_revoked(tenant: Tenant) -> None:
    session = Session(Tree(tenant.root), tenant.name, tenant.id, Actor("agent", "tester"), "mcp-revoked")
    revoked = False

    def still_holds() -> None:
        if revoked:
            raise Refused("The token was revoked.")

    callers = Callers(Caller(session, Gate(), may_write=True, still_holds=still_holds))
    assert callers.may_notify()
    revoked = True
    assert not callers.may_notify()
    callers.close()


ANY_PAGE = "page:///Welcome.md"


@both_eras
async def test_a_page_is_a_resource(tenant: Tenant, mode: str) -> None:
    async with in_memory(tenant, mode=mode) as agent:
        listed = (await agent.client.list_resources()).resources
        (template,) = (await agent.client.list_resource_templates()).resource_templates
        (content,) = (await agent.client.read_resource("page:///Projects/%C3%9Cber%20uns.md")).contents

    assert [(resource.uri, resource.title) for resource in listed] == [
        ("page:///Projects/_index.md", "Projects"),
        ("page:///Projects/Alpha.md", "Alpha"),
        ("page:///Projects/%C3%9Cber%20uns.md", "Über uns"),
        ("page:///Welcome.md", "Welcome"),
    ]
    assert template.uri_template == "page:///{+path}"
    assert isinstance(content, TextResourceContents)
    assert (content.text, content.mime_type) == (PAGES["Projects/Über uns.md"], "text/markdown")


@pytest.mark.parametrize(
    "uri",
    [
        "page:///Nowhere.md",
        "page:///../other/A.md",
        "page:///%2e%2e/A.md",
        "page:////etc/passwd",
        "page:///.mirrord/id",
    ],
)
async def test_what_is_no_page_is_no_resource(tenant: Tenant, uri: str) -> None:
    async with in_memory(tenant) as agent:
        with pytest.raises(MCPError) as refused:
            await agent.client.read_resource(uri)
    assert refused.value.error.code == -32602
    assert str(tenant.root.parent) not in refused.value.error.message


async def test_paths_are_completed(tenant: Tenant) -> None:
    reference = ResourceTemplateReference(type="ref/resource", uri=served_resources.PAGE_TEMPLATE)
    async with in_memory(tenant) as agent:
        completion = await agent.client.complete(reference, {"name": "path", "value": "proj"})
        inside = await agent.client.complete(reference, {"name": "path", "value": "alpha"})
        prompt = PromptReference(type="ref/prompt", name="review_page")
        argument = await agent.client.complete(prompt, {"name": "path", "value": "Wel"})
        (tenant.root / "Projects" / "x1.md").write_text("---\ntitle: Quarterly figures\n---\n", encoding="utf-8")
        titled = await agent.client.complete(reference, {"name": "path", "value": "quarterly f"})

    assert completion.completion.values == ["Projects/Alpha.md", "Projects/_index.md", "Projects/Über uns.md"]
    assert inside.completion.values == ["Projects/Alpha.md"]
    assert argument.completion.values == ["Welcome.md"]
    assert titled.completion.values == ["Projects/x1.md"]


async def test_an_unknown_prompt_is_a_mistake_of_the_client(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        with pytest.raises(MCPError, match="Did you mean review_page") as refused:
            await agent.client.get_prompt("review_pages", {})
    assert refused.value.error.code == INVALID_PARAMS


async def test_prompts_take_what_a_person_says(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        listed = (await agent.client.list_prompts()).prompts
        prompt = await agent.client.get_prompt("answer_from_pages", {"question": "When does Alpha start?"})

    assert [prompt.name for prompt in listed] == ["answer_from_pages", "file_notes", "review_page"]
    (message,) = prompt.messages
    assert isinstance(message.content, TextContent)
    assert "When does Alpha start?" in message.content.text


async def test_streams_of_the_newest_protocol_hear_of_changed_pages(tenant: Tenant) -> None:
    uri = "page:///Projects/Alpha.md"
    async with in_memory(tenant, mode=MODERN) as agent:
        with anyio.fail_after(PATIENCE):
            async with agent.client.listen(resource_subscriptions=[uri], resources_list_changed=True) as events:
                await agent.call("read_page", path="Projects/Alpha.md")
                (tenant.root / "Projects" / "Alpha.md").write_text("# Changed\n", encoding="utf-8")
                assert await anext(events) == ResourceUpdated(uri=uri)
                (tenant.root / "New.md").write_text("# New\n", encoding="utf-8")
                async for event in events:
                    if event == ResourcesListChanged():
                        break


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_clients_of_the_handshake_era_hear_of_changed_pages(tenant: Tenant) -> None:
    heard: list[Any] = []
    arrived = anyio.Event()

    async def hear(message: object) -> None:
        nonlocal arrived
        if isinstance(message, ServerNotification):
            heard.append(message)
            arrived.set()
            arrived = anyio.Event()

    async def until(method: str) -> None:
        with anyio.fail_after(PATIENCE):
            while not any(message.method == method for message in heard):
                await arrived.wait()

    async with on_stdio(process(tenant.root.parent), mode=LEGACY, message_handler=hear) as agent:
        capabilities = agent.client.server_capabilities
        assert capabilities is not None
        assert capabilities.resources is not None
        assert (capabilities.resources.subscribe, capabilities.resources.list_changed) == (True, True)
        await agent.client.subscribe_resource("page:///Welcome")
        (tenant.root / "Welcome.md").write_text("# Changed\n", encoding="utf-8")
        await until("notifications/resources/updated")
        (tenant.root / "New.md").write_text("# New\n", encoding="utf-8")
        await until("notifications/resources/list_changed")


async def test_a_server_ends_when_its_client_goes(tenant: Tenant) -> None:
    parameters = process(tenant.root.parent)
    process_ = await anyio.open_process([parameters.command, *parameters.args], cwd=parameters.cwd, env=parameters.env)
    assert process_.stdin is not None
    await process_.stdin.aclose()
    with anyio.fail_after(PATIENCE):
        assert await process_.wait() == 0


async def test_a_read_is_answered_before_searches_that_were_asked_for_earlier_and_writes_keep_their_order(
    tenant: Tenant,
) -> None:
    for number in range(400):
        (tenant.root / f"Page {number}.md").write_text(f"# Page\n\nA word, {number}.\n" * 50, encoding="utf-8")
    answered = list[str]()
    async with on_stdio(process(tenant.root.parent)) as agent:
        await agent.call("read_page", path="Welcome.md")

        async def ask(name: str, tool: str, **arguments: Any) -> None:
            await agent.call(tool, **arguments)
            answered.append(name)

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for number in range(12):
                    tasks.start_soon(partial(ask, "search", "search_pages", query=f"w.r.*{number}", regex=True))
                tasks.start_soon(partial(ask, "read", "read_page", path="Page 7.md"))
                for number in range(12):
                    content = f"# {number}\n"
                    tasks.start_soon(partial(ask, f"write {number}", "write_page", path="Welcome.md", content=content))
    assert answered.index("read") < max(at for at, name in enumerate(answered) if name == "search")
    assert [name for name in answered if name.startswith("write")] == [f"write {number}" for number in range(12)]
    assert (tenant.root / "Welcome.md").read_text(encoding="utf-8").endswith("# 11\n")
