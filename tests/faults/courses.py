"""A history as steps: chosen by chance, lived through in a world, and made shorter where it fails."""

import random
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from tests.faults.file_acts import MISSED
from tests.faults.tokens import Ledger
from tests.faults.world import Late, World

W = TypeVar("W", bound=World)
L = TypeVar("L", bound=Ledger)
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Step:
    """One act; the numbers choose among what is there when it comes to it, so that any step may be left out."""

    name: str
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Course(Generic[W, L]):
    """
    What steps are taken in. acts: by name, with how often each comes.

    begin: before the first step. end: after the last one; returns sentences about what does not hold.
    """

    world: W
    ledger: L
    acts: Mapping[str, tuple[int, Callable[[W, L, int, int], None]]]
    begin: Callable[[W, L], None]
    end: Callable[[W, L], list[str]]


def choose_steps(chance: random.Random, acts: Mapping[str, tuple[int, object]], length: int) -> tuple[Step, ...]:
    """*length* of *acts*, which have their weights, by chance."""
    names = chance.choices(list(acts), [weight for weight, _ in acts.values()], k=length)
    return tuple(Step(name, chance.randrange(840), chance.randrange(840)) for name in names)


def live_through(
    directory: Path, opened: AbstractContextManager[Course[W, L]], steps: Iterable[Step], say: Tell
) -> list[str]:
    """
    Take *steps* in *directory*, which is removed if all holds; sentences about what does not hold.

    Raises Late where a daemon was not ready in time: that may be the machine's fault.
    """
    directory.mkdir(parents=True)
    try:
        with opened as course:
            course.begin(course.world, course.ledger)
            for step in steps:
                _take(course, step, say)
            sentences = course.end(course.world, course.ledger)
    except Late:
        raise
    except (AssertionError, TimeoutError) as error:
        sentences = [f"STUCK {type(error).__name__} {error}"]
    if not sentences:
        shutil.rmtree(directory)
    return sentences


def _take(course: Course[W, L], step: Step, say: Tell) -> None:
    ledger = course.ledger
    try:
        course.acts[step.name][1](course.world, ledger, step.first, step.second)
    except MISSED as missed:
        say(f"  {step.name} {step.first} {step.second}: not done: {type(missed).__name__} {str(missed)[:100]}")
    else:
        say(f"  {step.name} {step.first} {step.second}: {list(ledger.written.items())[-1:]}")
    for mirror in course.world.mirrors:
        if mirror.is_expected_up and not mirror.running:
            raise AssertionError(f"{mirror.directory.name}: the daemon ended by itself:\n{mirror.log_end()}")


def shrink(steps: Sequence[Step], fails: Callable[[Sequence[Step]], bool]) -> Sequence[Step]:
    """Fewer steps that fail too: leave out halves, quarters, … and single ones, as long as that works."""
    size = max(1, len(steps) // 2)
    while True:
        for start in range(0, len(steps), size):
            fewer = [*steps[:start], *steps[start + size :]]
            if fewer and fails(fewer):
                steps = fewer
                break
        else:
            if size == 1:
                return steps
            size = max(1, size // 2)


def spelled(steps: Iterable[Step]) -> str:
    """A history for a person, and for `tests.faults.replay`."""
    return "\n".join(f"  {step.name!r}, {step.first}, {step.second}" for step in steps)
