"""
A scope never leaks: an agent gets the same answers whether what its scope hides exists or not.

Each attempt is made in two trees that differ in the hidden pages only.
"""

import base64
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceTemplateReference, ServerNotification

from mirrord.auth.access_grant import Rights
from mirrord.auth.signed_tokens import Keyring, issue_token, signing_key
from mirrord.cli.host.token_commands import token
from mirrord.commands.core.session import Gate
from mirrord.domain.entry import Actor, id_of_path
from mirrord.domain.scope import parse_scope
from mirrord.domain.trust import Limits, trust_levels
from mirrord.domain.write_rules import parse_write_rules
from mirrord.errors import Refused, UserError
from mirrord.mcp.admission import Tenant
from mirrord.mcp.served_resources import PAGE_TEMPLATE
from mirrord.mcp.tool_sets import tools_of
from mirrord.mcp.tools.scoped_tools import ASKING_TOOLS, SCOPED_TOOLS
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import request_files
from tests.support.clients import in_memory, on_stdio, process
from tests.support.scoped_worlds import ScopedWorlds, make_worlds, normalize_answer

SCOPE = parse_scope(["Inbox/**"], ["Projects/**"], ["Inbox/Secret/**", "Projects/Private"])
CANARY = "canary"
SETS = ("pages", "attachments", "changes", "collections", "sources", "restructure")
PAGES = {
    "Inbox/_index.md": "---\ntitle: Inbox\ntags: [work]\n---\n\nNewest first.\n",
    "Inbox/Todo.md": "# Todo\n\n[[Plan]], [[Salary]], [[Old]], [[Secret]] and [[Alpha]].\n",
    "Inbox/Draft.md": "---\ntitle: Draft\nstatus: open\n---\n\n# Draft\n\nSee [[Todo]] and [key](Secret/Key.md).\n",
    "Inbox/Deep/Note.md": "# Note\n\n![](../assets/pic.txt)\n",
    "Inbox/Deep/Other.md": "# Other\n",
    "Inbox/assets/pic.txt": "a picture",
    "Projects/Alpha.md": "---\ntitle: Alpha\nstatus: open\n---\n\n# Alpha\n\n[[Todo]] is due.\n",
    "Inbox/Long.md": "# Long\n\n[[#Plan]]\n\n## Secret\n\nMine.\n\n## Plan\n\nMine.\n",
    "Projects/assets/doc.txt": "a document",
    "Projects.md": "# Projects\n",
    # hidden from here on
    "Inbox/Secret.md": f"# Secret\n\n{CANARY} one\n",
    "Inbox/Secret/Key.md": f"# Key\n\n{CANARY} two [[Todo]] [draft](../Draft.md) [[Long#Plan]]\n",
    "Inbox/Secret/Salary.md": f"---\ntags: [{CANARY}, work]\nsalary: 9\n---\n\n[[Draft]] [[Todo]]\n",
    "Inbox/Secret/assets/pic.txt": f"{CANARY} three",
    "Projects/Private.md": f"# Private\n\n{CANARY} four [[Alpha]]\n",
    "Projects/Private/Plan.md": f"# Plan\n\n{CANARY} five\n",
    "Archive/Todo.md": f"# Todo\n\n{CANARY} six [[Alpha]]\n",
    "Archive/Old.md": f"---\nstatus: open\n---\n\n{CANARY} seven ![](../Inbox/assets/pic.txt)\n",
    "Archive/assets/own.txt": f"{CANARY} eight",
    "Secret plan.md": f"# Secret plan\n\n{CANARY} nine\n",
}
HIDDEN_PLACES = ("Inbox/Secret", "Inbox/Secret/Key.md", "Archive/Old")
TOOLS = tools_of(SETS)
TRUSTED_TOOLS = ("apply_changes",)  # a draft needs the level of what was done in it
PATIENCE_SECONDS = 60
FILE = base64.b64encode(b"bytes").decode()


