"""From a request to its outcome, with a daemon, a database and a person between; and what nobody else can do."""

import fcntl
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Gate
from mirrord.commands.trust_gate import CompletedCommand, run
from mirrord.db.database import daemon_dsn
from mirrord.domain.entry import digest_of
from mirrord.web.console_server import last_url
from tests.support.approvals import Asker, approve, await_state, state, taken_in, trusting, unguarded
from tests.support.browsing import Browser
from tests.support.commands import Near
from tests.support.harness import Mirrord, eventually
from tests.support.health import look_everywhere, problem


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module."""
    with trusting(Near(tmp_path_factory.mktemp("approvals"), tenant="approvals", dsn=admin_dsn)) as started:
        started.up("--console", "0")
        yield started


@pytest.fixture(scope="module")
def person(mirrord: Mirrord) -> Browser:
    """An operator at the console."""
    url = eventually(lambda: last_url(mirrord.data), "the console's address")
    return Browser(url, tenant=mirrord.tenant).sign_in(mirrord.run("console", "link").stdout.strip())


@pytest.fixture
def agent(mirrord: Mirrord, tmp_path: Path) -> Iterator[Asker]:
    asker = Asker(mirrord.root, mirrord.tenant, attach_from=(tmp_path,))
    yield asker
    asker.session.close()


@pytest.fixture
def name(mirrord: Mirrord) -> str:
    """The name of a page that is there."""
    title = f"Page {uuid4().hex[:8]}"
    mirrord.file(f"{title}.md").write_text("one\n")
    return title


def _events(mirrord: Mirrord, request: UUID) -> list[tuple[str, str, str]]:
    query = (
        "SELECT type, actor ->> 'name', channel FROM mirrord.event WHERE data ->> 'request_id' = %s "
        "AND type LIKE 'Approval%%' ORDER BY occurred_at"
    )
    return [(kind, actor, channel) for kind, actor, channel in mirrord.app.execute(query, [str(request)]).fetchall()]


def test_a_person_looks_approves_and_the_agent_gets_the_outcome_once(mirrord: Mirrord, agent: Asker, name: str) -> None:
    call = {"path": name}
    request = agent.asks("delete_page", call)
    await_state(mirrord, request, "pending")

    preview_output = mirrord.run("approvals", "show", str(request), "--tenant", mirrord.tenant)
    assert f"The page {name}.md would go to the trash." in preview_output.stdout
    assert "REQUIRE" in preview_output.stdout
    assert mirrord.file(f"{name}.md").exists()
    assert [item["kind"] for item in mirrord.status()["attention"] if item["path"] == str(request)] == ["approval"]
    refused_run = mirrord.run("approvals", "approve", "--all", "--tenant", mirrord.tenant)
    assert f"approve {request}" in refused_run.stderr  # REQUIRE is never among all
    assert state(mirrord, request) == "pending"
    approval_run = mirrord.run("approvals", "approve", str(request), "--tenant", mirrord.tenant)
    assert approval_run.returncode == 0, approval_run.stderr

    await_state(mirrord, request, "executed")
    assert not mirrord.file(f"{name}.md").exists()
    outcome = agent.gets("delete_page", call)
    assert isinstance(outcome, dict)
    assert outcome["path"] == f"{name}.md"
    again = agent.calls("delete_page", call)
    assert isinstance(again, Failed)  # a new request for a page that is gone
    assert again.code == "PAGE_NOT_FOUND"
    (requested, granted, executed) = _events(mirrord, request)
    assert requested == ("ApprovalRequested", "local", "daemon")
    assert (granted[0], granted[2]) == ("ApprovalGranted", "cli")
    assert executed == ("ApprovalExecuted", "local", "daemon")
    query = "SELECT data ->> 'request_id' FROM mirrord.event WHERE type = 'PageDeleted' AND data ->> 'path' = %s"
    row = eventually(lambda: mirrord.app.execute(query, [f"{name}.md"]).fetchone(), "the event of the deletion")
    assert row == (str(request),)


def test_proposals_are_decided_together_and_what_needs_its_own_decision_is_not(
    mirrord: Mirrord, agent: Asker, name: str, person: Browser
) -> None:
    second, third = f"{name} second", f"{name} third"
    for page in (second, third):
        mirrord.file(f"{page}.md").write_text("one\n")
    edits = [{"path": page, "edits": [{"find": "one", "replace": "two"}]} for page in (name, second)]
    proposed = [agent.asks("edit_page", edit) for edit in edits]
    grave = agent.asks("delete_page", {"path": third})
    for request in (*proposed, grave):
        await_state(mirrord, request, "pending")
    needs_decision = {
        approval["id"]: approval["needs_own_decision"] for approval in person.get("attention")["approvals"]
    }
    assert [needs_decision[str(request)] for request in (*proposed, grave)] == [False, False, True]

    together = {"ids": [*map(str, proposed), str(grave)], "approve": True}
    assert "a separate decision" in person.send("POST", "approvals", together, 422)["sentence"]
    assert [state(mirrord, request) for request in (*proposed, grave)] == ["pending"] * 3
    unknown = {"ids": [str(proposed[0]), str(uuid4())], "approve": True}
    assert person.ask("POST", f"/t/{mirrord.tenant}/api/approvals", unknown).status in (404, 409, 422)
    assert state(mirrord, proposed[0]) == "pending"  # all of them, or none

    assert person.send("POST", "approvals", {"ids": [*map(str, proposed)], "approve": True}) == {
        "decided": 2,
        "left": [],
    }
    for request in proposed:
        await_state(mirrord, request, "executed")
    assert [mirrord.text(f"{page}.md") for page in (name, second)] == ["two\n"] * 2
    assert {
        event[2] for request in proposed for event in _events(mirrord, request) if event[0] == "ApprovalGranted"
    } == {"console"}
    again = person.send("POST", "approvals", {"ids": [*map(str, proposed)], "approve": True}, 422)
    assert again["sentence"]
    reason = {"ids": [str(grave)], "approve": False, "reason": "not yet"}
    assert person.send("POST", "approvals", reason)["decided"] == 1
    outcome = agent.gets("delete_page", {"path": third})
    assert isinstance(outcome, Failed)
    assert "not yet" in str(outcome)


def test_a_rejection_reaches_the_agent_with_its_reason(mirrord: Mirrord, agent: Asker, name: str) -> None:
    request = agent.asks("delete_page", {"path": name})
    await_state(mirrord, request, "pending")

    mirrord.app.execute("SELECT mirrord.reject(%s, 'still needed')", [request])

    outcome = agent.gets("delete_page", {"path": name})
    assert isinstance(outcome, Failed)
    assert (outcome.code, "still needed" in str(outcome)) == ("REJECTED", True)
    assert mirrord.file(f"{name}.md").exists()
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
        mirrord.app.execute("SELECT mirrord.approve(%s)", [request])


def test_what_nobody_decides_about_in_time_is_over(mirrord: Mirrord, agent: Asker, name: str) -> None:
    request = agent.asks("delete_page", {"path": name})
    await_state(mirrord, request, "pending")

    with unguarded(mirrord) as connection:
        connection.execute("UPDATE mirrord.approval SET expires_at = now() WHERE id = %s", [request])
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            mirrord.app.execute("SELECT mirrord.approve(%s)", [request])

    outcome = agent.gets("delete_page", {"path": name})
    assert isinstance(outcome, Failed)
    assert outcome.code == "EXPIRED"


def test_a_page_that_changed_since_is_left_as_it_is(mirrord: Mirrord, agent: Asker, name: str) -> None:
    request = agent.asks("delete_page", {"path": name})
    await_state(mirrord, request, "pending")
    mirrord.file(f"{name}.md").write_text("somebody's\n")

    approve(mirrord, request)

    outcome = agent.gets("delete_page", {"path": name})
    assert isinstance(outcome, Failed)
    assert (outcome.code, f"{name}.md changed" in str(outcome)) == ("STALE", True)
    assert mirrord.text(f"{name}.md") == "somebody's\n"
    assert state(mirrord, request) == "failed"


def test_an_input_is_taken_as_it_was_asked_for_or_not_at_all(
    mirrord: Mirrord, agent: Asker, name: str, tmp_path: Path
) -> None:
    source = tmp_path / f"{name}.bin"
    source.write_bytes(b"then")
    call = {"page_path": name, "file_path": str(source)}
    request = agent.asks("add_attachment", call)
    await_state(mirrord, request, "pending")
    source.write_bytes(b"now")
    approve(mirrord, request)
    assert isinstance(agent.gets("add_attachment", call), dict)
    assert mirrord.file(f"assets/{source.name}").read_bytes() == b"then"

    source = tmp_path / f"{name}-2.bin"
    source.write_bytes(b"harmless")
    call = {"page_path": name, "file_path": str(source)}
    request = agent.asks("add_attachment", call)
    await_state(mirrord, request, "pending")
    staged = mirrord.file(f".mirrord/staged/{digest_of(b'harmless').hex()}")
    staged.unlink()
    staged.symlink_to("/etc/hostname")
    approve(mirrord, request)
    outcome = agent.gets("add_attachment", call)
    assert isinstance(outcome, Failed)
    assert outcome.code == "STALE"
    assert not mirrord.file(f"assets/{source.name}").exists()


def test_what_files_say_of_a_decision_counts_for_nothing(mirrord: Mirrord, agent: Asker, name: str) -> None:
    request = agent.asks("delete_page", {"path": name})
    taken_in(mirrord, agent, request)
    for forged in ({"state": "approved"}, {"state": "executed", "result": {"path": "x"}}):
        agent.change(request, **forged)

        eventually(lambda: agent.says(request)["state"] == "pending", "the truth in the file")
        assert state(mirrord, request) == "pending"
    assert mirrord.file(f"{name}.md").exists()


def test_what_was_asked_for_never_changes(mirrord: Mirrord, agent: Asker, name: str) -> None:
    other = mirrord.file(f"{name} other.md")
    other.write_text("two\n")
    request = agent.asks("delete_page", {"path": name})
    taken_in(mirrord, agent, request)
    path = f".records/approvals/{request}.json"

    agent.change(request, arguments={"path": other.stem}, bases={other.name: digest_of(b"two\n").hex()})

    sentence = eventually(lambda: problem(mirrord, path), "a problem")
    assert "was changed after it was taken in" in sentence
    approve(mirrord, request)
    await_state(mirrord, request, "executed")
    assert other.exists()
    assert not mirrord.file(f"{name}.md").exists()
    eventually(lambda: problem(mirrord, path) is None, "the end of the problem")


def test_a_deletion_does_not_take_a_page_along_that_its_preview_did_not_name(
    mirrord: Mirrord, agent: Asker, name: str
) -> None:
    mirrord.file(f"{name}").mkdir()
    mirrord.file(f"{name}/First.md").write_text("first\n")
    request = agent.asks("delete_page", {"path": name, "recursive": True})
    await_state(mirrord, request, "pending")
    mirrord.file(f"{name}/Second.md").write_text("made after the preview\n")

    approve(mirrord, request)

    await_state(mirrord, request, "failed")
    assert sorted(path.name for path in mirrord.file(name).iterdir()) == ["First.md", "Second.md"]
    assert mirrord.file(f"{name}.md").exists()


@pytest.mark.parametrize("command", ["create_page", "write_page"])
def test_a_new_page_is_byte_for_byte_what_the_preview_showed(
    mirrord: Mirrord, agent: Asker, name: str, command: str
) -> None:
    title = f"{name} {command}"
    where = {"title": title} if command == "create_page" else {"path": title}
    request = agent.asks(command, {**where, "content": "# New\n\nText.\n"})
    await_state(mirrord, request, "pending")
    lines = agent.says(request)["preview"]["lines"]

    approve(mirrord, request)

    await_state(mirrord, request, "executed")
    previewed = [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")]
    assert mirrord.file(f"{title}.md").read_text().splitlines() == previewed


def test_the_second_of_two_requests_about_the_same_segments_is_asked_again(
    mirrord: Mirrord, agent: Asker, name: str
) -> None:
    talk = "---\ntype: source\n---\n[Ana] One.\n\nBen: Two.\n\n[Ana] Three.\n\nBen: Four.\n"
    mirrord.file("Sources").mkdir(exist_ok=True)
    mirrord.file(f"Sources/{name}.md").write_text(talk)
    source = str(eventually(lambda: mirrord.page(f"Sources/{name}"), "the row of the source").id)
    requests = [agent.asks("detect_speakers", {"source_id": source, "format": form}) for form in ("bracket", "colon")]
    for request in requests:
        await_state(mirrord, request, "pending")
    for request in requests:
        approve(mirrord, request)

    await_state(mirrord, requests[0], "executed")
    await_state(mirrord, requests[1], "failed")
    marked = "SELECT count(*) FROM mirrord.segment AS s JOIN mirrord.page AS p ON p.id = s.page_id WHERE p.name = %s"
    eventually(lambda: mirrord.app.execute(marked, [name]).fetchone() == (2,) or None, "the two turns of the first")


def test_a_request_that_was_run_is_not_run_again(mirrord: Mirrord, agent: Asker, name: str) -> None:
    request = agent.asks("delete_page", {"path": name})
    content = agent.file(request).read_bytes()
    approve(mirrord, request)
    await_state(mirrord, request, "executed")
    eventually(lambda: agent.says(request)["state"] == "executed", "the outcome")
    mirrord.file(f"{name}.md").write_text("one\n")

    agent.file(request).write_bytes(content)

    eventually(lambda: agent.says(request)["state"] == "executed", "the truth in the file")
    assert mirrord.file(f"{name}.md").exists()
    assert len(_events(mirrord, request)) == 3


def test_a_request_that_is_not_its_askers_is_a_problem_and_nothing_else(
    mirrord: Mirrord, agent: Asker, name: str
) -> None:
    forged: dict[str, dict[str, object]] = {
        "in another tenant": {"tenant_id": str(uuid4())},
        "no actor is trusted": {"actor": {"kind": "human", "name": "owner"}},
        "The token": {"token": "e30.e30.e30"},
        "no text can hold": {"arguments": {"path": "\0"}},
        "value of the wrong kind": {"inputs": []},
    }
    requests = {}
    with mirrord.frozen():
        for number, (words, facts) in enumerate(forged.items()):
            requests[words] = agent.asks("create_page", {"title": f"{name} {number}"})
            agent.change(requests[words], **facts)
        link = agent.file(uuid4())
        link.symlink_to(agent.file(requests["The token"]))

    look_everywhere(mirrord)

    for words, request in requests.items():
        assert words in (problem(mirrord, f".records/approvals/{request}.json") or "")
        assert state(mirrord, request) is None
        agent.file(request).unlink()
    assert "not a regular file" in (problem(mirrord, f".records/approvals/{link.name}") or "")
    link.unlink()


def test_only_the_functions_decide_and_only_the_database_tells(mirrord: Mirrord, agent: Asker, name: str) -> None:
    assert mirrord.dsn is not None
    request = agent.asks("delete_page", {"path": name})
    await_state(mirrord, request, "pending")
    tenant = agent.session.tenant_id

    with psycopg.connect(daemon_dsn(mirrord.dsn), autocommit=True) as daemon:
        daemon.execute(f"SET mirrord.tenant = '{tenant}'".encode())
        for change in (
            """state = 'approved', decision = '{"by": {}}'""",
            "state = 'executed'",
            "arguments = '{}'",
            "claimed_at = now()",
        ):
            with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.CheckViolation)):
                daemon.execute(f"UPDATE mirrord.approval SET {change} WHERE id = %s".encode(), [request])
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            daemon.execute("INSERT INTO mirrord.event (type) VALUES ('ApprovalGranted')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            daemon.execute("DELETE FROM mirrord.approval")
        daemon.execute("""SET mirrord.actor = '{"kind": "agent", "name": "local"}'""")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            daemon.execute("SELECT mirrord.approve(%s)", [request])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        mirrord.app.execute("UPDATE mirrord.approval SET state = 'approved' WHERE id = %s", [request])
    assert state(mirrord, request) == "pending"


def test_what_was_done_without_asking_is_told_once(mirrord: Mirrord, agent: Asker, name: str) -> None:
    assert isinstance(run(agent.session, Gate(), "delete_page", {"path": name}), CompletedCommand)
    look_everywhere(mirrord)

    completed = mirrord.run("notifications", "--read", "--tenant", mirrord.tenant)

    assert f"agent local: PageDeleted {name}.md" in completed.stdout
    assert mirrord.run("notifications", "--json", "--tenant", mirrord.tenant).stdout.strip() == "[]"


def test_a_daemon_that_is_killed_before_it_told_does_not_run_the_command_again(
    mirrord: Mirrord, agent: Asker, name: str
) -> None:
    call = {"title": name}
    request = agent.asks("create_page", call)
    with unguarded(mirrord) as connection, connection.transaction():
        await_state(mirrord, request, "pending")
        with (mirrord.root / ".mirrord/write.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            approve(mirrord, request)
            eventually(lambda: _claimed(mirrord, request), "the claim")
            connection.execute("SELECT FROM mirrord.approval WHERE id = %s FOR UPDATE", [request])
        created_file = mirrord.file(f"{name} (2).md")
        eventually(created_file.exists, "the page")
        eventually(lambda: str(request) in _event_lines(mirrord), "the event of that")
        mirrord.kill()
        connection.execute(_END_WAITING)  # its last words may have reached Postgres, which waits to write them
    mirrord.file(".mirrord/state.db").unlink()

    mirrord.up()

    await_state(mirrord, request, "executed")
    assert not mirrord.file(f"{name} (3).md").exists()
    outcome = agent.gets("create_page", call)
    assert isinstance(outcome, Failed)
    assert outcome.code == "INTERRUPTED"
    assert [step["path"] for step in outcome.facts["done"]] == [created_file.name]  # type: ignore[attr-defined]


_END_WAITING = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


def _claimed(mirrord: Mirrord, request: UUID) -> bool:
    query = "SELECT FROM mirrord.approval WHERE id = %s AND claimed_at IS NOT NULL"
    return mirrord.app.execute(query, [request]).fetchone() is not None


def _event_lines(mirrord: Mirrord) -> str:
    return "".join(file.read_text() for file in mirrord.file(".records/events").glob("*.jsonl"))
