"""What agents with a scope ask a person for: decided and done within the scope, and without a word about the rest."""

import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from tests.support.clients import Agent, on_stdio, process
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually
from tests.support.people import granted
from tests.support.reviews import set_editor

TRUST = 'delete_page = "REQUIRE"\nmove_page = "SUGGEST"\ncategory_update = "REQUIRE"\n'
CONFIG = f"[mcp]\nlocal_trust = true\n[mcp.trust]\n{TRUST}"
HIDDEN = "Shut"  # the folder, and a word in the title and text of its pages
TALK = "Interviewer: How was it?\n\nAna: It was loud.\n\nInterviewer: Why?\n\nAna: Because of the road.\n"
PAGES = {
    "Open/Plan.md": "# Plan\n\nFirst.\n",
    "Open/Gone.md": "# Gone\n",
    "Open/Goal.md": "# Goal\n",
    "Open/Local.md": "# Local\n",
    "Shut/Text.md": "# Shut text\n\nSee [[Plan]] and [[Goal]].\n",
    "Shut/Local.md": "# Shut local\n",
    "Sources/Field/Ana.md": f"---\ntype: source\n---\n{TALK}",
    "Sources/Shut/Dan.md": "---\ntype: source\n---\nDan: Hi.\n\nEve: Well.\n\nDan: So.\n",
    ".records/categories/field.yaml": "dir: Sources/Field\npatterns: ['A*']\n",
    ".records/categories/shut.yaml": "dir: Sources/Shut\npatterns: ['D*']\n",
}
SCOPE = ("--write", "Open/**")
ATTEMPTS: list[tuple[str, dict[str, Any]]] = [
    ("delete_page", {"path": "{}/Text.md"}),
    ("delete_page", {"path": "{}", "recursive": True}),
    ("delete_page", {"path": "{}/text"}),
    ("move_page", {"sourcePath": "{}/Text.md", "destinationPath": "Open/Mine.md"}),
    ("move_page", {"sourcePath": "{}", "destinationPath": "Open/Mine"}),
    ("move_page", {"sourcePath": "Open/Local.md", "destinationPath": "{}/Text.md"}),
    ("move_page", {"sourcePath": "Open/Local.md", "destinationPath": "{}/"}),
    ("move_page", {"sourcePath": "Open/Local.md", "destinationPath": "{}.md"}),
    ("write_page", {"path": "{}/Text.md", "content": "# Mine\n"}),
    ("edit_page", {"path": "{}/Text.md", "edits": [{"find": "See", "replace": "Look"}]}),
    ("create_page", {"title": "Text", "parentPath": "{}"}),
    ("page_history", {"path": "{}/Text.md"}),
    ("diff_page", {"path": "{}/Text.md"}),
    ("list_changes", {"path": "{}"}),
    ("read_page", {"path": "{}/Text.md", "version": 1}),
]


@pytest.fixture(scope="module")
def mirrord(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Mirrord]:
    with Near(tmp_path_factory.mktemp("scoped") / "installation", dsn=module_dsn) as running:
        running.directory.mkdir(parents=True, exist_ok=True)
        (running.directory / "mirrord.toml").write_text(CONFIG, encoding="utf-8")
        for path, text in PAGES.items():
            save(running.file(path), text)
        running.up()
        running.flush()
        yield running


def _agent(mirrord: Mirrord, token: str | None, *options: str) -> AbstractAsyncContextManager[Agent]:
    environment = {"MIRRORD_TOKEN": token} if token is not None else None
    return on_stdio(process(mirrord.mirror, environment, "--tools", "pages,changes", *options))


def _run(mirrord: Mirrord, *arguments: str) -> str:
    completed = mirrord.run(*arguments, "--tenant", mirrord.tenant)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def _wait_for_row(mirrord: Mirrord, pending: dict[str, Any]) -> None:
    query = "SELECT state FROM approval WHERE id = %s"
    eventually(lambda: value(mirrord.app, query, pending["request_id"]), "the row of the request")


def _wait_for_outcome(mirrord: Mirrord, pending: dict[str, Any]) -> None:
    query = "SELECT told_at FROM approval WHERE id = %s"
    eventually(lambda: value(mirrord.app, query, pending["request_id"]), "the outcome in the file of the request")


async def test_requests_within_a_scope_are_decided_and_done_within_it(mirrord: Mirrord) -> None:
    narrow, wide = mirrord.create_token("same", *SCOPE), mirrord.create_token("same")
    deletion_call = {"path": "Open/Gone.md"}
    moving = {"sourcePath": "Open/Plan.md", "destinationPath": "Open/Scheme.md"}
    async with _agent(mirrord, narrow) as agent:
        for tool, arguments in ATTEMPTS:
            hidden, missing = (
                json.loads(json.dumps(arguments).replace("{}", folder)) for folder in (HIDDEN, "Nowhere")
            )
            refusals = [await agent.refused(tool, **hidden), await agent.refused(tool, **missing)]
            assert str(refusals[0]).replace(HIDDEN, "Nowhere") == str(refusals[1]), tool
        assert value(mirrord.app, "SELECT count(*) FROM approval") == 0
        deletion, move = await agent.call("delete_page", **deletion_call), await agent.call("move_page", **moving)
        async with _agent(mirrord, wide) as other:
            others = await other.call("delete_page", **deletion_call)
        assert others["request_id"] != deletion["request_id"]
        for pending in (deletion, move, others):
            _wait_for_row(mirrord, pending)
        summary = _run(mirrord, "approvals", "show", move["request_id"])
        _run(mirrord, "approvals", "reject", others["request_id"], "--reason", "not this one")
        _run(mirrord, "approvals", "approve", deletion["request_id"], move["request_id"])
        for pending in (deletion, move):
            _wait_for_outcome(mirrord, pending)
        deleted, moved = await agent.call("delete_page", **deletion_call), await agent.call("move_page", **moving)

    assert not mirrord.file("Open/Gone.md").exists()
    assert mirrord.file("Open/Scheme.md").exists()
    assert HIDDEN not in str([deletion, move, deleted, moved])
    assert "scope: write Open/**" in summary
    assert "[[Scheme]]" in (mirrord.text("Shut/Text.md") or "")


