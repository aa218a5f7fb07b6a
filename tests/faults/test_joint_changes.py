"""
The daemon or Postgres dies while an applied change set is written to rows in one transaction.

At every moment rows have all of it or nothing; after the next start they have all, with one place in the feed.
"""

import itertools
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from mirrord.commands.changes.apply_command import apply_changes
from mirrord.commands.changes.change_commands import begin_changes
from mirrord.commands.changes.draft_session import OpenDraft, leave_draft
from mirrord.commands.core.connection_changes import ConnectionChanges
from mirrord.commands.core.session import Session
from mirrord.commands.pages.delete_commands import delete_page
from mirrord.commands.pages.move_commands import move_page
from mirrord.commands.pages.page_commands import read_page, write_page
from mirrord.db.database import app_dsn
from mirrord.domain.entry import Actor
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write.applied_plans import APPLIED_PATH
from tests.faults.proxy import Proxy
from tests.faults.scenarios import Scenario
from tests.faults.stage import Stage, staged
from tests.faults.stage_oracle import wrong
from tests.faults.world import Cluster
from tests.support.harness import eventually
from tests.support.rows import page_at

PATIENCE = 90.0  # seconds for everything that must come
BEGIN = "<C SET CONSTRAINTS"  # names are deferred, which no other transaction of the daemon does
NOTHING_ELSE = Scenario("change sets", lambda _: None, lambda _: None, frozenset())

Texts = Mapping[str, str | None]
Act = Callable[[Cluster, int], None]
_rounds = itertools.count(1)


def is_first_write(messages: Sequence[str]) -> bool:
    return messages[-1].startswith("<C")


def is_between_writes(messages: Sequence[str]) -> bool:
    return messages[-1].startswith(">") and any(message.startswith("<C") for message in messages)


def is_commit(messages: Sequence[str]) -> bool:
    return messages[-1] == ">S"


def is_answer_of_commit(messages: Sequence[str]) -> bool:
    return messages[-1] == "<C COMMIT"


def is_next_transaction(messages: Sequence[str]) -> bool:
    return messages[-1].startswith(">") and "<C COMMIT" in messages


def kill_engine(_: Cluster, engine: int) -> None:
    os.kill(engine, signal.SIGKILL)


def restart_postgres(cluster: Cluster, _: int) -> None:
    cluster.crash()
    cluster.start()


@dataclass(frozen=True, slots=True)
class Applied:
    """An applied change set that no engine has seen. before, after: texts of rows by path; seqs: places before it."""

    before: Texts
    after: Texts
    seqs: Mapping[UUID, int]


