"""Kills and errors at every system call of every scenario; then a new start, and the oracle."""

import itertools
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.faults import coverage
from tests.faults.injection import ERRORS, Gate, Point, Traced, traced
from tests.faults.scenarios import KNOWN_WITH_ERRORS, Scenario
from tests.faults.stage import Stage
from tests.faults.stage_oracle import wrong
from tests.faults.world import Cluster


@dataclass(slots=True)
class Rehearsal:
    """A scenario played without a fault: the calls it makes, what comes of it, the rows of SYNC it was in."""

    scenario: Scenario
    trace: Traced
    picture: dict[str, str]
    wrong: list[str] = field(default_factory=list)
    rows: frozenset[str] = frozenset()

    def points(self) -> Iterator[Point]:
        """Every place where it can be killed, and every call that can fail."""
        for call, times in sorted(self.trace.counts().items()):
            for number in range(1, times + 1):
                yield Point(call, number)
                for error, calls in ERRORS.items():
                    if call in calls and self.scenario.name not in KNOWN_WITH_ERRORS:
                        yield Point(call, number, error)


def rehearse(cluster: Cluster, directory: Path, scenario: Scenario) -> Rehearsal:
    """Play *scenario* to its end."""
    with scenario.set_up(cluster, directory) as stage:
        rows = stage.directory / "rows"
        trace = traced(partial(_perform_recorded, stage, scenario, rows), stage.directory / "trace")
        decided = frozenset(rows.read_text(encoding="ascii").split()) if rows.exists() else frozenset()
        violations = [f"ENDED with {trace.output}"] if trace.failed else wrong(stage, scenario)
        picture = stage.picture()
    shutil.rmtree(stage.directory)
    return Rehearsal(scenario, trace, picture, violations, decided)


def play(cluster: Cluster, directory: Path, rehearsal: Rehearsal, point: Point) -> list[str]:
    """Play a scenario with a fault at *point*; sentences about what does not hold after the next start."""
    scenario = rehearsal.scenario
    with scenario.set_up(cluster, directory) as stage:
        trace = traced(partial(_perform, stage, scenario), stage.directory / "trace", point)
        violations = []
        if trace.failed and not _may_end(trace):
            violations.append(f"ENDED {trace.output.strip().splitlines()[-1]}")
        violations += _recovered(stage, rehearsal, alike=point.error is None)
    if not violations:
        shutil.rmtree(stage.directory)
    return violations


def _recovered(stage: Stage, rehearsal: Rehearsal, *, alike: bool) -> Iterator[str]:
    """alike: after a kill the tree must be what it is without; an error may cost, say, a name its number."""
    try:
        stage.converge()
    except Exception as error:  # whatever it is, the start after a fault must not fail
        yield f"STUCK {type(error).__name__}: {error}"
        return
    yield from wrong(stage, rehearsal.scenario)
    expected, picture = rehearsal.picture, stage.picture()
    for name in sorted(expected.keys() | picture.keys()) if alike else ():
        if expected.get(name) != picture.get(name):
            yield f"OTHERWISE {name}: {picture.get(name)!r} instead of {expected.get(name)!r}"


def sampled(rehearsals: list[Rehearsal], seed: int) -> list[tuple[Rehearsal, Point]]:
    """Every point of every scenario, in the order of the seed; each call has its turn, for most calls are `sendto`."""
    by_call: dict[tuple[str, str | None], list[tuple[Rehearsal, Point]]] = {}
    for rehearsal in rehearsals:
        for point in rehearsal.points():
            by_call.setdefault((point.call, point.error), []).append((rehearsal, point))
    for points in by_call.values():
        random.Random(seed).shuffle(points)
    turns = itertools.zip_longest(*by_call.values())
    return [point for turn in turns for point in turn if point is not None]


def _may_end(trace: Traced) -> bool:
    """A daemon that cannot start, because the disk is full or broken, says so and ends; a service starts it again."""
    return "open_mirror" in trace.output or "engine.start()" in trace.output


def _perform(stage: Stage, scenario: Scenario, gate: Gate) -> None:
    """Counted from the moment when the mirror is open: what opens it makes the same calls in every scenario."""
    scenario.begin()
    if scenario.from_start:
        gate()
        stage.converge_anew()
    else:
        stage.converge_anew(gate)


def _perform_recorded(stage: Stage, scenario: Scenario, rows: Path, gate: Gate) -> None:
    coverage.record(rows)
    _perform(stage, scenario, gate)