def _attempts_at(place: str) -> list[tuple[str, dict[str, Any]]]:
    """Every way to learn about a place, or to change it."""
    stem = place.removesuffix(".md")
    return [
        ("read_page", {"path": place}),
        ("read_page", {"path": stem.upper()}),
        ("read_page", {"path": place, "outline": True}),
        ("read_page", {"path": place, "version": 1}),
        ("read_pages", {"paths": [place, f"{stem}/_index.md", "Inbox/Todo.md"]}),
        ("list_pages", {"path": stem}),
        ("get_tree", {"path": stem}),
        ("search_pages", {"query": "todo", "path": stem}),
        ("find_pages", {"path": stem}),
        ("get_page_links", {"path": place}),
        ("sync_status", {"path": place}),
        ("list_attachments", {"path": place}),
        ("read_attachment", {"path": f"{stem}/assets/pic.txt"}),
        ("edit_page", {"path": place, "edits": [{"append": "- more"}]}),
        ("edit_page", {"path": place, "edits": [{"find": CANARY, "replace": "x"}], "dryRun": True}),
        ("write_page", {"path": place, "content": "# Mine\n"}),
        ("write_page", {"path": place, "content": "# Mine\n", "expectedDigest": "0" * 64}),
        ("write_page", {"path": f"{stem}/Below.md", "content": "# Mine\n"}),
        ("create_page", {"title": "Below", "parentPath": place}),
        ("create_page", {"title": stem.rpartition("/")[2], "parentPath": stem.rpartition("/")[0]}),
        (
            "create_page",
            {"title": stem.rpartition("/")[2], "parentPath": stem.rpartition("/")[0], "unlessExists": True},
        ),
        ("add_attachment", {"pagePath": place, "base64": FILE, "fileName": "a.txt"}),
        ("move_page", {"sourcePath": place, "destinationPath": "Inbox/Mine.md"}),
        ("move_page", {"sourcePath": "Inbox/Deep/Other.md", "destinationPath": place}),
        ("move_page", {"sourcePath": "Inbox/Deep/Other.md", "destinationPath": f"{stem}/"}),
        ("delete_page", {"path": place}),
        ("delete_page", {"path": stem, "recursive": True}),
        ("restore_page", {"trashId": "0123456789abcdef", "path": place}),
        ("merge_pages", {"paths": [place], "into": "Inbox/Todo.md"}),
        ("merge_pages", {"paths": ["Inbox/Deep/Other.md"], "into": place}),
        ("merge_pages", {"paths": ["Inbox/Deep/Other.md", stem], "into": "Inbox/Todo.md"}),
        ("split_page", {"path": place, "level": 1}),
        ("split_page", {"path": "Inbox/Long.md", "level": 2, "parentPath": stem}),
        ("rename_heading", {"path": place, "heading": stem.rpartition("/")[2], "to": "Mine"}),
        ("page_history", {"path": place}),
        ("diff_page", {"path": place}),
        ("list_changes", {"path": stem}),
    ]


