"""Pages that others change while a change set waits for a person: what is shown is what happens, or nothing does."""

import os
from collections.abc import Iterator

import psycopg
import pytest

from mirrord.db.database import daemon_dsn
from mirrord.mirror.write import request_files
from tests.support.clients import Agent
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually
from tests.support.reviews import (
    ALPHA,
    agent_of,
    change,
    changes,
    make_folder,
    reviewing_installation,
    set_editor,
    settled,
    status_of,
    text,
    waiting,
)


@pytest.fixture(scope="module")
def mirrord(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Mirrord]:
    with reviewing_installation(tmp_path_factory.mktemp("clashes") / "installation", module_dsn) as running:
        yield running


@pytest.fixture
def folder(mirrord: Mirrord, request: pytest.FixtureRequest) -> str:
    """A folder of the test's own, with three pages."""
    return make_folder(mirrord, request.node.name)


async def propose(mirrord: Mirrord, agent: Agent, folder: str) -> str:
    """Let an agent edit two places of a page; the change set, which waits."""
    edits = [{"find": "first", "replace": "the first"}, {"find": "third", "replace": "the third"}]
    await agent.call("edit_page", path=f"{folder}/Alpha.md", edits=edits)
    change_set = str((await agent.call("apply_changes", message="Two places"))["changeSet"])
    waiting(mirrord, change_set)
    return change_set


def write(mirrord: Mirrord, path: str, content: str) -> None:
    (mirrord.root / path).write_text(content, encoding="utf-8")


def run(mirrord: Mirrord, *arguments: str) -> tuple[int, str]:
    ran = mirrord.run("changes", *arguments, "--tenant", mirrord.tenant)
    return ran.returncode, ran.stdout + ran.stderr


async def test_another_block_that_somebody_changed_is_merged_and_applied_at_once(mirrord: Mirrord, folder: str) -> None:
    alpha = f"{folder}/Alpha.md"
    async with agent_of(mirrord) as agent:
        change_set = await propose(mirrord, agent, folder)
        write(mirrord, alpha, ALPHA.replace("second", "the person's"))
        changes(mirrord, "accept", change_set)
        assert text(mirrord, alpha) == "# Alpha\n\nthe first\n\nthe person's\n\nthe third\n"
        await settled(mirrord, agent, change_set, "applied")


async def test_what_is_shown_is_what_would_happen_now(mirrord: Mirrord, folder: str) -> None:
    alpha = f"{folder}/Alpha.md"
    async with agent_of(mirrord) as agent:
        change_set = await propose(mirrord, agent, folder)
        before = waiting(mirrord, change_set)
        assert before["is_current"]
        assert waiting(mirrord, change_set)["shown"] == before["shown"]
        write(mirrord, alpha, ALPHA.replace("second", "the person's"))

        code, printed = run(mirrord, "accept", change_set, "--shown", before["shown"])
        assert (code, "changed since it was shown" in printed) == (1, True)
        assert text(mirrord, alpha) == ALPHA.replace("second", "the person's")
        (preview,) = waiting(mirrord, change_set)["changes"]
        assert (preview["is_merged"], preview["old"]) == (True, ALPHA.replace("second", "the person's"))
        assert preview["new"] == "# Alpha\n\nthe first\n\nthe person's\n\nthe third\n"
        await agent.call("discard_changes", changeSet=change_set)


async def test_what_cannot_be_compared_now_is_neither_current_nor_accepted(mirrord: Mirrord, folder: str) -> None:
    async with agent_of(mirrord) as agent:
        change_set = await propose(mirrord, agent, folder)
        file = mirrord.root / folder / "Alpha.md"
        file.rename(mirrord.directory / "Alpha.md")
        os.mkfifo(file)
        assert not waiting(mirrord, change_set)["is_current"]
        code, printed = run(mirrord, "accept", change_set)
        assert (code, "cannot be compared" in printed) == (4, True)
        (mirrord.directory / "Alpha.md").replace(file)
        assert waiting(mirrord, change_set)["is_current"]
        await agent.call("discard_changes", changeSet=change_set)


async def test_a_daemon_killed_before_the_file_of_a_renewed_request_writes_it_at_its_next_start(
    mirrord: Mirrord, folder: str, module_dsn: str
) -> None:
    async with agent_of(mirrord) as agent:
        change_set = await propose(mirrord, agent, folder)
        write(mirrord, f"{folder}/Alpha.md", ALPHA.replace("second", "the person's"))
        waiting(mirrord, change_set)
        renewed = "SELECT id FROM mirrord.approval WHERE arguments ->> 'change_set' = %s AND state = 'pending'"
        reported = "SELECT count(*) FROM approval WHERE arguments ->> 'change_set' = %s AND told_at IS NOT NULL"
        eventually(lambda: value(mirrord.app, reported, change_set), "the file of the request that ended")
        mirrord.stop()
        file = mirrord.root / request_files.path_of(value(mirrord.app, renewed, change_set))
        file.unlink()
        with psycopg.connect(daemon_dsn(module_dsn)) as connection:
            named = "SELECT set_config('mirrord.tenant', id::text, false) FROM mirrord.tenant WHERE name = %s"
            connection.execute(named, [mirrord.tenant])
            again = "UPDATE mirrord.approval SET told_at = NULL WHERE arguments ->> 'change_set' = %s"
            connection.execute(again, [change_set])
        mirrord.up()

        eventually(file.exists, "the file of the request that waits")
        await agent.call("discard_changes", changeSet=change_set)


