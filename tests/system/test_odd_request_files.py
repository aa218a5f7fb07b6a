"""Files of requests and questions with odd contents: none ends the daemon, and those after them are answered."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from mirrord.domain.entry import new_id
from tests.support.approvals import Asker, await_state, state, trusting
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.health import look_everywhere, problem

NESTED = "[" * 900 + "]" * 900  # read, but too deep to be written again
HALF = '"a\\ud800"'  # half of a surrogate pair
HUGE = "1" + "0" * 4_000  # an integer that JSON in Postgres holds, and no column
QUESTIONS = ("list_changes", "page_history", "diff_page", "read_version", "list_change_sets", "undo_changes", "unknown")
ODD_ARGUMENTS = (
    f'{{"path": "A.md", "more": {NESTED}}}',
    f'{{"path": {NESTED}, "change_set": {NESTED}, "since": {NESTED}, "without": {NESTED}}}',
    f'{{"path": {HALF}, "change_set": {HALF}, "since": {HALF}, "by": {HALF}, "at": {HALF}, "without": [{HALF}]}}',
    f'{{{HALF}: 1, "path": "A.md"}}',
    '{"path": "\\u0000", "change_set": "\\u0000", "since": "\\u0000", "by": "\\u0000", "id": "\\u0000"}',
    f'{{"path": "A.md", "before": {HUGE}, "from": {HUGE}, "to": {HUGE}, "version": {HUGE}, "start": {HUGE}}}',
    f'{{"path": "A.md", "start": {(1 << 62) - 1}, "version": 1, "offset": {(1 << 62) - 1}, "limit": 0}}',
    '{"path": "A.md", "before": NaN, "from": -1, "to": Infinity, "version": true}',
    '{"from": "0001-01-01T00:00:00+23:59", "until": "9999-12-31T23:59:59-23:59"}',
    '{"at": "0001-01-01T00:00:00+23:59", "id": "00000000-0000-0000-0000-000000000000"}',
    '{"since": "0001-01-01", "until": "0001-01-01T00:00:00+00:00"}',
    '{"since": "99999 years ago", "path": "../../A.md"}',
)
REQUESTED = (
    '"2026-01-01T00:00:00+00:00"',
    '"0001-01-01T00:00:00+23:59"',
    '"9999-12-31T23:59:59-23:59"',
)


@pytest.fixture(scope="module")
def mirrord(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Mirrord]:
    with trusting(Near(tmp_path_factory.mktemp("odd") / "installation", dsn=module_dsn)) as running:
        save(running.file("A.md"), "# A\n")
        running.up()
        eventually(partial(running.page, "A.md"), "the row of A.md")
        yield running


@pytest.fixture
def agent(mirrord: Mirrord) -> Iterator[Asker]:
    asker = Asker(mirrord.root, mirrord.tenant)
    yield asker
    asker.session.close()


def ask(agent: Asker, command: str, arguments: str, **others: str) -> UUID:
    """Write the file of a question, *arguments* and *others* being JSON of any kind."""
    number = new_id()  # in the order of their names
    members = {
        "id": json.dumps(str(number)),
        "command": json.dumps(command),
        "arguments": arguments,
        "inputs": "{}",
        "bases": "{}",
        "tenant_id": json.dumps(str(agent.session.tenant_id)),
        "actor": '{"kind": "agent", "name": "local"}',
        "requested_at": json.dumps(datetime.now(UTC).isoformat()),
        "state": '"pending"',
    } | others
    folder = agent.root / ".records/questions"
    folder.mkdir(parents=True, exist_ok=True)
    text = "{" + ", ".join(f'"{key}": {member}' for key, member in members.items()) + "}"
    (agent.root / f".mirrord/{number}.new").write_text(text)
    (agent.root / f".mirrord/{number}.new").rename(folder / f"{number}.json")
    return number


def answer(agent: Asker, question: UUID) -> dict[str, Any] | None:
    """The answer to a question; None: it has none."""
    facts: dict[str, Any] = json.loads((agent.root / f".records/questions/{question}.json").read_text())
    return facts if facts["state"] != "pending" else None


def await_answer(mirrord: Mirrord, agent: Asker) -> None:
    """Return when a plain question is answered that was asked now."""
    question = ask(agent, "page_history", '{"path": "A.md"}')

    def is_over() -> bool:
        return not mirrord.running or answer(agent, question) is not None

    eventually(is_over, "the answer to a plain question", 120.0)
    assert mirrord.running, mirrord.log_end(40)
    facts = answer(agent, question) or {}
    assert facts["state"] == "executed", facts


@pytest.mark.parametrize("command", QUESTIONS)
def test_questions_with_odd_arguments_are_answered_or_passed_over(mirrord: Mirrord, agent: Asker, command: str) -> None:
    pid = mirrord.pid
    with mirrord.frozen():
        for arguments in ODD_ARGUMENTS:
            ask(agent, command, arguments)
        for moment in REQUESTED:
            ask(agent, command, '{"path": "A.md"}', requested_at=moment)
        ask(agent, command, "{}", token=HALF)
        ask(agent, command, "{}", token='"\\u0000"')
        ask(agent, command, "{}", token='"' + "a." * 5_000 + '"')
        ask(agent, command, "{}", bases='{"A.md": "zz"}', inputs=f'{{{HALF}: {{"name": {HALF}, "digest": ""}}}}')

    await_answer(mirrord, agent)

    assert (mirrord.running, mirrord.pid) == (True, pid)


ODD_FACTS: dict[str, dict[str, Any]] = {
    "a base that is no digest": {"bases": {"A.md": "zz"}},
    "a base outside the tree": {"bases": {"../../A.md": "00" * 32}},
    "a base with an odd name": {"bases": {"a\0b": ""}},
    "a time before the first year": {"requested_at": "0001-01-01T00:00:00+23:59"},
    "a time after the last year": {"requested_at": "9999-12-31T23:59:59-23:59"},
    "a pattern with NUL": {"paths": {"write": ["a\0b"]}},
    "a pattern with half a pair": {"paths": {"write": ["a\ud800"]}},
    "half a pair as a command": {"command": "a\ud800"},
    "NUL as a command": {"command": "a\0"},
    "half a pair as a token": {"token": "\ud800"},
    "a huge number": {"arguments": {"title": "B", "content": 10**4_000}},
    "a deep argument": {"arguments": {"title": json.loads(NESTED)}},
    "half a pair as an input": {"inputs": {"content": {"name": "\ud800", "digest": "00" * 32, "place": "/\ud800"}}},
    "a long name": {"arguments": {"title": "x" * 70_000}},
}


@pytest.mark.parametrize("odd", ODD_FACTS)
def test_requests_with_odd_facts_do_nothing(mirrord: Mirrord, agent: Asker, odd: str) -> None:
    pid = mirrord.pid
    request = uuid4()
    facts = plain_request(agent, request) | ODD_FACTS[odd]
    if "paths" in facts:
        facts["scoped_arguments"] = facts.pop("arguments")
    folder = agent.file(request).parent
    folder.mkdir(parents=True, exist_ok=True)
    agent.file(request).write_text(json.dumps(facts))

    look_everywhere(mirrord)

    plain = uuid4()
    agent.file(plain).write_text(json.dumps(plain_request(agent, plain)))
    eventually(lambda: not mirrord.running or state(mirrord, plain) == "pending", "a plain request after it", 60.0)
    assert mirrord.running, mirrord.log_end(40)
    assert mirrord.pid == pid
    assert state(mirrord, request) in (None, "pending")


def plain_request(agent: Asker, request: UUID) -> dict[str, Any]:
    """The contents of the file of a new request."""
    return {
        "id": str(request),
        "command": "create_page",
        "arguments": {"title": f"Plain {request.hex}"},
        "inputs": {},
        "bases": {f"Plain {request.hex}.md": ""},
        "tenant_id": str(agent.session.tenant_id),
        "actor": {"kind": "agent", "name": "local"},
        "requested_at": datetime.now(UTC).isoformat(),
        "state": "pending",
    }


def test_a_question_beyond_the_time_of_a_statement_is_refused_and_holds_up_no_other(
    mirrord: Mirrord, agent: Asker
) -> None:
    assert mirrord.dsn is not None
    save(mirrord.file("Slow.md"), "# Slow\n")
    page = eventually(partial(mirrord.page, "Slow.md"), "the row of Slow.md")
    with psycopg.connect(mirrord.dsn, autocommit=True) as admin:
        admin.execute(
            "CREATE POLICY slow ON mirrord.page_revision AS RESTRICTIVE FOR SELECT TO mirrord_daemon "
            f"USING (page_id <> '{page.id}' OR pg_sleep(600) IS NOT NULL)".encode()
        )
        try:
            slow = ask(agent, "page_history", '{"path": "Slow.md"}')
            await_answer(mirrord, agent)
        finally:
            admin.execute("DROP POLICY slow ON mirrord.page_revision")

    facts = answer(agent, slow)
    assert facts is not None
    assert (facts["state"], facts["failure"]["code"]) == ("failed", "TOO_SLOW")


@pytest.mark.parametrize("depth", [150, 250, 900, 970])
def test_a_request_that_became_deep_is_a_problem(mirrord: Mirrord, agent: Asker, depth: int) -> None:
    request = uuid4()
    agent.file(request).parent.mkdir(parents=True, exist_ok=True)
    agent.file(request).write_text(json.dumps(plain_request(agent, request)))
    await_state(mirrord, request, "pending")
    eventually(lambda: "expires_at" in agent.says(request), "the row in the file")
    nested = "[" * depth + "]" * depth
    text = json.dumps(agent.says(request) | {"arguments": {"title": "NESTED"}}).replace('"NESTED"', nested)

    agent.file(request).write_text(text)

    look_everywhere(mirrord)
    path = f".records/approvals/{request}.json"
    eventually(lambda: not mirrord.running or problem(mirrord, path) is not None, "the problem")
    assert mirrord.running, mirrord.log_end(40)
    assert state(mirrord, request) == "pending"
