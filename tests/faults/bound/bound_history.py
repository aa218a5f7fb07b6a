"""A random history of a bound app, of people, of agents, and of faults; the same for the same seed."""

import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.faults import oracle
from tests.faults.bound.app_acts import APP_ACTS, BoundAct, end_transaction
from tests.faults.bound.binding_acts import ACCIDENTS, BINDING_ACTS, enable_triggers
from tests.faults.bound.bound_oracle import bound_violations
from tests.faults.bound.bound_world import BoundLedger, BoundWorld
from tests.faults.bound.shapes import SHAPES, Shape
from tests.faults.file_acts import FILE_ACTS, MISSED, leave_no_halves
from tests.faults.halt_acts import decide_halts, standing_halts
from tests.faults.machine import FAULTS, Step, choose_steps
from tests.faults.world import Cluster, Late

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
    directory.mkdir(parents=True)
    world, ledger = BoundWorld(cluster, directory, name, history.shape), BoundLedger()
    try:
        begin_history(world, ledger, history.first_rows)
        for step in history.steps:
            _take(world, ledger, step, say)
        sentences = _end(world, ledger)
    except Late:
        raise
    except (AssertionError, TimeoutError) as error:
        sentences = [f"STUCK {type(error).__name__} {error}"]
    finally:
        _end_transactions(world, ledger)
        world.close()
    if not sentences:
        shutil.rmtree(directory)
    return sentences


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


def _take(world: BoundWorld, ledger: BoundLedger, step: Step, say: Callable[[str], None]) -> None:
    act = (ACTS | ACCIDENTS)[step.name][1]
    try:
        act(world, ledger, step.first, step.second)
    except MISSED as missed:
        say(f"  {step.name} {step.first} {step.second}: not done: {type(missed).__name__} {str(missed)[:100]}")
    else:
        say(f"  {step.name} {step.first} {step.second}: {list(ledger.written.items())[-1:]}")
    for mirror in world.mirrors:
        if mirror.is_expected_up and not mirror.running:
            raise AssertionError(f"{mirror.directory.name}: the daemon ended by itself:\n{mirror.log_end()}")


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

    def decide() -> None:
        with suppress(psycopg.Error):  # the first word on a connection that Postgres has cut; it looks again
            decide_halts(world, ledger, ledger.edits, 0)

    for number in range(MAX_ROUNDS):
        before = _picture(world)
        world.quiesce(decide)
        world.await_rest(is_blind=ledger.is_blind and number == 0)
        waits = any(oracle.leftovers(world, mirror) for mirror in world.mirrors)  # copies of tools: one look a second
        if not standing_halts(world) and not waits and _picture(world) == before:
            return
    raise AssertionError(f"after {MAX_ROUNDS} rounds the sides still answer each other, or a journal is full")


def _picture(world: BoundWorld) -> object:
    versions = oracle.load(world, "SELECT id, version FROM mirrord.page WHERE tenant_id = %(t)s ORDER BY id")
    return versions, world.rows()