WIDE_ATTEMPTS: list[tuple[str, dict[str, Any]]] = [
    ("list_pages", {}),
    ("list_pages", {"depth": 5, "includeContent": True}),
    ("get_tree", {"includeMetadata": True}),
    ("get_tree", {"depth": 1}),
    ("search_pages", {"query": CANARY}),
    ("search_pages", {"query": "canory"}),
    ("search_pages", {"query": "can.ry", "regex": True}),
    ("search_pages", {"query": ".", "regex": True, "limit": 2}),
    ("search_pages", {"query": "secret", "facets": True}),
    ("search_pages", {"query": "todo", "limit": 1}),
    ("search_pages", {"query": "plan", "tag": CANARY}),
    ("find_pages", {}),
    ("find_pages", {"facets": True}),
    ("find_pages", {"where": {"status": "open"}}),
    ("find_pages", {"where": {"salary": 9}}),
    ("find_pages", {"tag": "work"}),
    ("find_pages", {"links": "broken"}),
    ("find_pages", {"links": "ambiguous"}),
    ("find_pages", {"links": "orphan"}),
    ("find_pages", {"limit": 2, "modifiedAfter": "2020-01-01"}),
    ("get_page_links", {"path": "Inbox/Todo.md"}),
    ("get_page_links", {"path": "Projects/Alpha.md"}),
    ("list_attachments", {}),
    ("list_trash", {}),
    ("sync_status", {}),
    ("read_page", {"path": "Projects"}),
    ("read_page", {"path": "Archive"}),
    ("read_page", {"path": "Archive/Todo"}),
    ("read_page", {"path": "Inbox/Secret/../Todo.md"}),
    ("read_page", {"path": "../full/Inbox/Todo.md"}),
    ("read_page", {"path": ".mirrord/id"}),
    ("read_page", {"path": "Ínbox/Secret/Key.md"}),
    ("write_page", {"path": "Projects/New.md", "content": "# New\n"}),
    ("write_page", {"path": "Projects.md", "content": "# New\n"}),
    ("write_page", {"path": "Elsewhere.md", "content": "# New\n"}),
    ("create_page", {"title": "Secret plan"}),
    ("edit_page", {"path": "Projects/Alpha.md", "edits": [{"append": "- more"}]}),
    ("move_page", {"sourcePath": "Projects/Alpha.md", "destinationPath": "Inbox/Alpha.md"}),
    ("move_page", {"sourcePath": "Inbox/Todo.md", "destinationPath": "Projects/Todo.md"}),
    ("move_page", {"sourcePath": "Inbox", "destinationPath": "Box"}),
    ("delete_page", {"path": "Inbox", "recursive": True}),
    ("delete_page", {"path": "Projects/Alpha.md"}),
    ("add_attachment", {"pagePath": "Projects/Alpha.md", "base64": FILE, "fileName": "a.txt"}),
    ("edit_pages", {"edits": [{"find": CANARY, "replace": "x"}]}),
    ("edit_pages", {"edits": [{"tag": "work", "replace": "done"}], "dryRun": True}),
    ("edit_pages", {"edits": [{"find": "Todo", "replace": "To do"}], "dryRun": True}),
    ("edit_pages", {"edits": [{"find": "due", "replace": "late"}]}),
    ("edit_pages", {"edits": [{"find": "Note", "replace": "x"}], "paths": ["Inbox/Deep/Note.md", "Archive/Old.md"]}),
    ("rename_heading", {"path": "Projects/Alpha.md", "heading": "Alpha", "to": "Beta"}),
    ("rename_heading", {"path": "Inbox/Todo.md", "heading": "Salary", "to": "Pay"}),
    ("split_page", {"path": "Projects/Alpha.md", "level": 1}),
    ("split_page", {"path": "Inbox/Long.md", "level": 2, "parentPath": "Projects"}),
    ("split_page", {"path": "Inbox/Long.md", "level": 2, "parentPath": ""}),
    ("split_page", {"path": "Inbox/Long.md", "level": 5}),
    ("merge_pages", {"paths": ["Projects/Alpha.md"], "into": "Inbox/Todo.md"}),
    ("merge_pages", {"paths": ["Inbox/Todo.md"], "into": "Projects/Alpha.md"}),
    ("merge_pages", {"paths": ["Inbox/_index.md"], "into": "Inbox/Todo.md"}),
    ("collection_list", {}),
    ("list_sources", {}),
    ("undo_changes", {}),
    ("changes_status", {}),
    ("review_changes", {}),
    ("apply_changes", {"changeSet": "01"}),
    # what it may do
    ("write_page", {"path": "Inbox/New.md", "content": "# New\n\n[[Salary]]\n"}),
    ("create_page", {"title": "Secret too", "parentPath": "Inbox"}),
    ("add_attachment", {"pagePath": "Inbox/New.md", "base64": FILE, "fileName": "a.txt"}),
    ("edit_page", {"path": "Inbox/Draft.md", "edits": [{"append": "- more"}]}),
    ("get_page_links", {"path": "Inbox/Draft.md"}),
    ("move_page", {"sourcePath": "Inbox/Todo.md", "destinationPath": "Inbox/Tasks.md"}),
    ("rename_heading", {"path": "Inbox/Long.md", "heading": "Plan", "to": "Scheme"}),
    ("split_page", {"path": "Inbox/Long.md", "level": 2}),  # also into Secret, a name that is hidden
    ("split_page", {"path": "Inbox/Long.md", "heading": "Scheme"}),
    ("merge_pages", {"paths": ["Inbox/Draft.md", "Inbox/Deep/Note.md"], "into": "Inbox/Tasks.md"}),
    ("delete_page", {"path": "Inbox/Deep/Other.md"}),
    ("list_trash", {}),
    ("get_tree", {"includeMetadata": True}),
    ("find_pages", {"facets": True}),
]
ATTEMPTS = [attempt for place in HIDDEN_PLACES for attempt in _attempts_at(place)] + WIDE_ATTEMPTS


