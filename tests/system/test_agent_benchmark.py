"""The benchmark of agents: its tasks are done, and what is wrong in a vault or in a script is noticed."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.bench.agent_tasks import notes
from tests.bench.agent_tasks.play import faults_of, play
from tests.bench.agent_tasks.synced_play import play_synced, start_vault
from tests.bench.agent_tasks.synced_tasks import SYNCED
from tests.bench.agent_tasks.task import Player, bytes_for_model
from tests.bench.agent_tasks.tasks import TASKS
from tests.support.commands import Near
from tests.support.harness import Mirrord

pytestmark = pytest.mark.anyio

BY_NAME = {task.name: task for task in TASKS}
MADE_UP = {path: text.encode() for path, text in notes.TEXTS.items()}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("name", ["find an owner", "rename a page", "merge in one call", "count within a scope"])
async def test_a_task_is_done_within_the_goal(name: str) -> None:
    outcome = await play(BY_NAME[name])

    assert outcome.faults == ()
    assert 0 < outcome.calls <= 4
    assert 0 < outcome.bytes_in <= 6 * 1024


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Mirrord]:
    with Near(tmp_path_factory.mktemp("tasks") / "installation", dsn=module_dsn) as running:
        start_vault(running)
        yield running


@pytest.mark.parametrize("name", ["take back a bulk edit", "have a proposal accepted"])
async def test_a_task_with_a_daemon_is_done_within_the_goal(daemon: Mirrord, name: str) -> None:
    (task,) = [task for task in SYNCED if task.name == name]
    outcome = await play_synced(task, daemon)

    assert outcome.faults == ()
    assert 0 < outcome.calls <= 4
    assert 0 < outcome.bytes_in <= 6 * 1024


async def test_a_script_may_name_only_what_it_was_told() -> None:
    async def act(player: Player) -> None:
        await player.call("delete_page", path="Old/Plan.md")

    outcome = await play(replace(BY_NAME["find an owner"], act=act))

    assert outcome.calls == 0
    assert "Old, Plan of ['Old/Plan.md'] is neither in the task nor in an answer" in outcome.faults[0]


@pytest.mark.parametrize(
    "harm",
    [
        {},
        {"Projects/Heron.md": MADE_UP["Projects/Heron.md"].replace(b"2026-03-01", b"2026-04-01 ")},
        {"Projects/Heron.md": b""},
        {"Other.md": b"# Other\n"},
    ],
)
def test_a_checker_notices_a_wrong_vault(harm: dict[str, bytes]) -> None:
    task = BY_NAME["set a date"]
    assert task.change is not None

    assert faults_of(task, MADE_UP, task.change(MADE_UP), None) == []
    assert faults_of(task, MADE_UP, {**MADE_UP, **harm}, None)
    assert faults_of(task, MADE_UP, task.change(MADE_UP), "another reply")


def test_content_that_comes_twice_is_counted_once() -> None:
    assert bytes_for_model('{"a": 1}', {"a": 1}) == 8
    assert bytes_for_model("ä", {"content": "ä"}) == 2
    assert bytes_for_model("text", {"a": 1}) == 4 + 8


def test_there_are_thirty_tasks_of_different_names() -> None:
    assert len(BY_NAME) == len(TASKS) >= 30