async def test_the_same_lines_are_named_and_nothing_is_accepted(mirrord: Mirrord, folder: str) -> None:
    alpha, theirs = f"{folder}/Alpha.md", ALPHA.replace("first", "the person's")
    async with agent_of(mirrord) as agent:
        change_set = await propose(mirrord, agent, folder)
        write(mirrord, alpha, theirs)
        code, printed = run(mirrord, "accept", change_set)
        assert code == 4
        assert f"{alpha} was changed in the tree since, in the same lines" in printed
        assert ("changes edit" in printed, "reject" in printed) == (True, True)
        assert text(mirrord, alpha) == theirs
        (preview,) = waiting(mirrord, change_set)["changes"]
        assert (preview["clash"], preview["old"]) == ("was changed in the tree since, in the same lines", theirs)
        assert "clashes" in changes(mirrord, "show", change_set, code=1)
        assert (await status_of(agent, change_set))["state"] == "in review"

        changes(mirrord, "reject", change_set, "--comment", "Keep the first line")
        rejected = await settled(mirrord, agent, change_set, "rejected")
        assert "Keep the first line" in rejected["comment"]


async def test_a_person_ends_a_clash_with_a_text(
    mirrord: Mirrord, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha = f"{folder}/Alpha.md"
    async with agent_of(mirrord) as agent:
        change_set = await propose(mirrord, agent, folder)
        write(mirrord, alpha, ALPHA.replace("first", "the person's"))
        set_editor(mirrord, monkeypatch, 'sed -i "s/the first/both/" "$1"')
        assert "+both" in changes(mirrord, "edit", change_set, alpha)
        changes(mirrord, "accept", change_set)
        assert text(mirrord, alpha) == "# Alpha\n\nboth\n\nsecond\n\nthe third\n"
        await settled(mirrord, agent, change_set, "applied")


async def test_the_rest_is_accepted_where_one_page_clashes(mirrord: Mirrord, folder: str) -> None:
    alpha, other = f"{folder}/Alpha.md", f"{folder}/Gone.md"
    async with agent_of(mirrord) as agent:
        change_set = await change(agent, folder)
        waiting(mirrord, change_set)
        write(mirrord, other, "# Gone\n\nstill needed\n")
        code, printed = run(mirrord, "accept", change_set)
        assert (code, f"{other} was edited in the tree since" in printed) == (4, True)
        assert ("changes edit" in printed, f'--page "{other}"' in printed) == (False, True)  # a deletion has no text
        changes(mirrord, "reject", change_set, "--page", other)
        write(mirrord, alpha, ALPHA.replace("second", "the person's"))
        assert waiting(mirrord, change_set)["choice"]["rejected"] == [other]
        changes(mirrord, "accept", change_set, "--comment", "Leave Gone")
        applied = await settled(mirrord, agent, change_set, "applied")
        assert (applied["rejected"], applied["comment"]) == ([other], "Leave Gone")
        assert text(mirrord, other) == "# Gone\n\nstill needed\n"
        assert "the first" in (text(mirrord, alpha) or "")


async def test_the_text_of_a_person_is_merged_with_what_others_change_later(
    mirrord: Mirrord, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha = f"{folder}/Alpha.md"
    async with agent_of(mirrord) as agent:
        change_set = await propose(mirrord, agent, folder)
        set_editor(mirrord, monkeypatch, 'sed -i "s/the first/my first/" "$1"')
        assert "+my first" in changes(mirrord, "edit", change_set, alpha)
        write(mirrord, alpha, ALPHA.replace("second", "another person's"))
        changes(mirrord, "accept", change_set)
        assert text(mirrord, alpha) == "# Alpha\n\nmy first\n\nanother person's\n\nthe third\n"
        await settled(mirrord, agent, change_set, "applied")


async def test_the_text_of_a_person_stays_after_a_clash_and_what_others_wrote_meanwhile_too(
    mirrord: Mirrord, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha = f"{folder}/Alpha.md"
    async with agent_of(mirrord) as agent:
        change_set = await propose(mirrord, agent, folder)
        later = ALPHA.replace("first", "another person's")
        write_later = f"cat > '{mirrord.root / alpha}' <<'END'\n{later}END"
        set_editor(mirrord, monkeypatch, f'sed -i "s/the first/my first/" "$1"\n{write_later}')
        code, printed = run(mirrord, "edit", change_set, alpha)
        assert (code, "+my first" in printed, "others changed the same lines" in printed) == (1, True, True)
        assert waiting(mirrord, change_set)["choice"]["unfitting"][alpha].splitlines()[2] == "my first"
        assert run(mirrord, "accept", change_set)[0] == 4
        assert text(mirrord, alpha) == later

        set_editor(mirrord, monkeypatch, 'sed -i "s/my first/ours/" "$1"')
        assert "+ours" in changes(mirrord, "edit", change_set, alpha)
        changes(mirrord, "accept", change_set)
        assert text(mirrord, alpha) == "# Alpha\n\nours\n\nsecond\n\nthe third\n"
        await settled(mirrord, agent, change_set, "applied")


async def test_blocks_of_the_text_of_a_person_are_accepted_by_themselves(
    mirrord: Mirrord, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha = f"{folder}/Alpha.md"
    async with agent_of(mirrord) as agent:
        change_set = await propose(mirrord, agent, folder)
        set_editor(mirrord, monkeypatch, 'sed -i "s/the first/my first/" "$1"')
        changes(mirrord, "edit", change_set, alpha)
        changes(mirrord, "accept", change_set, "--block", f"{alpha}:1")
        assert text(mirrord, alpha) == ALPHA.replace("first", "my first")
        applied = await settled(mirrord, agent, change_set, "applied")
        assert applied["remainder"]


async def test_blocks_are_counted_as_they_were_shown_or_none_is_accepted(mirrord: Mirrord, folder: str) -> None:
    alpha = f"{folder}/Alpha.md"
    async with agent_of(mirrord) as agent:
        change_set = await propose(mirrord, agent, folder)
        write(mirrord, alpha, ALPHA.replace("first", "the first"))
        code, printed = run(mirrord, "accept", change_set, "--block", f"{alpha}:1")
        assert (code, "its blocks are others now" in printed) == (1, True)
        assert text(mirrord, alpha) == ALPHA.replace("first", "the first")
        changes(mirrord, "accept", change_set, "--block", f"{alpha}:1")
        assert text(mirrord, alpha) == "# Alpha\n\nthe first\n\nsecond\n\nthe third\n"
        await settled(mirrord, agent, change_set, "applied")


async def test_what_is_accepted_while_sync_is_paused_is_listed_until_it_is_applied(
    mirrord: Mirrord, folder: str
) -> None:
    pause = mirrord.root / "PAUSE"
    async with agent_of(mirrord) as agent:
        change_set = await propose(mirrord, agent, folder)
        pause.touch()
        eventually(lambda: "paused" in mirrord.run("status").stdout, "the pause")
        assert not waiting(mirrord, change_set)["is_current"]
        code, printed = run(mirrord, "accept", change_set)
        assert (code, "not applied yet" in printed) == (3, True)
        assert "accepted" in changes(mirrord, "list").splitlines()[0]
        assert text(mirrord, f"{folder}/Alpha.md") == ALPHA
        pause.unlink()
        await settled(mirrord, agent, change_set, "applied")
        assert "accepted" not in changes(mirrord, "list").splitlines()[0]


async def test_an_approval_of_a_change_set_is_of_what_would_happen_now(mirrord: Mirrord, folder: str) -> None:
    alpha, theirs = f"{folder}/Alpha.md", ALPHA.replace("first", "the person's")
    async with agent_of(mirrord) as agent:
        change_set = await propose(mirrord, agent, folder)
        request = waiting(mirrord, change_set)["request"]
        write(mirrord, alpha, theirs)
        ran = mirrord.run("approvals", "approve", request, "--tenant", mirrord.tenant)
        assert ran.returncode == 4
        assert (f"{alpha} was changed" in ran.stderr, f"changes show {change_set}" in ran.stderr) == (True, True)
        write(mirrord, alpha, ALPHA.replace("second", "the person's"))
        ran = mirrord.run("approvals", "approve", request, "--tenant", mirrord.tenant)  # by an id from before
        assert (ran.returncode, "Approved" in ran.stdout) == (0, True)
        assert text(mirrord, alpha) == "# Alpha\n\nthe first\n\nthe person's\n\nthe third\n"
        await settled(mirrord, agent, change_set, "applied")


async def test_an_approval_of_several_change_sets_tells_what_became_of_each(mirrord: Mirrord, folder: str) -> None:
    other = make_folder(mirrord, f"{folder} beside it")
    async with agent_of(mirrord) as agent, agent_of(mirrord) as second_agent:
        clashing, fitting = await propose(mirrord, agent, folder), await propose(mirrord, second_agent, other)
        requests = [waiting(mirrord, change_set)["request"] for change_set in (clashing, fitting)]
        write(mirrord, f"{folder}/Alpha.md", ALPHA.replace("first", "the person's"))
        ran = mirrord.run("approvals", "approve", *requests, requests[1], "--tenant", mirrord.tenant)
        assert (ran.returncode, ran.stdout.count("Approved:")) == (4, 1)
        assert (f"changes show {clashing}" in ran.stderr, f"changes show {fitting}" in ran.stderr) == (True, False)
        await settled(mirrord, second_agent, fitting, "applied")
        assert text(mirrord, f"{other}/Alpha.md") == "# Alpha\n\nthe first\n\nsecond\n\nthe third\n"
        changes(mirrord, "reject", clashing)