@pytest.fixture
def worlds(tmp_path: Path) -> ScopedWorlds:
    return make_worlds(tmp_path, PAGES, SCOPE)


async def _play(tenant: Tenant, answers: list[Any]) -> None:
    """Make all attempts in one session."""
    async with in_memory(tenant, sets=SETS, paths=SCOPE) as agent:
        for tool, arguments in ATTEMPTS:
            reply = await agent.reply(tool, arguments)
            assert "INTERNAL_ERROR" not in str(reply.structured_content), (tool, arguments)
            answers.append((tool, arguments, reply.is_error, normalize_answer(reply.structured_content)))


async def test_the_answers_to_150_attempts_are_the_same_without_what_the_scope_hides(worlds: ScopedWorlds) -> None:
    answers: list[Any] = []
    expected: list[Any] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_play, worlds.full, answers)
        tasks.start_soon(_play, worlds.bare, expected)

    assert len(answers) > 150
    for answer, twin in zip(answers, expected, strict=True):
        assert answer == twin
        assert CANARY in str(answer[1]) or CANARY not in str(answer[3])
    hidden = worlds.hidden_texts()
    assert _without_links(hidden) == _without_links({path: PAGES[path] for path in worlds.hidden})
    assert "[[Tasks]] [draft](../Tasks.md#Draft) [[Scheme]]" in hidden["Inbox/Secret/Key.md"]
    assert "[[Tasks]]" in (worlds.full.root / "Projects/Alpha.md").read_text(encoding="utf-8")


def _waiting_gate() -> Gate:
    """As of an operator who decides about everything."""
    levels = {tool.name: "REQUIRE" for tool in TOOLS if tool.run is None and tool.name not in TRUSTED_TOOLS}
    return Gate(trust_levels(levels), Limits(pending=0, calls=0, mutations=0))


def _requested_paths(tenant: Tenant) -> set[str]:
    """The files that requests are about, but for those in drafts."""
    requests = [request for request, _ in request_files.read_all(Tree(tenant.root))]
    assert all(request.scope == SCOPE for request in requests)
    return {path for request in requests for path in request.bases if not path.startswith(".mirrord/")}


WAITING_CALLS: list[tuple[str, dict[str, Any]]] = [
    *((tool, arguments) for tool, arguments in ATTEMPTS if any(tool == entry.name and entry.writes for entry in TOOLS)),
    ("merge_pages", {"paths": ["Inbox/Draft.md"], "into": "Inbox/Todo.md"}),
    ("add_attachment", {"pagePath": "Inbox/Todo.md", "base64": FILE, "fileName": "a.txt"}),
]


async def _play_waiting(tenant: Tenant, answers: list[Any]) -> None:
    """Make all attempts that change something where a person decides about each."""
    async with in_memory(tenant, sets=SETS, paths=SCOPE, gate=_waiting_gate()) as agent:
        for tool, arguments in WAITING_CALLS:
            reply = await agent.reply(tool, arguments)
            assert "INTERNAL_ERROR" not in str(reply.structured_content), (tool, arguments)
            answers.append((tool, arguments, reply.is_error, normalize_answer(reply.structured_content)))