async def test_research_within_a_scope_is_decided_and_done_within_it(mirrord: Mirrord) -> None:
    token = mirrord.create_token("researcher", "--write", "Sources/Field/**")
    tools = ("--tools", "sources,collections")
    async with on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token}, *tools)) as agent:
        (source,) = (await agent.call("list_sources"))["sources"]
        (category,) = (await agent.call("category_list"))["value"]
        hidden = await agent.refused("category_update", name="shut", add_patterns=["E*"])
        missing = await agent.refused("category_update", name="gone", add_patterns=["E*"])
        speakers = await granted(agent, mirrord, "detect_speakers", source_id=source["id"])
        updated = await granted(agent, mirrord, "category_update", name="field", add_patterns=["B*"])

    assert (source["path"], category["name"]) == ("Sources/Field/Ana.md", "field")
    assert str(hidden).replace("shut", "gone") == str(missing)
    assert speakers["speakers"] == ["Interviewer", "Ana"]
    assert updated["value"]["patterns"] == ["A*", "B*"]
    assert (mirrord.text(".records/categories/shut.yaml") or "").endswith("['D*']\n")


async def test_a_person_sees_the_links_that_a_scope_hides_and_may_keep_them(
    mirrord: Mirrord, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_editor(mirrord, monkeypatch, 'sed -i "s/See .*/See [[Plan]] and [[Goal]]. Kept./" "$1"')
    token = mirrord.create_token("reviewed", *SCOPE, "--review")
    async with _agent(mirrord, token) as agent:
        change_set = await agent.call("begin_changes", title="A move")
        await agent.call("move_page", sourcePath="Open/Goal.md", destinationPath="Open/Aim.md")
        pending = await agent.call("apply_changes")
        _wait_for_row(mirrord, pending)
        listing = mirrord.run("changes", "show", change_set["changeSet"], "--json", "--tenant", mirrord.tenant)
        review = json.loads(listing.stdout)  # its exit code says that it waits
        waiting = await agent.call("changes_status")
        _run(mirrord, "changes", "reject", change_set["changeSet"], "--page", "Shut/Text.md")
        parted = mirrord.run("changes", "accept", change_set["changeSet"], "--tenant", mirrord.tenant)
        _run(mirrord, "changes", "edit", change_set["changeSet"], "Shut/Text.md")
        _run(mirrord, "changes", "accept", change_set["changeSet"])
        _wait_for_outcome(mirrord, pending)
        status = await agent.call("changes_status")

    assert {change["path"] for change in review["changes"]} == {"Open/Aim.md", "Shut/Text.md"}
    assert pending["changed_pages_count"] == 1
    assert (parted.returncode, "links in Shut/Text.md follow the move" in parted.stderr) == (4, True)
    (applied,) = [facts for facts in status["others"] if facts["changeSet"] == change_set["changeSet"]]
    assert applied["state"] == "applied"
    assert HIDDEN not in str([change_set, pending, waiting, status])
    assert len(status["others"]) == 1  # nothing goes on with the link that was kept
    assert "[[Goal]]. Kept." in (mirrord.text("Shut/Text.md") or "")
    assert mirrord.file("Open/Aim.md").exists()


async def test_a_local_agent_with_a_scope_undoes_and_asks_for_history_within_it(mirrord: Mirrord) -> None:
    async with _agent(mirrord, None) as agent:
        edits = [{"append": "- elsewhere"}]
        await agent.call("edit_page", path="Shut/Local.md", edits=edits)
        query = (
            "SELECT r.change_set FROM page_revision r JOIN page p ON p.id = r.page_id AND p.version = r.version "
            "WHERE p.markdown LIKE %s AND r.change_set IS NOT NULL"
        )
        foreign = str(eventually(lambda: value(mirrord.app, query, "%- elsewhere%"), "a version with a change set"))
    async with _agent(mirrord, None, *SCOPE) as agent:
        await agent.call("edit_page", path="Open/Local.md", edits=[{"append": "- here"}])
        listed = await agent.call("list_changes")
        refused = await agent.refused("undo_changes", changeSet=foreign)
        undone = await agent.call("undo_changes")

    assert "Open/Local.md" in str(listed)
    assert HIDDEN not in str([listed, refused, undone])
    assert refused["code"] == "UNKNOWN_CHANGE_SET"
    assert undone["undone"] is True
    eventually(lambda: mirrord.text("Open/Local.md") == PAGES["Open/Local.md"], "the earlier text")
    assert "- elsewhere" in (mirrord.text("Shut/Local.md") or "")


def test_who_makes_a_token_is_told_which_patterns_mean_nothing_in_the_tree(mirrord: Mirrord) -> None:
    patterns = ("--write", "open/**", "--read", "Opne/**", "--deny", "Shut/None.md")
    ran = mirrord.run("tenant", "token", mirrord.tenant, *patterns)
    assert ran.returncode == 0
    named = [line for line in ran.stderr.splitlines() if line.startswith("Nothing in the tree matches")]
    assert [line.split("'")[1] for line in named] == ["Opne/**", "Shut/None.md"]
