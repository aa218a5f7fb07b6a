"""Change sets that a person reviews: an agent's changes wait, and what of them a person accepts is applied."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clients import Agent
from tests.support.harness import Mirrord, eventually
from tests.support.reviews import (
    ALPHA,
    agent_of,
    change,
    changes,
    make_folder,
    reviewing_installation,
    settled,
    status_of,
    text,
    waiting,
)


@pytest.fixture(scope="module")
def mirrord(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Mirrord]:
    with reviewing_installation(tmp_path_factory.mktemp("review") / "installation", module_dsn) as running:
        yield running


@pytest.fixture
def folder(mirrord: Mirrord, request: pytest.FixtureRequest) -> str:
    """A folder of the test's own, with three pages."""
    return make_folder(mirrord, request.node.name)


async def test_changes_wait_until_a_person_accepts_all_of_them(mirrord: Mirrord, folder: str) -> None:
    async with agent_of(mirrord) as agent:
        change_set = await change(agent, folder)
        assert text(mirrord, f"{folder}/Alpha.md") == ALPHA
        assert (await agent.refused("begin_changes", changeSet=change_set))["code"] == "IN_REVIEW"

        review = waiting(mirrord, change_set)
        assert {facts["kind"] for facts in review["changes"]} == {"edited", "created", "moved", "deleted"}
        assert change_set[:18] in changes(mirrord, "list").splitlines()[0]
        changes(mirrord, "accept", change_set, "--shown", review["shown"], "--message", "Thanks")

        applied = await settled(mirrord, agent, change_set, "applied")
        assert applied["comment"] == "Thanks"
        assert text(mirrord, f"{folder}/Alpha.md") == ALPHA.replace("first", "the first").replace("third", "the third")
        assert text(mirrord, f"{folder}/Gone.md") is None
        assert text(mirrord, f"{folder}/Beta.md") is None
        query = "SELECT type FROM event WHERE data ->> 'change_set' = %s AND type LIKE 'Changes%%' ORDER BY occurred_at"

        def told() -> list[str] | None:
            types = [row[0] for row in mirrord.app.execute(query, [change_set]).fetchall()]
            return types if len(types) == 3 else None

        assert eventually(told, "the events") == ["ChangesSubmitted", "ChangesReviewed", "ChangesApplied"]


async def test_a_person_reads_what_an_agent_has_begun_and_not_submitted(mirrord: Mirrord, folder: str) -> None:
    async with agent_of(mirrord) as agent:
        change_set = (await agent.call("begin_changes", title="Begun"))["changeSet"]
        await agent.call("edit_page", path=f"{folder}/Alpha.md", edits=[{"find": "first", "replace": "the first"}])
    assert change_set[:18] in changes(mirrord, "drafts")
    printed = changes(mirrord, "show", change_set[:18], code=1)
    assert ("Begun" in printed, f"{folder}/Alpha.md" in printed, "+the first" in printed) == (True, True, True)
    (entry,) = json.loads(changes(mirrord, "show", change_set, "--json", code=1))["entries"]
    assert (entry["path"], entry["changes"], "+the first" in entry["diff"]) == (f"{folder}/Alpha.md", ["edited"], True)


async def test_the_pages_that_are_rejected_go_back_to_the_agent(mirrord: Mirrord, folder: str) -> None:
    async with agent_of(mirrord) as agent:
        change_set = await change(agent, folder)
        waiting(mirrord, change_set)
        new, moved = f"{folder}/New.md", f"{folder}/Moved.md"
        changes(
            mirrord, "accept", change_set, "--page", moved, "--page", f"{folder}/Alpha.md", "--comment", "No new page"
        )

        applied = await settled(mirrord, agent, change_set, "applied")
        assert set(applied["rejected"]) == {new, f"{folder}/Gone.md"}
        assert text(mirrord, new) is None
        assert text(mirrord, f"{folder}/Gone.md") is not None
        assert text(mirrord, moved) is not None
        assert text(mirrord, f"{folder}/Beta.md") is None

        continued = await agent.call("begin_changes", changeSet=applied["remainder"])
        assert continued["comment"] == "No new page"
        review = await agent.call("review_changes")
        assert {facts["path"]: facts["kind"] for facts in review["changes"]} == {
            new: "created",
            f"{folder}/Gone.md": "deleted",
        }
        await agent.call("write_page", path=new, content="better\n")
        again = await agent.call("apply_changes")
        waiting(mirrord, again["changeSet"])
        changes(mirrord, "accept", again["changeSet"])
        await settled(mirrord, agent, again["changeSet"], "applied")
        assert "better" in (text(mirrord, new) or "")
        assert text(mirrord, f"{folder}/Gone.md") is None


