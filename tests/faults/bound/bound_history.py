"""A random history of a bound app, of people, of agents, and of faults; the same for the same seed."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg

from tests.faults import oracle
from tests.faults.bound.app_acts import APP_ACTS, BoundAct, end_transaction
from tests.faults.bound.binding_acts import ACCIDENTS, BINDING_ACTS, enable_triggers
from tests.faults.bound.bound_oracle import bound_violations
from tests.faults.bound.bound_world import BoundLedger, BoundWorld
from tests.faults.bound.shapes import SHAPES, Shape
from tests.faults.courses import Course, Step, choose_steps, live_through
from tests.faults.file_acts import FILE_ACTS, leave_no_halves
from tests.faults.halt_acts import decide_standing_halts, standing_halts
from tests.faults.machine import FAULTS
from tests.faults.world import Cluster

STEPS = 40
FIRST_ROWS = (3, 8, 14)
ACCIDENTAL_SEEDS = 4  # every fourth history has acts that triggers do not see
MAX_ROUNDS = 20  # of waiting until neither side has news for the other

_FILE_ACTS = ("make", "edit", "rewrite", "rename", "move", "remove", "copy", "rename folder", "move folder")
ACTS: dict[str, tuple[int, BoundAct]] = {
    **{name: FILE_ACTS[name] for name in _FILE_ACTS},
    **APP_ACTS,
    **BINDING_ACTS,
    **FAULTS,
}


@dataclass(frozen=True, slots=True)
class BoundHistory:
    """What one seed stands for. shape: the app's tables. first_rows: how many the app has at the start."""

    seed: int
    shape: Shape
    first_rows: int
    steps: tuple[Step, ...]


def bound_history(seed: int, length: int = STEPS) -> BoundHistory:
    """The same for the same seed."""
    chance = random.Random(seed)
    acts = ACTS | ACCIDENTS if seed % ACCIDENTAL_SEEDS == ACCIDENTAL_SEEDS - 1 else ACTS
    steps = choose_steps(chance, acts, length)
    return BoundHistory(seed, SHAPES[seed // 2 % len(SHAPES)], chance.choice(FIRST_ROWS), steps)


def play_bound(
    cluster: Cluster, directory: Path, name: str, history: BoundHistory, say: Callable[[str], None] = print
) -> list[str]:
    """
    Live through a history in *directory*, which is removed if all holds; sentences about what does not hold.

    Raises Late where a daemon was not ready in time: that may be the machine's fault.
    """
    return live_through(directory, _opened_course(cluster, directory, name, history), history.steps, say)


@contextmanager
def _opened_course(
    cluster: Cluster, directory: Path, name: str, history: BoundHistory
) -> Iterator[Course[BoundWorld, BoundLedger]]:
    world, ledger = BoundWorld(cluster, directory, name, history.shape), BoundLedger()
    try:
        yield Course(world, ledger, ACTS | ACCIDENTS, partial(begin_history, first_rows=history.first_rows), _end)
    finally:
        _end_transactions(world, ledger)
        world.close()


def begin_history(world: BoundWorld, ledger: BoundLedger, first_rows: int) -> None:
    """A page that stays, and some rows; both daemons are ready."""
    root = world.mirrors[0].root
    root.mkdir(parents=True)
    (root / "Keep.md").write_text("This page stays.\n", encoding="utf-8")
    ledger.touched()
    for number in range(first_rows):
        insert = APP_ACTS["insert"][1]
        insert(world, ledger, 0 if number < 2 else number, number)
    world.begin()


def _end(world: BoundWorld, ledger: BoundLedger) -> list[str]:
    leave_no_halves(world, ledger)
    _end_transactions(world, ledger)
    if ledger.is_blind:
        enable_triggers(world, ledger, 0, 0)
    settle_sides(world, ledger)
    sentences = bound_violations(world, ledger)
    if sentences:
        return sentences
    before = world.rows()
    sentences = oracle.restlessness(world)
    if world.rows() != before:
        sentences.append(f"a restart changed rows of the app: {before} became {world.rows()}")
    return sentences or bound_violations(world, ledger)


def _end_transactions(world: BoundWorld, ledger: BoundLedger) -> None:
    while ledger.transactions:
        with suppress(psycopg.Error):
            end_transaction(world, ledger, 0, 1)


def settle_sides(world: BoundWorld, ledger: BoundLedger) -> None:
    """Until neither files, pages nor rows have news, and no one is asked anything."""
    for number in range(MAX_ROUNDS):
        before = _picture(world)
        world.quiesce(partial(decide_standing_halts, world, ledger))
        world.await_rest(is_blind=ledger.is_blind and number == 0)
        waits = any(oracle.leftovers(world, mirror) for mirror in world.mirrors)  # copies of tools: one look a second
        if not standing_halts(world) and not waits and _picture(world) == before:
            return
    raise AssertionError(f"after {MAX_ROUNDS} rounds the sides still answer each other, or a journal is full")


def _picture(world: BoundWorld) -> object:
    versions = oracle.load(world, "SELECT id, version FROM mirrord.page WHERE tenant_id = %(t)s ORDER BY id")
    return versions, world.rows()
