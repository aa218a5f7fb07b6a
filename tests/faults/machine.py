"""The random state machine: real files, a real Postgres, two daemons, an app, and everything that goes wrong."""

import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.faults.app_triggers import created_trigger, drop_trigger, trigger_of_seed
from tests.faults.courses import Course, Step, choose_steps, live_through
from tests.faults.file_acts import FILE_ACTS, Act, leave_no_halves
from tests.faults.halt_acts import HALT_ACTS, decide_standing_halts, standing_halts
from tests.faults.oracle import VERSIONS_PER_EDIT, restlessness, violations
from tests.faults.record_acts import RECORD_ACTS
from tests.faults.row_acts import ROW_ACTS, commit_all
from tests.faults.tokens import Ledger
from tests.faults.tool_acts import TOOL_ACTS
from tests.faults.world import PATIENCE, Cluster, World
from tests.support.harness import eventually

STEPS = 40
FIRST_PAGES = (0, 6, 14, 45)  # more than 25 deletions at once halt


def _kill(world: World, _: Ledger, first: int, second: int) -> None:
    world.mirrors[first % 2].end(signal.SIGKILL)


def _kill_and_start(world: World, ledger: Ledger, first: int, second: int) -> None:
    _kill(world, ledger, first, second)
    _start(world, ledger, first, second)


def _stop(world: World, _: Ledger, first: int, second: int) -> None:
    world.mirrors[first % 2].end(signal.SIGTERM)


def _start(world: World, _: Ledger, first: int, second: int) -> None:
    world.mirrors[first % 2].begin()


def _freeze(world: World, _: Ledger, first: int, second: int) -> None:
    world.mirrors[first % 2].freeze()


def _wake(world: World, _: Ledger, first: int, second: int) -> None:
    world.mirrors[first % 2].wake()


def _crash_postgres(world: World, _: Ledger, first: int, second: int) -> None:
    world.cluster.crash()
    time.sleep(first % 4 * 0.1)
    world.cluster.start()


def _cut(world: World, _: Ledger, first: int, second: int) -> None:
    with world.cluster.administered() as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mirrord'")


def _lose_bells(world: World, _: Ledger, first: int, second: int) -> None:
    world.ring(loud=bool(first % 2))


def _forget(world: World, ledger: Ledger, first: int, second: int) -> None:
    """The cache of a stopped daemon goes; its trash and journal stay."""
    _stop(world, ledger, first, second)
    for path in (world.mirrors[first % 2].root / ".mirrord").glob("state.db*"):
        path.unlink()
    _start(world, ledger, first, second)


def _pause(_: World, __: Ledger, first: int, second: int) -> None:
    time.sleep(first % 10 * 0.02)


def _settle(world: World, ledger: Ledger, first: int, second: int) -> None:
    """A page that a program has open, or an app has locked, is never at rest, so nobody waits then."""
    mirror = world.mirrors[first % 2]
    if mirror.running and not mirror.asleep and not ledger.open_files and not ledger.transactions:
        mirror.wait_ready()
        mirror.settle()


FAULTS: dict[str, tuple[int, Act]] = {  # by name: how often, among all acts
    "kill": (3, _kill),
    "kill and start": (4, _kill_and_start),
    "stop": (1, _stop),
    "start": (8, _start),
    "freeze": (3, _freeze),
    "wake": (6, _wake),
    "crash Postgres": (2, _crash_postgres),
    "cut connections": (2, _cut),
    "lose bells": (2, _lose_bells),
    "forget the cache": (1, _forget),
    "pause": (14, _pause),
    "settle": (8, _settle),
}
ACTS: dict[str, tuple[int, Act]] = {
    **FILE_ACTS,
    **TOOL_ACTS,
    **ROW_ACTS,
    **RECORD_ACTS,
    **HALT_ACTS,
    **FAULTS,
}


@dataclass(frozen=True, slots=True)
class History:
    """
    What one seed stands for.

    silent: no commit of anybody rings a bell. first_pages: how many pages the first tree has at the start. trigger:
    the name of the trigger that the app has on its pages; None: it has none.
    """

    seed: int
    silent: bool
    first_pages: int
    steps: tuple[Step, ...]
    trigger: str | None = None


def history(seed: int, length: int = STEPS) -> History:
    """The same for the same seed."""
    chance = random.Random(seed)
    steps = choose_steps(chance, ACTS, length)
    return History(seed, chance.random() < 0.2, chance.choice(FIRST_PAGES), steps, trigger_of_seed(seed))


def play(
    cluster: Cluster, directory: Path, name: str, history: History, say: Callable[[str], None] = print
) -> list[str]:
    """
    Live through a history in *directory*, which is removed if all holds; sentences about what does not hold.

    Raises Late where a daemon was not ready in time: that may be the machine's fault.
    """
    return live_through(directory, _opened_course(cluster, directory, name, history), history.steps, say)


@contextmanager
def _opened_course(cluster: Cluster, directory: Path, name: str, history: History) -> Iterator[Course[World, Ledger]]:
    world, ledger = World(cluster, directory, name, silent=history.silent), Ledger()
    begin, end = partial(_begin, first_pages=history.first_pages), partial(_end, trigger=history.trigger)
    try:
        with created_trigger(world, history.trigger):
            yield Course(world, ledger, ACTS, begin, end)
    finally:
        commit_all(ledger)
        world.close()


def _begin(world: World, ledger: Ledger, first_pages: int) -> None:
    """A page that stays: a tree that loses all its files halts, which is right and ends the story."""
    root = world.mirrors[0].root
    root.mkdir(parents=True)
    (root / "Keep.md").write_text("This page stays.\n", encoding="utf-8")
    ledger.touched()
    for number in range(first_pages):
        path, token = root / f"Shelf {number % 3}" / f"First {number}.md", ledger.token()
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# First {number}\n\nA page {token} of the beginning.\n", encoding="utf-8")
        ledger.wrote(token, f"first in {path}")
    world.begin()


def _end(world: World, ledger: Ledger, trigger: str | None) -> list[str]:
    leave_no_halves(world, ledger)
    commit_all(ledger)
    if trigger == "refusal":
        drop_trigger(world, trigger)  # nothing is at rest before
    _quiesce(world, ledger)
    versions_per_edit = VERSIONS_PER_EDIT * (1 if trigger is None else 2)
    sentences = violations(world, ledger, versions_per_edit)
    return sentences or restlessness(world) or violations(world, ledger, versions_per_edit)


def _quiesce(world: World, ledger: Ledger) -> None:
    """Until nothing is to be done and nobody is asked anything: what a decision changes may halt in its turn."""
    decide = partial(decide_standing_halts, world, ledger)

    def is_over() -> bool:
        decide()
        return not standing_halts(world)

    while True:
        world.quiesce(decide)
        if not standing_halts(world):
            return
        eventually(is_over, "what was decided to be done", PATIENCE)