async def test_blocks_are_accepted_by_themselves(mirrord: Mirrord, folder: str) -> None:
    alpha = f"{folder}/Alpha.md"
    async with agent_of(mirrord) as agent:
        change_set = await change(agent, folder)
        review = waiting(mirrord, change_set)
        blocks = next(facts["blocks"] for facts in review["changes"] if facts["path"] == alpha)
        assert [(block["old"], block["new"]) for block in blocks] == [
            ("first\n\n", "the first\n\n"),
            ("third\n", "the third\n"),
        ]
        changes(mirrord, "accept", change_set, "--block", f"{alpha}:2")

        applied = await settled(mirrord, agent, change_set, "applied")
        assert text(mirrord, alpha) == ALPHA.replace("third", "the third")
        await agent.call("begin_changes", changeSet=applied["remainder"])
        remaining = await agent.call("review_changes", path=alpha)
        assert (remaining["changes"][0]["added"], remaining["changes"][0]["removed"]) == (1, 1)
        assert "+the first" in remaining["diff"]
        assert "the third" not in remaining["diff"].replace(" the third", "")
        await agent.call("discard_changes")


async def test_a_person_edits_a_page_before_accepting_it(
    mirrord: Mirrord, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha = f"{folder}/Alpha.md"
    async with agent_of(mirrord) as agent:
        change_set = await change(agent, folder)
        waiting(mirrord, change_set)
        editor = mirrord.directory / "editor.sh"
        editor.write_text('#!/bin/sh\nsed -i "s/the first/my first/" "$1"\n', encoding="utf-8")
        editor.chmod(0o700)
        monkeypatch.setenv("EDITOR", str(editor))
        assert "+my first" in changes(mirrord, "edit", change_set, alpha)
        digest = waiting(mirrord, change_set)["shown"]
        changes(mirrord, "accept", change_set, "--shown", digest)
        await settled(mirrord, agent, change_set, "applied")
        assert "my first" in (text(mirrord, alpha) or "")


async def test_a_rejected_change_set_is_open_again_with_the_comment(mirrord: Mirrord, folder: str) -> None:
    async with agent_of(mirrord) as agent:
        change_set = await change(agent, folder)
        waiting(mirrord, change_set)
        changes(mirrord, "reject", change_set, "--comment", "Too much at once")
        rejected = await settled(mirrord, agent, change_set, "rejected")
        assert "Too much at once" in rejected["comment"]
        assert text(mirrord, f"{folder}/Alpha.md") == ALPHA

        continued = await agent.call("begin_changes", changeSet=change_set)
        assert "Too much at once" in continued["comment"]
        await agent.call("write_page", path=f"{folder}/New.md", content="less\n")
        assert (await agent.call("apply_changes"))["state"] == "in review"
        assert waiting(mirrord, change_set)["state"] == "in review"


async def test_nobody_is_asked_about_a_change_set_that_its_agent_discarded(mirrord: Mirrord, folder: str) -> None:
    query = "SELECT id, state, told_at IS NOT NULL FROM approval WHERE arguments ->> 'change_set' = %s"
    async with agent_of(mirrord) as agent:
        change_set = await change(agent, folder)
        eventually(lambda: mirrord.app.execute(query, [change_set]).fetchone(), "the change set in review")
        await agent.call("discard_changes", changeSet=change_set)

        def ended() -> tuple[Any, ...] | None:
            request: tuple[Any, ...] = mirrord.app.execute(query, [change_set]).fetchall()[0]
            return request if request[1] != "pending" and request[2] else None

        request, state, _ = eventually(ended, "the end of the request")
        assert state == "expired"
        assert "waits for a review" in mirrord.run("changes", "accept", change_set, "--tenant", mirrord.tenant).stderr
        answer = json.loads(text(mirrord, f".records/approvals/{request}.json") or "")
        assert answer["failure"]["code"] == "EXPIRED"
        assert "ended" in answer["failure"]["sentence"]
        assert (await status_of(agent, change_set))["state"] == "discarded"


async def test_all_proposals_include_the_change_sets_that_can_be_applied(mirrord: Mirrord, folder: str) -> None:
    async def submit(agent: Agent, page: str, tool: str, **arguments: Any) -> str:
        await agent.call(tool, path=f"{folder}/{page}.md", **arguments)
        return str((await agent.call("apply_changes", message=page))["changeSet"])

    def states_of(*change_sets: str) -> list[str]:
        query = "SELECT arguments ->> 'change_set', state FROM approval WHERE arguments ->> 'change_set' = ANY (%s)"
        states: dict[str, str] = dict(mirrord.app.execute(query, [[*change_sets]]).fetchall())
        return [states[change_set] for change_set in change_sets if change_set in states]

    edits = [{"find": "first", "replace": "the first"}]
    async with agent_of(mirrord) as agent:
        simple = await submit(agent, "Alpha", "edit_page", edits=edits)
        outdated = await submit(agent, "Beta", "edit_page", edits=edits)
        grave = await submit(agent, "Gone", "rename_heading", heading="Gone", to="Here")
        unwanted = await submit(agent, "New", "write_page", content="text\n")
        eventually(lambda: len(states_of(simple, outdated, grave, unwanted)) == 4, "all change sets in review")
        changes(mirrord, "reject", unwanted, "--page", f"{folder}/New.md")
        (mirrord.root / folder / "Beta.md").write_text("# Another page\n", encoding="utf-8")
        mirrord.flush()

        ran = mirrord.run("approvals", "approve", "--all", "--tenant", mirrord.tenant)
        assert "Approved: The change set" in ran.stdout
        assert [line for line in ran.stderr.splitlines() if f"show {outdated}" in line and "changed" in line]
        assert f"reject {unwanted}" in ran.stderr
        assert "needs to be named" in ran.stderr
        await settled(mirrord, agent, simple, "applied")
        assert states_of(outdated, grave, unwanted) == ["pending"] * 3
        assert text(mirrord, f"{folder}/Alpha.md") == ALPHA.replace("first", "the first")
        assert text(mirrord, f"{folder}/Beta.md") == "# Another page\n"
        for change_set in (outdated, grave, unwanted):
            await agent.call("discard_changes", changeSet=change_set)


async def test_a_folder_may_be_open_but_not_for_what_reaches_beyond_it(mirrord: Mirrord, folder: str) -> None:
    (mirrord.root / "Inbox").mkdir(exist_ok=True)
    target = mirrord.root / "Inbox" / f"{folder} note.md"
    target.write_text("text\n", encoding="utf-8")
    (mirrord.root / folder / "Linking.md").write_text(f"[[Inbox/{folder} note]]\n", encoding="utf-8")
    async with agent_of(mirrord) as agent:
        page = await agent.call("create_page", title=f"{folder} free", parentPath="Inbox", content="text\n")
        assert "review" not in page
        assert text(mirrord, page["path"]) is not None

        moved = await agent.call(
            "move_page", sourcePath=f"Inbox/{folder} note.md", destinationPath=f"Inbox/{folder} other.md"
        )
        assert "review" in moved
        assert target.exists()
        assert (await agent.refused("undo_changes", changeSet=page["pageId"]))["code"] == "REVIEW_NEEDED"
        await agent.call("discard_changes")


async def move_with_link(agent: Agent, mirrord: Mirrord, folder: str) -> str:
    """Let an agent move a page that another page links to, and edit that page; the change set, which waits."""
    linking, path = "# Linking\n\nfirst\n\nSee [it](Beta.md).\n", f"{folder}/Linking.md"
    (mirrord.root / path).write_text(linking, encoding="utf-8")
    await agent.call("edit_page", path=path, edits=[{"find": "first", "replace": "the first"}])
    await agent.call("move_page", sourcePath=f"{folder}/Beta.md", destinationPath=f"{folder}/Moved.md")
    change_set = str((await agent.call("apply_changes", message="A move"))["changeSet"])
    assert {facts["path"] for facts in waiting(mirrord, change_set)["changes"]} == {path, f"{folder}/Moved.md"}
    return change_set


@pytest.mark.parametrize("page", ["Moved", "Linking"])
async def test_links_and_the_move_that_they_follow_are_accepted_together(
    mirrord: Mirrord, folder: str, page: str
) -> None:
    async with agent_of(mirrord) as agent:
        change_set = await move_with_link(agent, mirrord, folder)
        chosen = f"{folder}/{page}.md"
        for arguments in (["--page", chosen], ["--block", f"{folder}/Linking.md:2"]):
            ran = mirrord.run("changes", "accept", change_set, *arguments, "--tenant", mirrord.tenant)
            assert ran.returncode == 4
            assert (
                f"links in {folder}/Linking.md follow the move of {folder}/Beta.md to {folder}/Moved.md" in ran.stderr
            )
        assert "follow" in changes(mirrord, "show", change_set, code=1)
        assert text(mirrord, f"{folder}/Beta.md") is not None
        assert "[it](Beta.md)" in (text(mirrord, f"{folder}/Linking.md") or "")
        await agent.call("discard_changes", changeSet=change_set)


async def test_a_block_that_follows_no_move_is_accepted_without_it(mirrord: Mirrord, folder: str) -> None:
    async with agent_of(mirrord) as agent:
        change_set = await move_with_link(agent, mirrord, folder)
        changes(mirrord, "accept", change_set, "--block", f"{folder}/Linking.md:1")
        applied = await settled(mirrord, agent, change_set, "applied")
        assert text(mirrord, f"{folder}/Linking.md") == "# Linking\n\nthe first\n\nSee [it](Beta.md).\n"
        await agent.call("begin_changes", changeSet=applied["remainder"])
        await agent.call("apply_changes")
        waiting(mirrord, applied["remainder"])
        changes(mirrord, "accept", applied["remainder"])
        assert text(mirrord, f"{folder}/Linking.md") == "# Linking\n\nthe first\n\nSee [it](Moved.md).\n"
        assert text(mirrord, f"{folder}/Beta.md") is None
        assert text(mirrord, f"{folder}/Moved.md") is not None
