"""Change sets through a real client: a draft that only its connection sees, applied as a whole or not at all."""

import json
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mirrord.commands.changes.draft_session import IDLE_SECONDS
from mirrord.commands.core.session import Gate
from mirrord.domain.trust import trust_levels
from mirrord.errors import Refused
from mirrord.mcp.admission import Tenant
from tests.support.clients import Agent, in_memory, on_stdio, process, tenant_in
from tests.support.commands import commands_on_files
from tests.support.trees import tree as files_of

pytestmark = pytest.mark.anyio

PAGES = {
    "Inbox.md": "# Inbox\n\nSee [[Alpha]].\n",
    "Projects/Alpha.md": "# Alpha\n\nfirst\n\nsecond\n\nthird\n",
    "Projects/Beta.md": "# Beta\n",
    "Old.md": "# Old\n",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def tenant(tmp_path: Path) -> Tenant:
    return tenant_in(tmp_path / "mirror", pages=PAGES)


@asynccontextmanager
async def stdio(tenant: Tenant) -> AsyncIterator[Agent]:
    async with on_stdio(
        process(tenant.root.parent, {"MIRROR_MCP_LOCAL_TRUST": "true"}, "--tools", "pages,changes")
    ) as agent:
        yield agent


def memory(tenant: Tenant, **options: Any) -> Any:
    return in_memory(tenant, sets=("pages", "changes"), **options)


def pages(tenant: Tenant) -> dict[str, str]:
    return {path: data.decode() for path, data in files_of(tenant.root).items() if not path.startswith(".records")}


def events(tenant: Tenant) -> list[dict[str, Any]]:
    files = sorted((tenant.root / ".records/events").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


async def change_everything(agent: Agent) -> None:
    await agent.call("edit_page", path="Projects/Alpha.md", edits=[{"find": "first", "replace": "the first"}])
    await agent.call("write_page", path="New.md", content="# New\n\n[[Beta]]\n")
    await agent.call("move_page", sourcePath="Projects/Beta.md", destinationPath="Archive/Beta.md")
    await agent.call("delete_page", path="Old.md")


async def test_changes_are_seen_by_their_connection_alone_until_they_are_applied(tenant: Tenant) -> None:
    async with stdio(tenant) as agent, stdio(tenant) as other:
        opened = await agent.call("begin_changes", title="Tidy up")
        await change_everything(agent)

        assert pages(tenant) == PAGES
        assert events(tenant) == []
        mine = {page["path"] for page in (await agent.call("list_pages", depth=5))["pages"]}
        theirs = {page["path"] for page in (await other.call("list_pages", depth=5))["pages"]}
        assert {"New.md", "Archive/Beta.md"} <= mine
        assert not {"Old.md", "Projects/Beta.md"} & mine
        assert not {"New.md", "Archive/Beta.md"} & theirs
        assert [hit["path"] for hit in (await agent.call("search_pages", query="the first"))["results"]] == [
            "Projects/Alpha.md"
        ]
        assert (await other.call("search_pages", query="the first"))["results"] == []

        review = await agent.call("review_changes")
        assert {change["path"]: change["kind"] for change in review["changes"]} == {
            "Projects/Alpha.md": "edited",
            "New.md": "created",
            "Archive/Beta.md": "moved",
            "Old.md": "deleted",
        }
        assert "+the first" in review["diff"]

        applied = await agent.call("apply_changes", message="Tidied")

        assert applied["changeSet"] == opened["changeSet"]
        assert (applied["created"], applied["edited"], applied["moved"], applied["deleted"]) == (1, 1, 1, 1)
        after = pages(tenant)
        assert after.keys() == {"Inbox.md", "Projects/Alpha.md", "Archive/Beta.md", "New.md"}
        assert "the first" in after["Projects/Alpha.md"]
        await other.call("read_page", path="New.md")
        recorded = events(tenant)
        assert recorded[0]["type"] == "ChangesApplied"
        assert recorded[0]["data"]["title"] == "Tidy up"
        assert recorded[0]["data"]["message"] == "Tidied"
        assert recorded[0]["data"]["pages"] == 4
        assert {event["data"]["change_set"] for event in recorded} == {opened["changeSet"]}
        assert sorted(event["type"] for event in recorded[1:]) == [
            "PageCreated",
            "PageDeleted",
            "PageMoved",
            "PageWritten",
        ]
        status = await agent.call("changes_status")
        assert status["open"] is None
        assert [(change_set["state"], "pages" in change_set) for change_set in status["others"]] == [("applied", False)]


async def test_a_change_set_survives_its_server_and_is_continued(tenant: Tenant) -> None:
    async with stdio(tenant) as agent:
        opened = await agent.call("begin_changes", title="Long work")
        await change_everything(agent)
    async with stdio(tenant) as agent:
        status = await agent.call("changes_status")
        assert status["open"] is None
        assert [(change_set["title"], change_set["state"], change_set["pages"]) for change_set in status["others"]] == [
            ("Long work", "open", 4)
        ]
        await agent.call("begin_changes", changeSet=opened["changeSet"][:13])
        await agent.call("edit_page", path="New.md", edits=[{"find": "# New", "replace": "# Newer"}])
        await agent.call("apply_changes")
    assert "# Newer" in pages(tenant)["New.md"]


async def test_an_edit_of_another_place_is_merged_and_one_of_the_same_is_a_conflict(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        await agent.call("begin_changes", title="Edits")
        await change_everything(agent)
        alpha = tenant.root / "Projects/Alpha.md"
        alpha.write_text(alpha.read_text().replace("first", "her first"))
        before = pages(tenant)

        refused = await agent.refused("apply_changes")

        assert refused["code"] == "CONFLICT"
        assert [page["path"] for page in refused["pages"]] == ["Projects/Alpha.md"]
        assert "review_changes" in refused["instruction"]
        assert pages(tenant) == before
        clash = (await agent.call("review_changes", path="Projects/Alpha.md"))["changes"][0]["clash"]
        assert "same lines" in clash

        alpha.write_text(PAGES["Projects/Alpha.md"].replace("third", "her third"))
        applied = await agent.call("apply_changes")

        assert applied["merged"] == ["Projects/Alpha.md"]
        assert pages(tenant)["Projects/Alpha.md"] == "# Alpha\n\nthe first\n\nsecond\n\nher third\n"


async def test_a_clash_shows_what_others_wrote_and_ends_where_the_draft_says_the_same(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        await agent.call("begin_changes", title="Edits")
        await change_everything(agent)
        assert "underneathDiff" not in await agent.call("review_changes", path="Projects/Alpha.md")
        alpha = tenant.root / "Projects/Alpha.md"
        alpha.write_text(alpha.read_text().replace("first", "her first"))
        refused = await agent.refused("apply_changes")
        review = await agent.call("review_changes", path="Projects/Alpha.md")
        assert "underneathDiff" in refused["instruction"]
        assert "+her first" in review["underneathDiff"]
        assert "underneathDiff" not in await agent.call("review_changes")

        await agent.call("edit_page", path="Projects/Alpha.md", edits=[{"find": "the first", "replace": "her first"}])
        assert (await agent.call("apply_changes"))["state"] == "applied"
        assert "her first" in pages(tenant)["Projects/Alpha.md"]


async def test_a_clashing_page_is_discarded_alone_read_as_the_tree_has_it_and_written_over_what_was_read(
    tenant: Tenant,
) -> None:
    async with memory(tenant) as agent:
        await agent.call("read_page", path="Projects/Alpha.md")
        await agent.call("begin_changes", title="Edits")
        await change_everything(agent)
        own_text = (await agent.call("read_page", path="Projects/Alpha.md"))["content"]
        alpha = tenant.root / "Projects/Alpha.md"
        alpha.write_text(PAGES["Projects/Alpha.md"].replace("first", "her first"))
        refused = await agent.refused("apply_changes")
        assert "discard_changes" in refused["instruction"]

        discarded = await agent.call("discard_changes", path="Projects/Alpha.md")

        assert discarded["state"] == "open"
        unread = await agent.refused("write_page", path="Projects/Alpha.md", content=own_text)
        assert unread["code"] == "CONFLICT"
        read = await agent.call("read_page", path="Projects/Alpha.md")
        assert "her first" in read["content"]
        await agent.call("write_page", path="Projects/Alpha.md", content=own_text, expectedDigest=read["digest"])
        review = await agent.call("review_changes", path="Projects/Alpha.md")
        assert "-her first" in review["diff"]
        assert (await agent.call("apply_changes"))["pages"] == review["pages"] == discarded["pages"] + 1
        assert pages(tenant)["Projects/Alpha.md"] == own_text


async def test_what_the_tree_has_after_it_was_read_is_never_written_over(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        alpha = tenant.root / "Projects/Alpha.md"
        await agent.call("begin_changes", title="Edits")
        await change_everything(agent)
        alpha.write_text(PAGES["Projects/Alpha.md"].replace("first", "her first"))
        await agent.call("discard_changes", path="Projects/Alpha.md")
        await agent.call("read_page", path="Projects/Alpha.md")
        await agent.call("edit_page", path="Projects/Alpha.md", edits=[{"find": "her first", "replace": "our first"}])
        alpha.write_text(PAGES["Projects/Alpha.md"].replace("first", "his first"))
        before = pages(tenant)
        assert (await agent.refused("apply_changes"))["code"] == "CONFLICT"
        assert pages(tenant) == before


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("path", ["Projects/Alpha.md", "New.md", "Old.md"])
async def test_a_discarded_page_is_the_trees_again_and_the_rest_is_applied(
    tenant: Tenant, path: str, restarts: bool
) -> None:
    tree_text = "# Theirs\n\nher first\n"
    async with memory(tenant) as agent:
        opened = await agent.call("begin_changes", title="Edits")
        await change_everything(agent)
        (tenant.root / path).write_text(tree_text)
        assert (await agent.refused("apply_changes"))["code"] == "CONFLICT"
        await agent.call("discard_changes", path=path)
        assert (await agent.call("read_page", path=path))["content"] == tree_text
        assert path in {row["path"] for row in (await agent.call("search_pages", query="Theirs"))["results"]}
        assert (await agent.refused("review_changes", path=path))["code"] == "NOT_CHANGED"
        if not restarts:
            await agent.call("apply_changes")
    if restarts:
        async with memory(tenant) as agent:
            await agent.call("begin_changes", changeSet=opened["changeSet"])
            await agent.call("apply_changes")
    assert pages(tenant)[path] == tree_text
    assert "Archive/Beta.md" in pages(tenant)


async def test_the_text_of_a_discarded_page_is_in_the_trash(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        await agent.call("begin_changes", title="Edits")
        await change_everything(agent)
        await agent.call("discard_changes", path="Projects/Alpha.md")
    texts = [file.read_text() for file in (tenant.root / ".mirrord/trash").iterdir()]
    assert "# Alpha\n\nthe first\n\nsecond\n\nthird\n" in texts


async def test_what_other_changes_rely_on_is_not_discarded_alone(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        assert (await agent.refused("discard_changes", path="Old.md"))["code"] == "NO_CHANGES"
        opened = await agent.call("begin_changes", title="Edits")
        await change_everything(agent)
        await agent.call("write_page", path="Fresh/Page.md", content="# Page\n")
        moved = await agent.refused("discard_changes", path="Archive/Beta.md")
        inner = await agent.refused("discard_changes", path="Fresh/Page.md")
        assert moved["code"] == inner["code"] == "NOT_SEPARABLE"
        assert "move_page" in moved["instruction"]
        assert (await agent.refused("discard_changes", path="Nowhere.md"))["code"] == "NOT_CHANGED"
        both = await agent.refused("discard_changes", path="Old.md", changeSet=opened["changeSet"])
        assert both["code"] == "INVALID_ARGUMENTS"
        await agent.call("move_page", sourcePath="Archive/Beta.md", destinationPath="Projects/Beta.md")
        await agent.call("apply_changes")
    assert {"Projects/Beta.md", "Fresh/Page.md"} <= pages(tenant).keys()


@pytest.mark.parametrize(
    ("happened", "reason"),
    [
        ("renamed", "was renamed in the tree since, to Projects/Other.md"),
        ("deleted", "was deleted in the tree since"),
        ("conflict", "has an open conflict"),
        ("made", "was made in the tree meanwhile"),
        ("edited the deleted", "was edited in the tree since"),
    ],
)
async def test_a_page_that_became_another_in_the_tree_is_a_conflict(tenant: Tenant, happened: str, reason: str) -> None:
    async with memory(tenant) as agent:
        await agent.call("begin_changes", title="Edits")
        await change_everything(agent)
        alpha = tenant.root / "Projects/Alpha.md"
        if happened == "renamed":
            alpha.rename(alpha.with_name("Other.md"))
        elif happened == "deleted":
            alpha.unlink()
        elif happened == "conflict":
            alpha.with_name("Alpha (conflict 2026-01-01 101010Z abcdef).md").write_text("# Theirs\n")
        elif happened == "made":
            (tenant.root / "New.md").write_text("# Theirs\n")
        else:
            (tenant.root / "Old.md").write_text("# Edited\n")
        before = pages(tenant)

        refused = await agent.refused("apply_changes")

        assert refused["code"] == "CONFLICT"
        assert reason in refused["error"]
        assert pages(tenant) == before


async def test_a_change_set_that_removes_the_other_text_of_a_conflict_settles_it(tenant: Tenant) -> None:
    beside = "Projects/Alpha (conflict 2026-01-01 101010Z abcdef).md"
    async with memory(tenant) as agent:
        await agent.call("begin_changes", title="Edits")
        await change_everything(agent)
        (tenant.root / beside).write_text("# Theirs\n\nhers\n")
        refused = await agent.refused("apply_changes")
        assert beside in refused["error"]
        assert "delete_page" in refused["instruction"]
        assert beside in str(await agent.call("review_changes"))
        await agent.call("read_page", path=beside)
        await agent.call("delete_page", path=beside)
        await agent.call("apply_changes")
    assert beside not in pages(tenant)
    assert "the first" in pages(tenant)["Projects/Alpha.md"]


async def test_what_cannot_be_has_a_clear_answer(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        assert (await agent.refused("apply_changes"))["code"] == "NO_CHANGES"
        assert (await agent.refused("review_changes"))["code"] == "NO_CHANGES"
        assert (await agent.refused("begin_changes"))["code"] == "INVALID_TITLE"
        unknown = await agent.refused("begin_changes", changeSet="01234567-89ab-7def-8123-456789abcdef")
        assert unknown["code"] == "CHANGES_NOT_FOUND"
        opened = await agent.call("begin_changes", title="One")
        assert (await agent.refused("begin_changes", title="Two"))["code"] == "CHANGES_OPEN"
        assert (await agent.refused("apply_changes"))["code"] == "NOTHING_CHANGED"
        await change_everything(agent)
        (tenant.root / "PAUSE").touch()
        paused = await agent.refused("apply_changes")
        assert paused["code"] == "HALTED"
        assert "PAUSE" in paused["error"]
        (tenant.root / "PAUSE").unlink()
        await agent.call("apply_changes")
        again = await agent.refused("apply_changes")
        assert again["code"] == "CHANGES_ENDED"
        assert "applied already" in again["error"]
        assert (await agent.refused("apply_changes", changeSet=opened["changeSet"]))["code"] == "CHANGES_ENDED"


async def test_a_change_set_of_another_token_is_as_unknown_as_none(tenant: Tenant) -> None:
    async with memory(tenant, token="one") as agent:
        opened = await agent.call("begin_changes", title="Mine")
        await change_everything(agent)
        async with memory(tenant, token="two") as other:
            foreign = [
                await other.refused(tool, changeSet=opened["changeSet"])
                for tool in ("begin_changes", "apply_changes", "discard_changes")
            ]
            unknown = await other.refused("begin_changes", changeSet="f" * 36)
            assert {answer["code"] for answer in [*foreign, unknown]} == {"CHANGES_NOT_FOUND"}
            assert (await other.call("changes_status"))["others"] == []
        async with memory(tenant, token="one") as second:
            busy = await second.refused("begin_changes", changeSet=opened["changeSet"])
            assert busy["code"] == "BUSY"
            assert all(call in busy["instruction"] for call in ("apply_changes", "discard_changes", "begin_changes"))


async def test_a_change_set_that_another_connection_works_on_is_neither_applied_nor_discarded(tenant: Tenant) -> None:
    async with memory(tenant, token="one") as agent, memory(tenant, token="one") as second:
        opened = await agent.call("begin_changes", title="Mine")
        await agent.call("write_page", path="First.md", content="first\n")
        for tool in ("apply_changes", "discard_changes"):
            refused = await second.refused(tool, changeSet=opened["changeSet"])
            assert (refused["code"], "Mine" in refused["error"]) == ("BUSY", True)
        await agent.call("write_page", path="Second.md", content="second\n")
        assert (await agent.call("changes_status"))["open"]["pages"] == 2
        assert pages(tenant) == PAGES


async def test_what_was_meant_for_a_change_set_that_ended_elsewhere_never_gets_into_the_tree(tenant: Tenant) -> None:
    async with memory(tenant, token="one") as agent, memory(tenant, token="one") as second:
        opened = await agent.call("begin_changes", title="Mine")
        await agent.call("write_page", path="First.md", content="first\n")
        make_old(tenant, opened["changeSet"], IDLE_SECONDS + 60)
        await second.call("discard_changes", changeSet=opened["changeSet"])
        for number in range(3):  # a program may send several at once, or try again
            refused = await agent.refused("write_page", path=f"Lost {number}.md", content="text\n")
            assert (refused["code"], refused["state"]) == ("CHANGES_ENDED", "discarded")
            assert "discard_changes" in refused["instruction"]
        assert (await agent.call("changes_status"))["open"][
            "state"
        ] == "discarded"  # sent along with a write, it is no end
        assert (await agent.refused("write_page", path="Lost.md", content="text\n"))["code"] == "CHANGES_ENDED"
        assert pages(tenant) == PAGES
        assert (await agent.refused("discard_changes"))["code"] == "CHANGES_ENDED"
        assert (await agent.call("changes_status"))["open"] is None
        await agent.call("write_page", path="Meant for the tree.md", content="text\n")
        assert pages(tenant).keys() == PAGES.keys() | {"Meant for the tree.md"}


async def test_after_a_change_set_that_ended_elsewhere_another_one_begins(tenant: Tenant) -> None:
    async with memory(tenant, token="one") as agent, memory(tenant, token="one") as second:
        opened = await agent.call("begin_changes", title="Mine")
        await agent.call("write_page", path="First.md", content="first\n")
        make_old(tenant, opened["changeSet"], IDLE_SECONDS + 60)
        await second.call("apply_changes", changeSet=opened["changeSet"])
        assert (await agent.refused("read_page", path="First.md"))["code"] == "CHANGES_ENDED"
        await agent.call("begin_changes", title="Next")
        await agent.call("write_page", path="Second.md", content="second\n")
        assert pages(tenant).keys() == PAGES.keys() | {"First.md"}


async def test_a_review_of_a_folder_shows_what_changes_in_it(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        await agent.call("begin_changes", title="Edits")
        await agent.call("write_page", path="Projects/New.md", content="new\n")
        await agent.call("edit_page", path="Projects/Alpha.md", edits=[{"find": "first", "replace": "the first"}])
        await agent.call("write_page", path="Projectsfolder.md", content="beside\n")
        for path in ("Projects", "Projects/"):
            review = await agent.call("review_changes", path=path)
            assert {change["path"] for change in review["changes"]} == {"Projects/New.md", "Projects/Alpha.md"}
            assert ("+new" in review["diff"], "+the first" in review["diff"]) == (True, True)
        refused = await agent.refused("review_changes", path="Projects.md")
    assert refused["code"] == "NOT_CHANGED"


async def test_the_texts_of_a_discarded_change_set_are_for_those_who_saw_it(tenant: Tenant) -> None:
    async with memory(tenant, token="one") as agent, memory(tenant, token="two") as other:
        before = await other.call("list_trash")
        await agent.call("begin_changes", title="Mine")
        await agent.call("write_page", path="Unseen.md", content="a secret\n")
        await agent.call("edit_page", path="Old.md", edits=[{"append": "another secret"}])
        await agent.call("discard_changes", path="Old.md")
        await agent.call("discard_changes")
        assert await other.call("list_trash") == before
        own_trash = (await agent.call("list_trash"))["trash"]
        assert {page["path"] for page in own_trash} == {"Unseen.md", "Old.md"}
        for page in own_trash:
            hidden = await other.refused("restore_page", trashId=page["trashId"], path="Copy.md")
            absent = await other.refused("restore_page", trashId="0" * 16, path="Copy.md")
            assert str(hidden).replace(page["trashId"], "0" * 16) == str(absent)
        unseen = next(page["trashId"] for page in own_trash if page["path"] == "Unseen.md")
        await agent.call("restore_page", trashId=unseen)
    assert pages(tenant)["Unseen.md"].endswith("a secret\n")


def make_old(tenant: Tenant, change_set: str, seconds: float) -> None:
    """Let the last write to a draft be *seconds* ago."""
    directory = tenant.root / ".mirrord/drafts" / change_set
    facts = json.loads((directory / "draft.json").read_text())
    (directory / "draft.json").write_text(json.dumps({**facts, "begun_at": facts["begun_at"] - seconds}))
    then = time.time() - seconds
    for file in (path for path in directory.rglob("*") if path.is_file()):
        os.utime(file, (then, then))


async def test_a_revoked_token_neither_reads_nor_applies_and_loses_nothing(tenant: Tenant) -> None:
    revoked: list[str] = []

    def still_holds() -> None:
        if revoked:
            raise Refused("The token was revoked.")

    async with memory(tenant, still_holds=still_holds) as agent:
        await agent.call("begin_changes", title="Mine")
        await change_everything(agent)
        revoked.append("yes")
        assert (await agent.refused("apply_changes"))["code"] == "TOKEN_REFUSED"
        assert pages(tenant) == PAGES
        revoked.clear()
        await agent.call("apply_changes")


async def test_discarded_changes_leave_the_tree_as_it_was_and_their_texts_in_the_trash(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        await agent.call("begin_changes", title="Never mind")
        await change_everything(agent)
        discarded = await agent.call("discard_changes")

        assert discarded["state"] == "discarded"
        assert pages(tenant) == PAGES
        trash = [file.read_text() for file in (tenant.root / ".mirrord/trash").glob("d.*") if file.suffix != ".json"]
        assert any("the first" in text for text in trash)
        assert (await agent.call("read_page", path="Projects/Alpha.md"))["content"] == PAGES["Projects/Alpha.md"]


async def test_a_draft_that_nobody_wrote_to_for_two_weeks_is_removed_with_the_next_begin(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        opened = await agent.call("begin_changes", title="Forgotten")
        await change_everything(agent)
    directory = tenant.root / ".mirrord/drafts" / opened["changeSet"]
    facts = json.loads((directory / "draft.json").read_text())
    (directory / "draft.json").write_text(json.dumps(facts | {"begun_at": facts["begun_at"] - 15 * 86_400}))
    long_ago = time.time() - 15 * 86_400
    for file in [directory / "manifest.jsonl", *(directory / "tree/.records/events").iterdir()]:
        os.utime(file, (long_ago, long_ago))
    async with memory(tenant) as agent:
        await agent.call("begin_changes", title="Another")
        assert [change_set["title"] for change_set in (await agent.call("changes_status"))["others"]] == []
    assert not directory.exists()
    assert pages(tenant) == PAGES


async def test_what_needs_a_person_needs_one_when_it_is_applied(tenant: Tenant) -> None:
    gate = Gate(levels=trust_levels({"delete_page": "suggest"}))
    async with memory(tenant, gate=gate) as agent:
        await agent.call("begin_changes", title="Deletions")
        deleted = await agent.call("delete_page", path="Old.md")
        assert deleted["deleted"]  # at once, in the draft
        assert (await agent.call("review_changes"))["needs"] == "SUGGEST"

        pending = await agent.call("apply_changes")

        assert pending["status"] == "pending_approval"
        assert any("deleted Old.md" in line for line in pending["preview"]["lines"])
        assert pages(tenant) == PAGES
        requests = list((tenant.root / ".records/approvals").glob("*.json"))
        assert json.loads(requests[0].read_text())["command"] == "apply_changes"


@pytest.mark.parametrize("written", [str.upper, lambda change_set: change_set[:12], lambda change_set: change_set])
async def test_however_its_id_is_written_a_change_set_needs_the_person_it_needs(
    tenant: Tenant, written: Callable[[str], str]
) -> None:
    gate = Gate(levels=trust_levels({"delete_page": "suggest"}))
    async with memory(tenant, gate=gate) as agent:
        opened = await agent.call("begin_changes", title="Deletions")
        await agent.call("delete_page", path="Old.md")
        pending = await agent.call("apply_changes", changeSet=written(opened["changeSet"]))
        assert pending["status"] == "pending_approval"
        assert pages(tenant) == PAGES


async def test_to_apply_another_change_set_leaves_the_open_one_open(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        first = await agent.call("begin_changes", title="First")
        await agent.call("write_page", path="First.md", content="first\n")
    async with memory(tenant) as agent:
        second = await agent.call("begin_changes", title="Second")
        applied = await agent.call("apply_changes", changeSet=first["changeSet"])
        await agent.call("write_page", path="Second.md", content="second\n")

        assert applied["changeSet"] == first["changeSet"]
        assert (await agent.call("changes_status"))["open"]["changeSet"] == second["changeSet"]
        assert pages(tenant).keys() == PAGES.keys() | {"First.md"}


async def test_a_deleted_page_comes_back_by_the_trash_id_of_the_draft(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        await agent.call("begin_changes", title="Deletions")
        deleted = await agent.call("delete_page", path="Old.md")
        await agent.call("apply_changes")
        await agent.call("restore_page", trashId=deleted["trashId"])
        assert pages(tenant)["Old.md"] == PAGES["Old.md"]


async def test_the_tools_of_change_sets_take_at_most_5_kilobytes_of_a_list(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        listed = (await agent.client.list_tools()).tools[-10:]
    texts = [tool.model_dump_json(by_alias=True, exclude_none=True) for tool in listed]
    assert [tool.name for tool in listed] == [
        "begin_changes",
        "review_changes",
        "apply_changes",
        "discard_changes",
        "changes_status",
        "undo_changes",
        "list_changes",
        "page_history",
        "diff_page",
        "list_trash",
    ]
    assert sum(map(len, texts)) <= 5 * 1024


async def test_a_review_of_many_changes_is_shown_in_parts_of_8_kb(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        await agent.call("begin_changes", title="Many pages")
        for number in range(70):
            text = "".join(f"line {line} über alles\n" for line in range(8))
            await agent.call("create_page", title=f"A page with a long name {number:02}", content=text)
        answers = [await agent.call("review_changes")]
        while "nextCursor" in answers[-1]:
            answers.append(await agent.call("review_changes", cursor=answers[-1]["nextCursor"]))
        foreign = await agent.refused("review_changes", path="Old.md", cursor=answers[0]["nextCursor"])

    paths = [change["path"] for answer in answers for change in answer["changes"]]
    assert (len(set(paths)), len(paths)) == (70, 70)
    assert answers[0]["pages"] == answers[0]["more"] + len(answers[0]["changes"]) == 70
    assert "more" not in answers[-1]
    for answer in answers:
        assert len(json.dumps(answer, ensure_ascii=False).encode()) <= 8_192
        assert answer["changes"][0]["path"] in answer["diff"]
    assert "path for one page" in answers[0]["note"]
    assert foreign["code"] == "NOT_CHANGED"


async def test_people_list_what_agents_have_begun_and_not_ended(tenant: Tenant, tmp_path: Path) -> None:
    run = commands_on_files(tmp_path)
    async with memory(tenant) as agent:
        ended = await agent.call("begin_changes", title="Ended")
        await agent.call("discard_changes")
        opened = await agent.call("begin_changes", title="Tidy the inbox")
        await agent.call("edit_page", path="Inbox.md", edits=[{"append": "More."}])
        (used,) = json.loads(run("changes", "drafts", "--json").out)
    (draft,) = json.loads(run("changes", "drafts", "--json").out)

    assert ended["changeSet"] != opened["changeSet"] == draft["id"]
    assert (used["state"], used["entries_count"]) == ("in use", None)
    assert (draft["state"], draft["entries_count"], draft["actor"]["name"]) == ("open", 1, "tester")
    line = run("changes", "drafts").out
    assert ("Tidy the inbox" in line, "1 entry" in line, opened["changeSet"][:18] in line) == (True, True, True)