async def test_what_a_person_decides_about_is_asked_for_within_the_scope_only(worlds: ScopedWorlds) -> None:
    answers: list[Any] = []
    expected: list[Any] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_play_waiting, worlds.full, answers)
        tasks.start_soon(_play_waiting, worlds.bare, expected)

    assert len(answers) > 60
    for answer, twin in zip(answers, expected, strict=True):
        assert answer == twin
        assert CANARY in str(answer[1]) or CANARY not in str(answer[3])
    waiting = [tool for tool, _, _, content in answers if content.get("status") == "pending_approval"]
    assert {"write_page", "move_page", "delete_page", "merge_pages", "rename_heading", "add_attachment"} <= {*waiting}
    requested = _requested_paths(worlds.full)
    assert requested == _requested_paths(worlds.bare)
    assert all(SCOPE.can_write(path) for path in requested)
    assert worlds.hidden_texts() == {path: PAGES[path] for path in worlds.hidden}


FOLDER_RULES = {"write": "act", "folders": {"Archive/**": "review", "Inbox/Secret/**": "review"}}
REVIEWED_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("edit_page", {"path": "Inbox/Deep/Note.md", "edits": [{"append": "- more"}]}),  # of no page that is reviewed
    ("rename_heading", {"path": "Inbox/Long.md", "heading": "Plan", "to": "Scheme"}),  # a hidden page links to it
    ("changes_status", {}),
    ("discard_changes", {}),
    ("move_page", {"sourcePath": "Inbox/Deep/Other.md", "destinationPath": "Inbox/Mine.md"}),  # none does
    ("discard_changes", {}),
    ("move_page", {"sourcePath": "Inbox/Secret/Key.md", "destinationPath": "Inbox/Mine.md"}),
    ("changes_status", {}),
    ("begin_changes", {"title": "Edits"}),
    ("edit_page", {"path": "Inbox/Deep/Note.md", "edits": [{"append": "- again"}]}),
    ("apply_changes", {}),
    ("begin_changes", {"title": "A move"}),
    ("move_page", {"sourcePath": "Inbox/Todo.md", "destinationPath": "Inbox/Tasks.md"}),
    ("apply_changes", {}),
    ("changes_status", {}),
]


async def _play_reviewed(tenant: Tenant, answers: list[Any]) -> None:
    gate = Gate(limits=Limits(pending=0, calls=0, mutations=0), rules=parse_write_rules(FOLDER_RULES))
    async with in_memory(tenant, sets=SETS, paths=SCOPE, gate=gate) as agent:
        for tool, arguments in REVIEWED_CALLS:
            reply = await agent.reply(tool, arguments)
            answers.append((tool, arguments, reply.is_error, normalize_answer(reply.structured_content)))


async def test_whether_a_change_is_reviewed_does_not_depend_on_what_the_scope_hides(worlds: ScopedWorlds) -> None:
    answers: list[Any] = []
    expected: list[Any] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_play_reviewed, worlds.full, answers)
        tasks.start_soon(_play_reviewed, worlds.bare, expected)

    for answer, twin in zip(answers, expected, strict=True):
        assert answer == twin
        assert CANARY not in str(answer[3])
    reviewed = [tool for tool, _, _, content in answers if "review" in content or content.get("state") == "in review"]
    assert reviewed == ["rename_heading", "move_page", "apply_changes"]
    assert [answer[3]["code"] for answer in answers if answer[2]] == ["PAGE_NOT_FOUND"]
    assert worlds.hidden_texts() == {path: PAGES[path] for path in worlds.hidden}
    assert "Inbox/Secret/Key.md" in _requested_paths(worlds.full)  # the person sees the link that follows


