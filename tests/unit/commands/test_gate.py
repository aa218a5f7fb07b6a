"""The trust gate: what runs at once, what waits for a person, and what the same call gets later."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mirrord.commands.command_registry import COMMANDS
from mirrord.commands.core import inputs
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Gate, Session, SessionSettings
from mirrord.commands.pages.delete_commands import DeletedPage
from mirrord.commands.trust_gate import CompletedCommand, PendingRequest, run
from mirrord.domain.approval import Answer, Request, RequestState, decode_request
from mirrord.domain.entry import Actor, digest_of
from mirrord.domain.trust import DEFAULTS, Limits, RateLimit, trust_levels
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import request_files
from tests.unit.commands.conftest import Open, events, page

RAISED = trust_levels(dict.fromkeys(COMMANDS, "REQUIRE"))
ALPHA = {"path": "Alpha.md"}


@pytest.fixture
def gate() -> Gate:
    """Every command waits for a person."""
    return Gate(RAISED)


def asked(session: Session, gate: Gate, name: str, arguments: Mapping[str, Any]) -> PendingRequest:
    outcome = run(session, gate, name, arguments)
    assert isinstance(outcome, PendingRequest)
    return outcome


def kept(root: Path) -> list[tuple[Request, Answer]]:
    return [decode_request(file.read_bytes()) for file in sorted((root / ".records/approvals").glob("*.json"))]


def concluded(session: Session, request: UUID, **answer: Any) -> None:
    """What the daemon does in the end."""
    stored = request_files.read(session.tree, request_files.path_of(request))
    assert isinstance(stored, tuple)
    request_files.write(session.tree, stored[0], replace(stored[1], **answer))


def test_a_command_that_is_trusted_runs_at_once_and_only_a_notice_is_marked(session: Session, root: Path) -> None:
    created = run(session, Gate(), "create_page", {"title": "Alpha"})
    deleted = run(session, Gate(), "delete_page", ALPHA)

    assert isinstance(created, CompletedCommand)
    assert isinstance(deleted, CompletedCommand)
    assert isinstance(deleted.result, DeletedPage)
    assert [(kind, data.get("trust")) for kind, data in events(root)] == [
        ("PageCreated", None),
        ("PageDeleted", "NOTIFY"),
    ]
    assert not (root / ".records/approvals").exists()


def test_a_command_that_is_not_changes_nothing_and_says_what_it_would_do(
    session: Session, root: Path, gate: Gate
) -> None:
    file = page(root, "Alpha.md", "one\n")

    pending = asked(session, gate, "delete_page", ALPHA)

    assert file.read_text() == "one\n"
    assert pending.preview["summary"] == "The page Alpha.md would go to the trash."
    assert pending.preview["facts"] == {"path": "Alpha.md", "deleted_pages_count": 1}
    ((request, answer),) = kept(root)
    assert (request.id, request.command, dict(request.arguments)) == (pending.request_id, "delete_page", ALPHA)
    assert dict(request.bases) == {"Alpha.md": digest_of(b"one\n").hex()}
    assert (answer.state, answer.expires_at) == (RequestState.PENDING, pending.expires_at)


EDIT = [{"find": "one", "replace": "two"}]


@pytest.mark.parametrize(
    ("name", "arguments", "summary", "line"),
    [
        ("write_page", {"path": "New", "content": "x\n"}, "The page New.md would be made.", "+x"),
        ("create_page", {"title": "Beta", "content": "x"}, "The page Beta.md would be made.", "+title: Beta"),
        ("edit_page", {"path": "Alpha", "edits": EDIT}, "Alpha.md would be changed by one edit.", "-one"),
        (
            "move_page",
            {"source_path": "Alpha.md", "destination_path": "Far/Alpha.md"},
            "The page Alpha.md would move to Far/Alpha.md.",
            "Alpha.md -> Far/Alpha.md",
        ),
    ],
)
def test_previews_say_what_each_command_would_do(
    session: Session, root: Path, gate: Gate, name: str, arguments: dict[str, Any], summary: str, line: str
) -> None:
    page(root, "Alpha.md", "one\n")
    before = sorted(root.rglob("*"))

    preview = COMMANDS[name].preview(session, **arguments)

    assert preview.summary == summary
    assert line in preview.lines
    assert sorted(root.rglob("*")) == before


def test_the_same_call_finds_its_request_whatever_process_makes_it_and_others_do_not(
    connect: Open, root: Path, gate: Gate
) -> None:
    page(root, "Alpha.md", "one\n")
    first = asked(connect(), gate, "delete_page", ALPHA)

    assert asked(connect(), Gate(RAISED), "delete_page", ALPHA).request_id == first.request_id
    other = Actor("agent", "another")
    assert asked(connect(other), gate, "delete_page", ALPHA).request_id != first.request_id
    assert asked(connect(), gate, "delete_page", {**ALPHA, "recursive": True}).request_id != first.request_id
    assert len(kept(root)) == 3


def test_the_outcome_is_handed_over_once_and_then_the_same_call_is_a_new_request(
    session: Session, root: Path, gate: Gate
) -> None:
    page(root, "Alpha.md", "one\n")
    pending = asked(session, gate, "delete_page", ALPHA)
    concluded(session, pending.request_id, state=RequestState.EXECUTED, result={"page_id": "x"})

    assert run(session, gate, "delete_page", ALPHA) == CompletedCommand({"page_id": "x"})
    assert asked(session, gate, "delete_page", ALPHA).request_id != pending.request_id


def test_a_refusal_is_a_failure_that_says_why(session: Session, root: Path, gate: Gate) -> None:
    page(root, "Alpha.md", "one\n")
    pending = asked(session, gate, "delete_page", ALPHA)
    failure = {"code": "REJECTED", "kind": "forbidden", "sentence": "Ada rejected this: no.", "instruction": "Ask."}
    concluded(session, pending.request_id, state=RequestState.REJECTED, failure=failure)

    with pytest.raises(Failed, match="Ada rejected this: no") as failed:
        run(session, gate, "delete_page", ALPHA)

    assert (failed.value.code, failed.value.kind) == ("REJECTED", "forbidden")
    assert isinstance(run(session, gate, "delete_page", ALPHA), PendingRequest)


def test_what_would_fail_fails_at_once_and_asks_nobody(session: Session, root: Path, gate: Gate) -> None:
    page(root, "Alpha/_index.md", "one\n")
    page(root, "Alpha/Child.md", "two\n")

    with pytest.raises(Failed, match="has a page below it"):
        run(session, gate, "delete_page", {"path": "Alpha"})
    assert kept(root) == []


def test_a_dry_run_needs_nobodys_word(session: Session, root: Path, gate: Gate) -> None:
    page(root, "Alpha.md", "one\n")
    edits = [{"find": "one", "replace": "two"}]

    assert isinstance(run(session, gate, "edit_page", {**ALPHA, "edits": edits, "dry_run": True}), CompletedCommand)
    assert kept(root) == []


def test_ten_requests_may_wait_and_an_eleventh_is_refused(session: Session, root: Path) -> None:
    gate = Gate(RAISED, Limits(pending=2))
    for title in ("Alpha", "Beta"):
        asked(session, gate, "create_page", {"title": title})

    with pytest.raises(Failed) as failed:
        run(session, gate, "create_page", {"title": "Gamma"})

    assert failed.value.code == "TOO_MANY_PENDING"
    assert len(kept(root)) == 2
    asked(session, gate, "create_page", {"title": "Beta"})  # what waits already may be asked for again


def test_the_bytes_of_an_input_are_kept_as_they_were_when_it_was_asked_for(
    connect: Open, root: Path, tmp_path: Path, gate: Gate
) -> None:
    page(root, "Alpha.md", "one\n")
    source = tmp_path / "outside" / "plan.txt"
    source.parent.mkdir()
    source.write_bytes(b"then")
    session = connect(attach_from=(source.parent,))

    asked(session, gate, "add_attachment", {"page_path": "Alpha.md", "file_path": str(source)})
    source.write_bytes(b"now")

    ((request, _),) = kept(root)
    assert (request.inputs["file_path"].name, request.inputs["file_path"].digest) == ("plan.txt", digest_of(b"then"))
    assert (root / ".mirrord/staged" / digest_of(b"then").hex()).read_bytes() == b"then"
    settings = SessionSettings(staged={str(source): request.inputs["file_path"]})
    later = Session(Tree(root), "acme", session.tenant_id, session.actor, "l", settings)
    COMMANDS["add_attachment"](later, **request.arguments)
    later.close()
    assert (root / "assets/plan.txt").read_bytes() == b"then"


def test_a_file_that_stays_where_it_is_is_linked_as_it_was_asked_for(
    connect: Open, root: Path, tmp_path: Path, gate: Gate
) -> None:
    source = tmp_path / "outside" / "Talk.txt"
    source.parent.mkdir()
    source.write_bytes(b"Ana: Hi.\n")
    session = connect(attach_from=(source.parent,))

    pending = asked(session, gate, "import_file", {"path": "Talk.txt", "copy": False})
    assert f"with a link to {source}" in pending.preview["summary"]
    source.write_bytes(b"others\n")
    source.with_name("elsewhere").mkdir()

    ((request, _),) = kept(root)
    settings = SessionSettings(staged={"Talk.txt": request.inputs["path"]})
    later = Session(Tree(root), "acme", session.tenant_id, session.actor, "l", settings)
    assert COMMANDS["import_file"].preview(later, **request.arguments).summary == pending.preview["summary"]
    imported = COMMANDS["import_file"](later, **request.arguments)
    later.close()
    text = (root / imported.path).read_text()
    assert f"original: {source.as_uri()}\n" in text
    assert text.endswith("Ana: Hi.\n")
    assert imported.original is None


def test_a_file_too_large_to_be_kept_until_a_person_decides_is_refused_when_it_is_asked_for(
    connect: Open, root: Path, tmp_path: Path
) -> None:
    with (tmp_path / "long.mp4").open("wb") as file:
        file.truncate(request_files.MAX_STAGED_BYTES + 1)

    with pytest.raises(Failed, match="until a person decides") as failed:
        inputs.stage_input(connect(attach_from=(tmp_path,)), "long.mp4")

    assert failed.value.code == "TOO_LARGE"
    assert not list(root.rglob("staged/*"))


@pytest.mark.parametrize("forged", ["another content", "a link", "nothing"])
def test_staged_bytes_that_are_others_now_are_not_used(
    session: Session, root: Path, tmp_path: Path, forged: str
) -> None:
    source = tmp_path / "plan.txt"
    source.write_bytes(b"then")
    with source.open("rb") as descriptor:
        digest = request_files.stage_bytes(session.tree, descriptor.fileno(), "plan.txt")
    staged = root / ".mirrord/staged" / digest.hex()
    staged.unlink()
    if forged == "another content":
        staged.write_bytes(b"evil")
    elif forged == "a link":
        staged.symlink_to(source)

    with request_files.open_staged(session.tree, digest) as stream:
        assert stream is None


def test_calls_and_mutations_of_a_minute_are_counted(session: Session) -> None:
    gate = Gate(DEFAULTS, Limits(calls=3, mutations=1))
    gate.count_call(writes=True)
    gate.count_call(writes=False)

    with pytest.raises(Failed, match="that change something") as failed:
        gate.count_call(writes=True)
    assert failed.value.code == "RATE_LIMITED"
    assert 0 < failed.value.facts["seconds"] <= 60  # type: ignore[operator]
    with pytest.raises(Failed, match="Too many calls in a minute"):
        gate.count_call(writes=False)


def test_a_rate_forgets_after_a_minute_and_zero_is_no_limit() -> None:
    rate = RateLimit(2)

    assert [rate.seconds_to_wait(moment) for moment in (0.0, 10.0, 20.0, 60.0, 61.0, 70.0)] == [
        0.0,
        0.0,
        40.0,
        0.0,
        9.0,
        0.0,
    ]
    assert all(RateLimit(0).seconds_to_wait(0.0) == 0.0 for _ in range(10_000))


def test_requests_hold_the_token_only_while_it_has_to_be_verified(session: Session, root: Path) -> None:
    session.token = "secret"
    pending = asked(session, Gate(RAISED), "create_page", {"title": "Alpha"})
    file = root / request_files.path_of(pending.request_id)
    assert json.loads(file.read_text())["token"] == "secret"
    assert file.stat().st_mode & 0o777 == 0o600

    concluded(session, pending.request_id, state=RequestState.APPROVED)

    assert "secret" not in file.read_text()
