"""An undo takes back what waits in a halt, whatever happened since: days, kills, pauses, other edits."""

import asyncio
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.editors import save
from tests.support.entries import value
from tests.support.halted_folders import MANY, SECONDS, Folder, agent_of, delete_all, halted, serve_one_page
from tests.support.harness import Mirrord, eventually


@pytest.fixture(scope="module")
def mirrord(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Mirrord]:
    with serve_one_page(tmp_path_factory.mktemp("halted") / "installation", module_dsn) as running:
        yield running


@pytest.fixture(scope="module")
def token(mirrord: Mirrord) -> str:
    return mirrord.create_token()


async def test_what_a_person_confirms_after_a_weekend_is_its_agents_and_is_undone(
    mirrord: Mirrord, token: str, module_dsn: str
) -> None:
    folder = Folder(mirrord, "Confirmed")
    async with agent_of(mirrord, token) as agent:
        change_set = await delete_all(agent, folder, "Confirmed later")
    halt = halted(mirrord)
    with psycopg.connect(module_dsn, autocommit=True) as admin:
        admin.execute("SET session_replication_role = replica")
        admin.execute(
            "UPDATE mirrord.event SET occurred_at = occurred_at - interval '2 days' "
            "WHERE tenant_id = (SELECT id FROM mirrord.tenant WHERE name = %s)",
            [mirrord.tenant],
        )
    mirrord.restart()
    assert mirrord.run("resume", str(halt["id"]), "--apply").returncode == 0
    eventually(lambda: folder.living_rows == 0, "the rows to go", SECONDS)
    named = "SELECT count(*) FROM page_revision WHERE change_set = %s AND deleted"
    eventually(lambda: value(mirrord.app, named, change_set) == MANY + 1, "the deletions to be their agent's", SECONDS)
    undone = mirrord.run("undo", change_set)
    assert undone.returncode == 0, undone.stderr
    folder.expect_back()


async def test_deletions_that_were_undone_a_moment_ago_hinder_no_undo(mirrord: Mirrord) -> None:
    save(mirrord.file("Few/One.md"), "# One\n")
    save(mirrord.file("Few/Two.md"), "# Two\n")
    mirrord.flush()
    async with agent_of(mirrord, mirrord.create_token("regretful")) as agent:
        deleted = await agent.call("delete_page", path="Few/One.md")
        eventually(lambda: mirrord.page("Few/One.md") is None, "the deletion in rows", SECONDS)
        assert (await agent.call("undo_changes"))["undone"]
        eventually(lambda: mirrord.text("Few/One.md"), "the file", SECONDS)
        await agent.call("edit_page", path="Few/Two.md", edits=[{"find": "Two", "replace": "Three"}])
        mirrord.flush()
    edited = "SELECT count(*) FROM page_revision WHERE actor ->> 'name' = 'regretful' AND page_id <> %s"
    eventually(lambda: value(mirrord.app, edited, deleted["pageId"]), "the author of the edit", SECONDS)
    undone = mirrord.run("undo", "--by", "regretful", "--since", "1 hour ago")
    assert undone.returncode == 0, undone.stderr
    eventually(lambda: mirrord.text("Few/Two.md") == "# Two\n", "the earlier text", SECONDS)
    assert mirrord.text("Few/One.md") == "# One\n"


async def test_an_undo_at_once_waits_until_the_deletions_are_weighed(mirrord: Mirrord, token: str) -> None:
    folder = Folder(mirrord, "At once")
    async with agent_of(mirrord, token) as agent:
        change_set = await delete_all(agent, folder, "At once")
        answer = await agent.call("undo_changes", changeSet=change_set)
        assert (answer["undone"], answer["left"]) == (True, [])
        folder.expect_back()


async def test_an_undo_of_what_waits_survives_a_kill_and_a_pause(mirrord: Mirrord, token: str) -> None:
    folder = Folder(mirrord, "Killed")
    async with agent_of(mirrord, token) as agent:
        change_set = await delete_all(agent, folder, "Killed")
    halted(mirrord)
    with mirrord.frozen():
        undone = mirrord.run("undo", change_set)
        assert undone.returncode == 0, undone.stderr
        mirrord.file("PAUSE").touch()
        assert mirrord.run("undo", change_set).returncode != 0
    mirrord.kill()
    assert folder.files == {}
    mirrord.up()
    mirrord.file("PAUSE").unlink()
    folder.expect_back()


async def test_of_two_undos_at_once_the_second_is_told_of_the_first(mirrord: Mirrord, token: str) -> None:
    folder = Folder(mirrord, "Twice")
    async with agent_of(mirrord, token) as agent, agent_of(mirrord, token) as other:
        change_set = await delete_all(agent, folder, "Twice")
        halted(mirrord)
        calls = [each.reply("undo_changes", {"changeSet": change_set}) for each in (agent, other)]
        replies = await asyncio.gather(*calls)
    refused = [reply.structured_content for reply in replies if reply.is_error]
    assert ["undone already" in str(facts) for facts in refused] == [True]
    folder.expect_back()


async def test_pages_that_were_edited_and_then_deleted_get_their_texts_back(mirrord: Mirrord, token: str) -> None:
    folder = Folder(mirrord, "Edited")
    async with agent_of(mirrord, token) as agent:
        for path in sorted(folder.texts)[:3]:
            await agent.call("edit_page", path=path, edits=[{"find": "Edited", "replace": "Changed"}])
        mirrord.flush()
        await agent.call("delete_page", path=folder.name, recursive=True)
        halted(mirrord)
        assert (await agent.call("undo_changes"))["undone"]
        folder.expect_back()


async def test_pages_that_were_emptied_get_their_texts_back(mirrord: Mirrord, token: str) -> None:
    folder = Folder(mirrord, "Emptied")
    async with agent_of(mirrord, token) as agent:
        await agent.call("begin_changes", title="Emptied")
        for path, text in folder.texts.items():
            await agent.call("edit_page", path=path, edits=[{"find": text, "replace": ""}])
        applied = await agent.call("apply_changes")  # one by one they could reach rows before there are many
        halted(mirrord)
        assert (await agent.call("undo_changes", changeSet=applied["changeSet"]))["undone"]
        folder.expect_back()
