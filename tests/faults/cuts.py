"""Cuts between the engine and Postgres, at every message of a scenario: what was sent is carried out exactly once."""

import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.faults.proxy import Proxy
from tests.faults.scenarios import SCENARIOS, Scenario
from tests.faults.stage import Stage
from tests.faults.stage_oracle import wrong
from tests.faults.world import Cluster

# Those that write rows: what only writes files learns of a cut by the same calls. The swap is recorded after the move.
NAMES = (
    *("a new file", "a file edited", "a row edited", "both edited, apart", "both edited, same line", "a file deleted"),
    *(
        "a title written",
        "a row deleted",
        "a row deleted, its file edited",
        "a file renamed",
        "a new attachment",
        "a row inserted",
        "two rows swapped",
    ),
)


@dataclass(frozen=True, slots=True)
class Uncut:
    """A scenario without a cut: the messages of both ways, its tree and its number of versions."""

    scenario: Scenario
    messages: tuple[str, ...]
    picture: dict[str, str]
    versions: int


def scenarios() -> Iterator[Scenario]:
    """Those that are cut."""
    return (scenario for scenario in SCENARIOS if scenario.name in NAMES)


def play_uncut(cluster: Cluster, proxy: Proxy, directory: Path, scenario: Scenario) -> Uncut:
    """Count the messages of a scenario."""
    with scenario.set_up(cluster, directory) as stage:
        _converge(stage, proxy, 0)
        uncut = Uncut(scenario, tuple(proxy.seen), stage.picture(), stage.versions())
    shutil.rmtree(stage.directory)
    return uncut


def play(cluster: Cluster, proxy: Proxy, directory: Path, uncut: Uncut, number: int) -> list[str]:
    """Play a scenario and cut before its *number*-th message; sentences about what does not hold."""
    with uncut.scenario.set_up(cluster, directory) as stage:
        try:
            _converge(stage, proxy, number)
        except TimeoutError:
            return ["STUCK the engine does not come to an end after the cut"]
        violations = wrong(stage, uncut.scenario)
        if stage.versions() != uncut.versions:
            violations.append(f"MORE THAN ONCE {stage.versions()} versions instead of {uncut.versions}")
        if stage.picture() != uncut.picture:
            violations.append(f"OTHERWISE {stage.picture()} instead of {uncut.picture}")
    if not violations:
        shutil.rmtree(stage.directory)
    return violations


def commits_of_writes(uncut: Uncut) -> Iterator[int]:
    """The answers to COMMIT of transactions that wrote: cut there, nobody is told that it happened."""
    wrote = False
    for number, message in enumerate(uncut.messages, start=1):
        if message == "<C COMMIT":
            if wrote:
                yield number
            wrote = False
        wrote = wrote or re.fullmatch(r"<C (INSERT 0|UPDATE|DELETE) [1-9]\d*", message) is not None


def sampled(uncut: list[Uncut], seed: int) -> list[tuple[Uncut, int]]:
    """Every message of every scenario, in the order of the seed; before the last one of all is after a COMMIT too."""
    points = [(recording, number) for recording in uncut for number in range(1, len(recording.messages) + 1)]
    random.Random(seed).shuffle(points)
    return points


def _converge(stage: Stage, proxy: Proxy, number: int) -> None:
    replace(stage, dsn=proxy.dsn).converge_anew(lambda: proxy.arm(number))