DRAFT_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("begin_changes", {"title": "Mine"}),
    ("move_page", {"sourcePath": "Inbox/Todo.md", "destinationPath": "Inbox/Tasks.md"}),
    ("write_page", {"path": "Inbox/New.md", "content": "# New\n\n[[Tasks]]\n"}),
    ("write_page", {"path": "Inbox/Secret/New.md", "content": "# New\n"}),
    ("edit_page", {"path": "Projects/Alpha.md", "edits": [{"append": "- more"}]}),
    ("delete_page", {"path": "Inbox/Deep/Other.md"}),
    ("read_page", {"path": "Inbox/Secret/Key.md"}),
    ("search_pages", {"query": CANARY}),
    ("get_page_links", {"path": "Inbox/Tasks.md"}),
    ("get_tree", {}),
    ("list_trash", {}),
    ("review_changes", {}),
    ("review_changes", {"path": "Inbox/Secret/Key.md"}),
    ("review_changes", {"path": "Projects/Private.md"}),
    ("changes_status", {}),
    ("apply_changes", {"message": "Done"}),
    ("changes_status", {}),
    ("get_tree", {}),
]


async def _play_draft(tenant: Tenant, answers: list[Any]) -> None:
    """Make the calls in a change set; somebody edits hidden pages before it is applied."""
    async with in_memory(tenant, sets=SETS, paths=SCOPE) as agent:
        for tool, arguments in DRAFT_CALLS:
            if tool == "apply_changes":
                for path in ("Inbox/Secret/Key.md", "Archive/Todo.md"):
                    if (file := tenant.root / path).exists():
                        file.write_text(f"{CANARY} [[Todo]] edited\n", encoding="utf-8")
            reply = await agent.reply(tool, arguments)
            answers.append((tool, arguments, reply.is_error, normalize_answer(reply.structured_content)))


async def test_a_change_set_shows_and_applies_the_same_whatever_is_hidden(worlds: ScopedWorlds) -> None:
    answers: list[Any] = []
    expected: list[Any] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_play_draft, worlds.full, answers)
        tasks.start_soon(_play_draft, worlds.bare, expected)

    for answer, twin in zip(answers, expected, strict=True):
        assert answer == twin
        assert CANARY in str(answer[1]) or CANARY not in str(answer[3])
    refusals = [answer[3]["code"] for answer in answers if answer[2]]
    assert refusals == ["OUT_OF_SCOPE", "OUT_OF_SCOPE", "PAGE_NOT_FOUND", "NOT_CHANGED", "NOT_CHANGED"]
    assert answers[-3][3]["pages"] == 5  # moved, new and deleted, and Draft and Alpha with their links
    assert (worlds.full.root / "Inbox/Tasks.md").exists()
    assert worlds.hidden_texts()["Inbox/Secret/Key.md"] == f"{CANARY} [[Todo]] edited\n"  # the clash was passed over
    assert "[[Draft]] [[Tasks]]" in worlds.hidden_texts()["Inbox/Secret/Salary.md"]


async def test_a_draft_is_of_its_token_and_ends_its_use_with_it(worlds: ScopedWorlds) -> None:
    ended: list[str] = []

    def still_holds() -> None:
        if ended:
            raise Refused("The token was revoked.")

    async with in_memory(worlds.full, sets=SETS, paths=SCOPE, token="one", still_holds=still_holds) as agent:
        draft = await agent.call("begin_changes", title="Mine")
        await agent.call("write_page", path="Inbox/New.md", content="# New\n")
        ended.append("revoked")
        for tool in ("apply_changes", "review_changes", "discard_changes"):
            assert (await agent.refused(tool))["code"] == "TOKEN_REFUSED"
    async with in_memory(worlds.full, sets=SETS, paths=parse_scope(["Projects"]), token="other") as agent:
        refusal = await agent.refused("begin_changes", changeSet=draft["changeSet"])
        assert refusal["code"] == "CHANGES_NOT_FOUND"
        assert (await agent.refused("apply_changes", changeSet=draft["changeSet"]))["code"] == "CHANGES_NOT_FOUND"
    assert not (worlds.full.root / "Inbox/New.md").exists()


def _without_links(texts: Mapping[str, str]) -> dict[str, str]:
    return {path: re.sub(r"\[\[.*?\]\]|\(.*?\)", "", text) for path, text in texts.items()}