@pytest.fixture(scope="module")
def proxy_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a short name: those of sockets are."""
    directory = tmp_path_factory.mktemp("j")
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="module")
def stage(own_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(own_cluster, tmp_path_factory.mktemp("joint") / "stage", "joint") as stage:
        for path in ("A", "B", "Here/Moved", "Fresh 0"):
            stage.save(f"{path}.md", f"{path}\n")
        stage.converge()
        yield stage


def apply_next(stage: Stage) -> Applied:
    """Edit two pages, move one, delete one and make one, in a change set."""
    number = next(_rounds)
    source, target = ("Here/Moved", "There/Moved") if number % 2 else ("There/Moved", "Here/Moved")
    doomed, fresh = f"Fresh {number - 1}", f"Fresh {number}"
    paths = ("A", "B", source, target, doomed, fresh)
    before, seqs = texts_of(stage, paths), seqs_of(stage)
    with closing(Session(Tree(stage.root), stage.name, stage.tenant, Actor("agent", "writer"), "mcp-main")) as session:
        connection = ConnectionChanges()
        begin_changes(session, connection, f"Round {number}")
        draft = connection.draft
        assert isinstance(draft, OpenDraft)
        for path in ("A", "B"):
            read_page(draft.session, f"{path}.md")
            write_page(draft.session, f"{path}.md", f"{path} {number}\n")
        move_page(draft.session, f"{source}.md", f"{target}.md")
        delete_page(draft.session, f"{doomed}.md")
        write_page(draft.session, f"{fresh}.md", f"{fresh}\n")
        leave_draft(connection)
        apply_changes(session, draft.facts.id)
    files = {path: stage.root / f"{path}.md" for path in paths}
    after = {path: file.read_text(encoding="utf-8") if file.exists() else None for path, file in files.items()}
    assert [after["B"], after[source], after[doomed]] == [f"B {number}\n", None, None]
    return Applied(before, after, seqs)


def texts_of(stage: Stage, paths: Sequence[str]) -> Texts:
    """The text of the living row at each path; None: there is none."""
    rows = {path: page_at(stage.app, path) for path in paths}
    return {path: None if row is None else row.markdown for path, row in rows.items()}


def seqs_of(stage: Stage) -> Mapping[UUID, int]:
    return dict(stage.app.execute("SELECT entry_id, seq FROM mirrord.entry_feed").fetchall())


def has_no_copies(stage: Stage) -> bool:
    """Let an engine work; whether it dropped the copies of what commands wrote, as it does with a look at journals."""
    stage.converge()
    return not list((stage.root / ".mirrord/tmp/daemon").glob("a.*"))


def interrupt(stage: Stage, proxy: Proxy, is_moment: Callable[[Sequence[str]], bool], act: Act) -> bool:
    """Let an engine in a process of its own work, and *act* at a moment of the joint transaction; whether it ended."""
    arrived, resumed = threading.Event(), threading.Event()
    ready, go = os.pipe()
    engine = os.fork()
    if engine == 0:
        _work(stage, proxy, ready)

    def holds() -> bool:
        messages = proxy.seen[proxy.seen.index(BEGIN) + 1 :] if BEGIN in proxy.seen else []
        if not messages or not is_moment(messages):
            return False
        arrived.set()
        return resumed.wait(PATIENCE)

    with proxy:
        proxy.arm(0)
        proxy.arm_when(holds)
        os.write(go, b"g")
        assert arrived.wait(PATIENCE), "the joint transaction did not come to this moment"
        act(stage.cluster, engine)
        resumed.set()
        status = eventually(lambda: _ended(engine), "the end of the engine", PATIENCE)[0]
    os.close(ready)
    os.close(go)
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0


def _ended(process: int) -> tuple[int] | None:
    ended, status = os.waitpid(process, os.WNOHANG)
    return (status,) if ended else None


def _work(stage: Stage, proxy: Proxy, ready: int) -> None:
    """The life of the engine's process."""
    code = 1
    try:
        os.read(ready, 1)
        replace(stage, dsn=proxy.dsn).converge_anew()
        code = 0
    finally:
        os._exit(code)


@pytest.mark.parametrize(
    ("is_moment", "act"),
    [
        (is_first_write, kill_engine),
        (is_between_writes, restart_postgres),
        (is_commit, kill_engine),
        (is_answer_of_commit, kill_engine),
        (is_answer_of_commit, restart_postgres),
        (is_next_transaction, kill_engine),
    ],
    ids=lambda function: function.__name__,
)
def test_rows_have_all_of_a_change_set_or_nothing_whoever_dies(
    own_cluster: Cluster, stage: Stage, proxy_directory: Path, is_moment: Callable[[Sequence[str]], bool], act: Act
) -> None:
    with psycopg.connect(app_dsn(own_cluster.dsn, stage.tenant), autocommit=True) as stage.app:
        applied = apply_next(stage)
    is_alive = interrupt(stage, Proxy(own_cluster.dsn, proxy_directory), is_moment, act)
    assert is_alive == (act is restart_postgres)
    with psycopg.connect(app_dsn(own_cluster.dsn, stage.tenant), autocommit=True) as stage.app:
        met = texts_of(stage, list(applied.after))
        assert met in ((applied.after,) if is_alive else (applied.before, applied.after))
        if is_moment in (is_answer_of_commit, is_next_transaction):
            assert met == applied.after

        eventually(partial(has_no_copies, stage), "a look at the journals")
        assert texts_of(stage, list(applied.after)) == applied.after
        changed = {seq for entry, seq in seqs_of(stage).items() if applied.seqs.get(entry) != seq}
        assert len(changed) == 1
        assert wrong(stage, NOTHING_ELSE) == []
        assert list((stage.root / APPLIED_PATH).iterdir()) == []
