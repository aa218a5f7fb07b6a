"""Sessions on real trees in tmp_path."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mirrord.commands.core.session import Session, SessionSettings
from mirrord.domain.entry import Actor, TenantId, new_id
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.research.sources.source_kinds import DIRECTORY
from tests.unit.kills import forgo_syncs

AGENT = Actor("agent", "writer")
TENANT = TenantId(new_id())

Open = Callable[..., Session]
Save = Callable[[str, str], None]


@pytest.fixture(scope="session", autouse=True)
def _prepared() -> None:
    prepare_process()


@pytest.fixture(autouse=True)
def _unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power is cut here; tests of the mirror hold what is synced, and when."""
    forgo_syncs(monkeypatch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "mirror" / "acme"
    directory.mkdir(parents=True)
    return directory


@pytest.fixture
def connect(root: Path) -> Iterator[Open]:
    """Opens sessions of one tenant, as several clients would; all end with the test."""
    opened: list[Session] = []

    def open_session(actor: Actor = AGENT, attach_from: tuple[Path, ...] = (), sources_dir: str = DIRECTORY) -> Session:
        writer = f"mcp-{len(opened)}"
        settings = SessionSettings(attach_from=attach_from, sources_dir=sources_dir)
        opened.append(Session(Tree(root), "acme", TENANT, actor, writer, settings))
        return opened[-1]

    yield open_session
    for session in opened:
        session.close()


@pytest.fixture
def session(connect: Open) -> Session:
    return connect()


@pytest.fixture
def save_at_that_moment(root: Path, monkeypatch: pytest.MonkeyPatch) -> Save:
    """Lets another program save a file when a command that has read everything is about to write."""
    claim = Tree.claim

    def arrange(path: str, text: str) -> None:
        def save_first(tree: Tree, *paths: str, new_bytes: int = 0) -> None:
            (root / path).write_text(text)
            claim(tree, *paths, new_bytes=new_bytes)

        monkeypatch.setattr(Tree, "claim", save_first)

    return arrange


def page(root: Path, path: str, text: str) -> Path:
    """A page somebody made with an editor."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def events(root: Path) -> list[tuple[str, dict[str, object]]]:
    """The type and the data of every event, in order."""
    lines = [
        line for file in sorted((root / ".records/events").glob("*.jsonl")) for line in file.read_text().splitlines()
    ]
    return [(event["type"], event["data"]) for event in map(json.loads, lines)]