@pytest.mark.parametrize("has_read", [False, True])
async def test_a_page_that_may_only_be_read_is_out_of_scope_before_it_has_to_be_read(
    worlds: ScopedWorlds, has_read: bool
) -> None:
    async with in_memory(worlds.full, sets=SETS, paths=SCOPE) as agent:
        if has_read:
            await agent.call("read_page", path="Projects/Alpha.md")
        for arguments in ({}, {"expectedDigest": "0" * 64}):
            refused = await agent.refused("write_page", path="Projects/Alpha.md", content="# Mine\n", **arguments)
            hidden = await agent.refused("write_page", path="Projects/Private.md", content="# Mine\n", **arguments)
            free = await agent.refused("write_page", path="Projects/None.md", content="# Mine\n", **arguments)
            assert refused["code"] == "OUT_OF_SCOPE"
            assert str(hidden).replace("Private.md", "None.md") == str(free)


async def test_a_page_comes_back_from_the_trash_only_where_its_place_is_seen(worlds: ScopedWorlds) -> None:
    async with in_memory(worlds.full, sets=SETS) as agent:
        hidden = await agent.call("delete_page", path="Inbox/Secret/Key.md")
        readable = await agent.call("delete_page", path="Projects/Alpha.md")
    async with in_memory(worlds.full, sets=SETS, paths=SCOPE) as agent:
        deleted = await agent.call("delete_page", path="Inbox/Todo.md")
        listed = await agent.call("list_trash")
        unknown = await agent.refused("restore_page", trashId=hidden["trashId"], path="Inbox/Key.md")
        refusal = await agent.refused("restore_page", trashId=readable["trashId"], path="Inbox/Alpha.md")
        await agent.call("restore_page", trashId=deleted["trashId"])

    assert {trashed["path"] for trashed in listed["trash"]} == {"Inbox/Todo.md", "Projects/Alpha.md"}
    assert unknown["code"] == "NOT_IN_TRASH"
    assert refusal["code"] == "OUT_OF_SCOPE"


async def test_resources_and_completion_show_what_is_in_the_scope(worlds: ScopedWorlds) -> None:
    visible = [path for path in PAGES if SCOPE.can_read(path) and path.endswith(".md")]
    async with in_memory(worlds.full, paths=SCOPE) as agent:
        resources = (await agent.client.list_resources()).resources
        reference = ResourceTemplateReference(type="ref/resource", uri=PAGE_TEMPLATE)
        completed = (await agent.client.complete(reference, {"name": "path", "value": "a"})).completion
        for path in ("Inbox/Secret/Key.md", "Inbox/Secret/None.md", "Archive/Old.md"):
            with pytest.raises(MCPError, match=f"Page not found at path: {path}"):
                await agent.client.read_resource(f"page:///{path}")
    assert {resource.name for resource in resources} == set(visible)
    assert set(completed.values) <= set(visible)
    assert completed.total == len(completed.values)


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_on_stdio_an_agent_hears_of_what_it_sees_only(worlds: ScopedWorlds) -> None:
    heard: list[tuple[str, str]] = []
    arrived = anyio.Event()

    async def hear(message: object) -> None:
        nonlocal arrived
        if isinstance(message, ServerNotification):
            heard.append((message.method, str(getattr(message.params, "uri", ""))))
            arrived.set()

    async def until(method: str) -> None:
        nonlocal arrived
        with anyio.fail_after(PATIENCE_SECONDS):
            while not any(heard_method == method for heard_method, _ in heard):
                await arrived.wait()
                arrived = anyio.Event()

    root = worlds.full.root
    async with in_memory(worlds.full, paths=SCOPE, mode="legacy", message_handler=hear) as agent:
        for path in ("Inbox/Secret/Key.md", "Archive/Old.md", "Inbox/Todo.md"):
            await agent.client.subscribe_resource(f"page:///{path}")
        (root / "Archive/New.md").write_text("# New\n", encoding="utf-8")
        (root / "Inbox/Secret/Key.md").write_text("# Other\n", encoding="utf-8")
        (root / "Inbox/Todo.md").write_text("# Other\n", encoding="utf-8")
        await until("notifications/resources/updated")
        (root / "Archive/Newer.md").write_text("# Newer\n", encoding="utf-8")
        (root / "Inbox/New.md").write_text("# New\n", encoding="utf-8")
        await until("notifications/resources/list_changed")

    uris = {uri for method, uri in heard if method == "notifications/resources/updated"}
    assert uris == {"page:///Inbox/Todo.md"}
    assert [method for method, _ in heard].count("notifications/resources/list_changed") == 1


