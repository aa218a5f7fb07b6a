"""Change sets in review: an installation with an agent whose changes wait, and a person on the command line."""

import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from tests.support.clients import Agent, on_stdio, process
from tests.support.commands import Near
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually

ALPHA = "# Alpha\n\nfirst\n\nsecond\n\nthird\n"
SETTINGS = '[mcp.trust]\nwrite = "review"\nrename_heading = "REQUIRE"\n[mcp.trust.folders]\n"Inbox/**" = "act"\n'


@contextmanager
def reviewing_installation(directory: Path, dsn: str) -> Iterator[Mirrord]:
    """A running installation in which a person reviews what agents change, but below Inbox."""
    with Near(directory, dsn=dsn) as running:
        running.root.mkdir(parents=True, exist_ok=True)
        (running.directory / "mirrord.toml").write_text(SETTINGS, encoding="utf-8")
        running.up()
        yield running


def make_folder(mirrord: Mirrord, test_name: str) -> str:
    """A folder of a test's own, with three pages."""
    name = f"Case {crc32(test_name.encode()) % 100_000}"
    (mirrord.root / name).mkdir()
    for page in ("Alpha", "Beta", "Gone"):
        (mirrord.root / name / f"{page}.md").write_text(ALPHA.replace("Alpha", page), encoding="utf-8")
    mirrord.flush()
    return name


def agent_of(mirrord: Mirrord) -> AbstractAsyncContextManager[Agent]:
    """An agent on stdio, with a token of its own."""
    return on_stdio(
        process(mirrord.mirror, {"MIRRORD_TOKEN": mirrord.create_token()}, "--tools", "pages,changes,restructure")
    )


def changes(mirrord: Mirrord, *arguments: str, code: int = 0) -> str:
    """What `mirrord changes` prints."""
    ran = mirrord.run("changes", *arguments, "--tenant", mirrord.tenant)
    assert ran.returncode == code, ran.stderr
    return ran.stdout


def waiting(mirrord: Mirrord, change_set: str) -> dict[str, Any]:
    """The review of a change set, once the daemon has taken it in."""

    def shown() -> dict[str, Any] | None:
        ran = mirrord.run("changes", "show", change_set, "--json", "--tenant", mirrord.tenant)
        facts: dict[str, Any] = json.loads(ran.stdout) if ran.stdout else {}
        return facts if facts.get("state") == "in review" else None

    submitted = "SELECT count(*) FROM approval WHERE arguments ->> 'change_set' = %s AND state = 'pending'"
    eventually(
        lambda: value(mirrord.app, submitted, change_set), "the request of the change set"
    )  # a command costs more
    review: dict[str, Any] = eventually(shown, "the change set in review")
    return review


async def change(agent: Agent, folder: str) -> str:
    """Edit two places of a page, make one, move one and delete one; the id of the change set that waits."""
    edits = [{"find": "first", "replace": "the first"}, {"find": "third", "replace": "the third"}]
    noted = await agent.call("edit_page", path=f"{folder}/Alpha.md", edits=edits)
    assert "apply_changes" in noted["review"]
    await agent.call("create_page", title="New", parentPath=f"{folder}", content="text\n")
    await agent.call("move_page", sourcePath=f"{folder}/Beta.md", destinationPath=f"{folder}/Moved.md")
    await agent.call("delete_page", path=f"{folder}/Gone.md")
    pending = await agent.call("apply_changes", message="For you")
    assert (pending["state"], pending["status"]) == ("in review", "pending_approval")
    assert pending["changeSet"] == noted["changeSet"]
    return str(pending["changeSet"])


async def status_of(agent: Agent, change_set: str) -> dict[str, Any]:
    """How a change set stands for its agent."""
    status = await agent.call("changes_status")
    return next(facts for facts in status["others"] if facts["changeSet"] == change_set)


async def settled(mirrord: Mirrord, agent: Agent, change_set: str, state: str) -> dict[str, Any]:
    """How a change set stands for its agent once the daemon has written what became of it."""
    query = (
        "SELECT told_at FROM approval WHERE arguments ->> 'change_set' = %s ORDER BY requested_at DESC, id DESC LIMIT 1"
    )
    eventually(lambda: value(mirrord.app, query, change_set), "the outcome in the file of the request")
    facts = await status_of(agent, change_set)
    assert facts["state"] == state
    return facts


def text(mirrord: Mirrord, path: str) -> str | None:
    """The text of a file; None: there is none."""
    file = Path(mirrord.root, path)
    return file.read_text(encoding="utf-8") if file.exists() else None


def set_editor(mirrord: Mirrord, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let $EDITOR be a shell script; "$1" is the file."""
    editor = mirrord.directory / "editor.sh"
    editor.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    editor.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(editor))
