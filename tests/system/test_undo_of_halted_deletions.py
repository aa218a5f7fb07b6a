"""An undo takes back deletions that wait in a halt, too: their files come back, and nothing waits any more."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from mirrord.domain.approval import MIN_DELETIONS
from mirrord.mirror.heartbeat import Heartbeat
from tests.support.clients import Agent, on_stdio, process
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually

MANY = MIN_DELETIONS + 5
SECONDS = 120.0  # of patience, on a busy machine


@pytest.fixture(scope="module")
def mirrord(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Mirrord]:
    with Near(tmp_path_factory.mktemp("halted") / "installation", dsn=module_dsn) as running:
        save(running.file("Stays.md"), "# Stays\n")
        running.up()
        yield running


@pytest.fixture(scope="module")
def token(mirrord: Mirrord) -> str:
    return mirrord.create_token()


class Folder:
    """A folder with many pages, one of them with an attachment."""

    def __init__(self, mirrord: Mirrord, name: str) -> None:
        self.mirrord, self.name = mirrord, name
        self.texts = {f"{name}/Page {number:02}.md": f"# Page {number}\n\n{name}\n" for number in range(MANY)}
        for path, text in self.texts.items():
            save(mirrord.file(path), text)
        mirrord.flush()

    @property
    def files(self) -> dict[str, str | None]:
        return {path: text for path in self.texts if (text := self.mirrord.text(path)) is not None}

    @property
    def living_rows(self) -> int:
        query = (
            "SELECT count(*) FROM page JOIN page AS folder ON folder.id = page.parent_id "
            "WHERE folder.name = %s AND folder.deleted_at IS NULL AND page.deleted_at IS NULL"
        )
        return int(value(self.mirrord.app, query, self.name))

    def expect_back(self) -> None:
        """All pages are in files and rows, and nothing waits."""
        eventually(lambda: self.files == self.texts, "all files to be back", SECONDS)
        eventually(lambda: halts(self.mirrord) == [], "the halt to end", SECONDS)
        eventually(lambda: not is_told_halted(self.mirrord), "the daemon to tell that", SECONDS)
        self.mirrord.flush()
        assert (self.files, self.living_rows) == (self.texts, MANY)
        assert self.mirrord.check() == {}


def halts(mirrord: Mirrord) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(mirrord.run("halts", "--json").stdout)
    return listed


def is_told_halted(mirrord: Mirrord) -> bool:
    """Whether the daemon tells agents of a halt."""
    facts = Heartbeat(mirrord.mirror).read() or {}
    return bool(facts["tenants"][mirrord.tenant]["halted"])


def halted(mirrord: Mirrord) -> dict[str, Any]:
    """The halt, once there is one."""
    query = "SELECT count(*) FROM mirrord.halt WHERE closed_at IS NULL"
    eventually(lambda: value(mirrord.app, query), "the halt in rows", SECONDS)
    (halt,) = halts(mirrord)
    return halt


@asynccontextmanager
async def agent_of(mirrord: Mirrord, token: str) -> AsyncIterator[Agent]:
    async with on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token}, "--tools", "pages,changes")) as agent:
        yield agent


async def delete_all(agent: Agent, folder: Folder, title: str) -> str:
    """Delete the folder in a change set; the id of that."""
    draft = await agent.call("begin_changes", title=title)
    await agent.call("delete_page", path=folder.name, recursive=True)
    assert (await agent.call("apply_changes"))["deleted"] == MANY
    return str(draft["changeSet"])


async def test_an_undo_brings_back_deletions_that_wait_in_a_halt(mirrord: Mirrord, token: str) -> None:
    folder = Folder(mirrord, "Halted")
    async with agent_of(mirrord, token) as agent:
        change_set = await delete_all(agent, folder, "Tidy")
        halted(mirrord)
        answer = await agent.call("undo_changes", changeSet=change_set)
        assert (answer["undone"], answer["left"]) == (True, [])
        assert any(change.startswith("Page 00: comes back") for change in answer["changes"])
        folder.expect_back()


async def test_the_undo_of_such_an_undo_deletes_again(mirrord: Mirrord, token: str) -> None:
    folder = Folder(mirrord, "Redone")
    async with agent_of(mirrord, token) as agent:
        change_set = await delete_all(agent, folder, "Tidy again")
        halted(mirrord)
        undo = await agent.call("undo_changes", changeSet=change_set)
        folder.expect_back()
        redo = await agent.call("undo_changes", changeSet=undo["changeSet"])
        assert (redo["undone"], redo["left"]) == (True, [])
        eventually(lambda: (folder.files, folder.living_rows) == ({}, 0), "the pages to go", SECONDS)
        assert halts(mirrord) == []
        again = await agent.call("undo_changes", changeSet=redo["changeSet"])
        assert (again["undone"], again["left"]) == (True, [])
        folder.expect_back()


async def test_a_person_undoes_what_waits_and_others_deletions_go_on_waiting(mirrord: Mirrord) -> None:
    folder, other = Folder(mirrord, "Mine"), Folder(mirrord, "Theirs")
    mirrord.file("PAUSE").touch()  # so that all of it is one halt
    async with agent_of(mirrord, mirrord.create_token("sweeper")) as agent:
        for path in sorted(folder.texts):
            await agent.call("delete_page", path=path)
    for path in other.texts:
        mirrord.file(path).unlink()
    mirrord.file("PAUSE").unlink()
    assert halted(mirrord)["entries"] >= 2 * MANY
    previewed = json.loads(
        mirrord.run("undo", "--by", "sweeper", "--since", "1 hour ago", "--dry-run", "--json").stdout
    )
    assert (len(previewed["changes"]), previewed["left"], folder.files) == (MANY, [], {})
    undone = mirrord.run("undo", "--by", "agent sweeper", "--since", "1 hour ago")
    assert undone.returncode == 0, undone.stderr
    assert "Page 00: comes back" in undone.stdout
    eventually(lambda: folder.files == folder.texts, "the files to be back", SECONDS)
    eventually(lambda: [halt["decision"] for halt in halts(mirrord)] == [None], "the undo to be carried out", SECONDS)
    (remaining_halt,) = halts(mirrord)
    assert {path.split("/")[0] for path in remaining_halt["paths"]} == {"Theirs"}
    assert "taken back by an undo" in remaining_halt["sentence"]
    assert mirrord.run("resume", str(remaining_halt["id"]), "--apply").returncode == 0
    eventually(lambda: other.living_rows == 0, "the other rows to go", SECONDS)
    folder.expect_back()


async def test_deletions_that_a_person_accepted_do_not_halt(mirrord: Mirrord) -> None:
    folder = Folder(mirrord, "Accepted")
    async with agent_of(mirrord, mirrord.create_token("reviewed", "--review")) as agent:
        await agent.call("delete_page", path=folder.name, recursive=True)
        change_set = (await agent.call("apply_changes"))["changeSet"]
        waits = "SELECT count(*) FROM approval WHERE arguments ->> 'change_set' = %s AND state = 'pending'"
        eventually(lambda: value(mirrord.app, waits, change_set), "the review", SECONDS)
        accepted = mirrord.run("changes", "accept", change_set)
        assert accepted.returncode == 0, accepted.stderr
        eventually(lambda: folder.living_rows == 0, "the rows to go", SECONDS)
        mirrord.flush()
        assert halts(mirrord) == []
        undone = mirrord.run("undo", change_set)
        assert undone.returncode == 0, undone.stderr
        folder.expect_back()


async def test_what_waits_is_told_to_who_deletes_and_to_who_asks(mirrord: Mirrord, token: str) -> None:
    folder = Folder(mirrord, "Told")
    async with agent_of(mirrord, token) as agent:
        await agent.call("begin_changes", title="Many")
        in_draft = await agent.call("delete_page", path=folder.name, recursive=True)
        applied = await agent.call("apply_changes")
        assert "note" not in in_draft
        assert "wait until a person confirms" in applied["note"]
        halted(mirrord)
        eventually(lambda: is_told_halted(mirrord), "the daemon to tell of the halt", SECONDS)
        status = await agent.call("sync_status")
        assert any("mirrord halts" in sentence for sentence in status["sentences"])
        single = await agent.call("delete_page", path="Stays.md")
        assert "mirrord halts" in single["note"]
        assert (await agent.call("undo_changes"))["undone"]
        assert (await agent.call("undo_changes", changeSet=applied["changeSet"]))["undone"]
        folder.expect_back()
    assert mirrord.text("Stays.md") == "# Stays\n"


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