async def test_tokens_with_patterns_see_the_tools_that_work_through_a_scope(worlds: ScopedWorlds) -> None:
    async with in_memory(worlds.full, sets=SETS, paths=SCOPE) as agent:
        names = {tool.name for tool in (await agent.client.list_tools()).tools}
    async with in_memory(worlds.full, sets=SETS, paths=parse_scope(read=["Projects"]), may_write=False) as agent:
        reading = {tool.name for tool in (await agent.client.list_tools()).tools}

    writing = {tool.name for tool in TOOLS if tool.writes}
    assert names == SCOPED_TOOLS | ASKING_TOOLS
    assert reading == names - writing


async def test_a_server_takes_the_patterns_from_its_token_or_without_one_from_its_command_line(
    worlds: ScopedWorlds,
) -> None:
    mirror, tenant = worlds.full.root.parent, worlds.full
    private = signing_key(mirror.parent / "data", Keyring(mirror))
    actor, rights = Actor("agent", "tester"), Rights(paths=SCOPE)
    shown_token, token_id = issue_token(private, tenant.name, tenant.id, actor, rights=rights, expires=None)
    async with on_stdio(process(mirror, {"MIRRORD_TOKEN": shown_token})) as agent:
        assert (await agent.refused("read_page", path="Secret plan.md"))["code"] == "PAGE_NOT_FOUND"
        written = await agent.call("write_page", path="Inbox/New.md", content="# New\n")
        Keyring(mirror).revoke(token_id)
        assert (await agent.refused("read_page", path="Inbox/New.md"))["code"] == "TOKEN_REFUSED"
    async with on_stdio(process(mirror, None, "--read", "Inbox", "--deny", "Inbox/Secret")) as agent:
        assert (await agent.call("read_page", path="Inbox/New.md"))["digest"] == written["digest"]
        assert (await agent.refused("read_page", path="Projects/Alpha.md"))["code"] == "PAGE_NOT_FOUND"
        refusal = await agent.refused("write_page", path="Inbox/Newer.md", content="# Newer\n")
        assert refusal["code"] == "READ_ONLY"


async def test_a_page_without_an_id_gets_no_other_one_through_a_scope(worlds: ScopedWorlds) -> None:
    guessed = id_of_path(worlds.full.id, "Inbox/Secret/Key.md")
    async with in_memory(worlds.full, paths=SCOPE) as agent:
        await agent.call("read_page", path="Inbox/Deep/Note.md")
        text = f"---\nid: {guessed}\n---\n\n# Note\n"
        refusals = [
            await agent.refused("write_page", path="Inbox/Deep/Note.md", content=text),
            await agent.refused("edit_page", path="Inbox/Deep/Note.md", edits=[{"find": "# Note", "replace": text}]),
        ]

    assert {refusal["code"] for refusal in refusals} == {"INVALID_FRONT_MATTER"}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--write", "/Inbox"], "root already"),
        (["--deny", "Inbox/../Private"], "no names"),
        (["--read", ""], "it is empty"),
        (["--write", "Inbox", "--scope", "read"], "lets it write nothing"),
        (["--read", "Private", "--review"], "lets it write nothing"),
        (["--write", "Private/Plans/**", "--deny", "Private"], "would permit nothing"),
    ],
)
def test_a_token_is_not_made_of_patterns_that_are_none(tmp_path: Path, options: list[str], reason: str) -> None:
    arguments = ["demo", "--mirror", str(tmp_path / "mirror"), "--data", str(tmp_path / "data"), *options]
    outcome = CliRunner().invoke(token, arguments)
    assert isinstance(outcome.exception, UserError)
    assert reason in str(outcome.exception)
