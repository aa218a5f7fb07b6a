"""An agent whose every command waits for a person, beside a daemon; and what it left in files."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from mirrord.auth.access_grant import LOCAL_ACTOR
from mirrord.commands.command_registry import COMMANDS
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Gate, Session, SessionSettings
from mirrord.commands.trust_gate import CompletedCommand, PendingRequest, run
from mirrord.domain.trust import Limits, trust_levels
from mirrord.mirror import tree_marker
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.tree.tenant_tree import Tree
from tests.support.harness import Mirrord, eventually

LEVELS = trust_levels(dict.fromkeys(COMMANDS, "REQUIRE"))
CONFIG = """
[mcp]
local_trust = true

[mcp.limits]
pending = 0

[mcp.trust]
edit_page = "SUGGEST"
delete_page = "REQUIRE"
"""


def trusting(mirrord: Mirrord) -> Mirrord:
    """*mirrord*, which is not up yet, with an operator's configuration that lets agents in without a token."""
    mirrord.directory.mkdir(parents=True, exist_ok=True)
    (mirrord.directory / "mirrord.toml").write_text(CONFIG)
    return mirrord


class Asker:
    """An agent with files only."""

    def __init__(self, root: Path, tenant: str, attach_from: tuple[Path, ...] = ()) -> None:
        prepare_process()
        tree = Tree(root)
        marker = tree_marker.read(tree)
        assert marker is not None
        self.root = root
        self.session = Session(tree, tenant, marker.tenant_id, LOCAL_ACTOR, "mcp-test", SessionSettings(attach_from))
        self.gate = Gate(LEVELS, Limits(pending=0))

    def calls(self, name: str, arguments: Mapping[str, Any]) -> PendingRequest | dict[str, Any] | Failed:
        """What one call gets: nothing yet, the fields of a result, or a failure."""
        try:
            outcome = run(self.session, self.gate, name, arguments)
        except Failed as failed:
            return failed
        assert isinstance(outcome, PendingRequest) or isinstance(outcome.result, dict)
        return outcome.result if isinstance(outcome, CompletedCommand) else outcome

    def asks(self, name: str, arguments: Mapping[str, Any]) -> UUID:
        """The request that a call becomes."""
        pending = self.calls(name, arguments)
        assert isinstance(pending, PendingRequest), pending
        return pending.request_id

    def gets(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any] | Failed:
        """What the call gets in the end."""

        def ended() -> list[dict[str, Any] | Failed]:
            outcome = self.calls(name, arguments)
            return [] if isinstance(outcome, PendingRequest) else [outcome]

        return eventually(ended, f"the outcome of {name}")[0]

    def file(self, request: UUID) -> Path:
        """Where a request is."""
        return self.root / f".records/approvals/{request}.json"

    def change(self, request: UUID, **facts: Any) -> None:
        """Somebody with file access writes other things into a request's file."""
        file = self.file(request)
        file.write_text(json.dumps({**json.loads(file.read_text()), **facts}))

    def says(self, request: UUID) -> dict[str, Any]:
        """What a request's file says now."""
        facts: dict[str, Any] = json.loads(self.file(request).read_text())
        return facts


def taken_in(mirrord: Mirrord, agent: Asker, request: UUID) -> None:
    """Return when Postgres knows a request, and its file says so."""
    query = "SELECT expires_at FROM mirrord.approval WHERE id = %s"

    def is_told() -> bool:
        row = mirrord.app.execute(query, [request]).fetchone()
        return row is not None and datetime.fromisoformat(agent.says(request)["expires_at"]) == row[0]

    eventually(is_told, f"request {request} to be taken in")


def state(mirrord: Mirrord, request: UUID) -> str | None:
    """What Postgres says of a request; None: it was not taken in."""
    row = mirrord.app.execute("SELECT state FROM mirrord.approval WHERE id = %s", [request]).fetchone()
    return row[0] if row else None


def await_state(mirrord: Mirrord, request: UUID, expected_state: str) -> None:
    """Return when a request has come to be *expected_state*."""
    eventually(lambda: state(mirrord, request) == expected_state, f"request {request} to be {expected_state}")


def approve(mirrord: Mirrord, request: UUID) -> None:
    """A person approves what was taken in, as an application does."""
    await_state(mirrord, request, "pending")
    mirrord.app.execute("SELECT mirrord.approve(%s)", [request])


@contextmanager
def unguarded(mirrord: Mirrord) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A superuser's connection on which no trigger fires: for states that only time or a crash brings about."""
    assert mirrord.dsn is not None
    with psycopg.connect(mirrord.dsn, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        yield connection
