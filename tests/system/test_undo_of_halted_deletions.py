"""An undo takes back deletions that wait in a halt, too: their files come back, and nothing waits any more."""

import json
from collections.abc import Iterator

import pytest

from tests.support.entries import value
from tests.support.halted_folders import (
    MANY,
    SECONDS,
    Folder,
    agent_of,
    delete_all,
    halted,
    halts,
    is_told_halted,
    serve_one_page,
)
from tests.support.harness import Mirrord, eventually


@pytest.fixture(scope="module")
def mirrord(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Mirrord]:
    with serve_one_page(tmp_path_factory.mktemp("halted") / "installation", module_dsn) as running:
        yield running


@pytest.fixture(scope="module")
def token(mirrord: Mirrord) -> str:
    return mirrord.create_token()


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
