"""The campaigns of `make fault`: each plays as long as it may, and tells how much it played and what failed."""

import itertools
import random
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import psycopg

from mirrord.errors import MirrordError
from mirrord.mirror.process_setup import prepare_process
from tests.faults import canaries, change_sets, courses, coverage, cuts, machine, planner, processes, race, syscalls
from tests.faults.bound.bound_history import bound_history, play_bound
from tests.faults.injection import missing
from tests.faults.mutants import MUTANTS, survivors
from tests.faults.proxy import Proxy
from tests.faults.scenarios import KNOWN, SCENARIOS, Scenario
from tests.faults.world import Cluster, Late

WRITES = 500  # of a tool in one race
ERRORS = (AssertionError, TimeoutError, OSError, psycopg.Error, MirrordError)  # by which an attempt may end


@dataclass(slots=True)
class Outcome:
    """
    played: how many, and of how many if that is known. failures: (how to replay it, what did not hold).
    repeated: (how to replay it, why): a daemon was not ready in time, so that only the second attempt counts.
    notes: what a person should see though nothing failed.
    """

    played: int = 0
    of: int | None = None
    failures: list[tuple[str, list[str]]] = field(default_factory=list)
    repeated: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def take(self, replay: str, violations: list[str]) -> None:
        """One more was played; *found* is what did not hold."""
        self.played += 1
        if violations:
            self.failures.append((replay, violations))
            print(f"FAILED  {replay}", *violations, sep="\n        ", flush=True)

    def add(self, other: "Outcome") -> None:
        """Some more were played."""
        self.played += other.played
        self.failures += other.failures
        self.repeated += other.repeated
        self.notes += other.notes


@dataclass(frozen=True, slots=True)
class Run:
    """
    What a campaign is given.

    alone: only the one history of this seed. until: monotonic seconds.
    only: the one scenario to be played. point: as a failure spells it; None: as many as there is time for.
    """

    cluster: Cluster
    directory: Path
    seed: int
    until: float
    alone: bool = False
    only: str | None = None
    point: str | None = None

    def scenarios(self, candidates: Iterable[Scenario]) -> list[Scenario]:
        """Those to be played."""
        return [scenario for scenario in candidates if self.only in (None, scenario.name)]

    def is_asked(self, point: str) -> bool:
        """Whether a point is to be played."""
        return self.point in (None, point)

    def seeds(self) -> Iterator[int]:
        """One, or as many as there is time for; at least one."""
        for seed in itertools.count(self.seed):
            yield seed
            if self.alone or time.monotonic() > self.until:
                return


Campaign = Callable[[Run], Outcome]


def find_broken(attempt: Callable[[], list[str]]) -> list[str]:
    """
    The sentences of *attempt*; an error that ends it is one, so that others are attempted nevertheless.

    Raises Late, which is attempted again.
    """
    try:
        return attempt()
    except Late:
        raise
    except ERRORS as error:
        return sentences_of(error)


def sentences_of(error: BaseException) -> list[str]:
    """By which error an attempt ended, and where."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return [f"BROKEN {type(error).__name__}: {error}", *lines]


def _spelled(campaign: str, scenario: Scenario, point: str) -> str:
    return f'CAMPAIGN={campaign} SCENARIO="{scenario.name}" POINT="{point}"'


def play_machine(run: Run) -> Outcome:
    """Random histories of two daemons."""
    outcome = Outcome()
    for seed in run.seeds():
        replay = f"CAMPAIGN=machine SEED={seed}"
        try:
            violations = find_broken(partial(_lived, run, seed, f"machine-{seed}"))
        except Late as late:
            outcome.repeated.append((replay, str(late)))
            violations = find_broken(partial(_lived_again, run, seed))
        outcome.take(replay, violations)
    return outcome


def _lived(run: Run, seed: int, name: str) -> list[str]:
    lines: list[str] = []
    violations = machine.play(run.cluster, run.directory / name, name, machine.history(seed), lines.append)
    if violations:
        print(*lines, sep="\n")
    return violations


def _lived_again(run: Run, seed: int) -> list[str]:
    """A daemon that is late twice is stuck."""
    try:
        return _lived(run, seed, f"machine-{seed}-again")
    except Late as late:
        return [f"STUCK {late}"]


def play_binding(run: Run) -> Outcome:
    """Random histories of an app with bound tables."""
    outcome = Outcome()
    for seed in run.seeds():
        replay, name = f"CAMPAIGN=binding SEED={seed}", f"binding-{seed}"
        try:
            violations = find_broken(partial(_played_bound, run, seed, name))
        except Late as late:
            outcome.repeated.append((replay, str(late)))
            violations = find_broken(partial(_played_bound_again, run, seed))
        outcome.take(replay, violations)
    return outcome


def _played_bound(run: Run, seed: int, name: str) -> list[str]:
    lines: list[str] = []
    violations = play_bound(run.cluster, run.directory / name, name, bound_history(seed), lines.append)
    if violations:
        print(*lines, sep="\n")
    return violations


def _played_bound_again(run: Run, seed: int) -> list[str]:
    try:
        return _played_bound(run, seed, f"binding-{seed}-again")
    except Late as late:
        return [f"STUCK {late}"]


def shrink_machine(run: Run) -> Outcome:
    """The fewest steps of one history that still fail; each attempt is made twice, for timing is chance."""
    history, outcome, numbers = machine.history(run.seed), Outcome(), itertools.count()

    def fails(steps: Iterable[courses.Step]) -> bool:
        fewer = replace(history, steps=tuple(steps))
        names = [f"shrink-{run.seed}-{next(numbers)}" for _ in range(2)]
        return any(_fails(run, fewer, name) for name in names)

    if fails(history.steps):
        outcome.take(f"CAMPAIGN=machine SEED={run.seed}", [courses.spelled(courses.shrink(history.steps, fails))])
    return outcome


def _fails(run: Run, history: machine.History, name: str) -> bool:
    try:
        return bool(machine.play(run.cluster, run.directory / name, name, history, lambda _: None))
    except Late:
        return True


def play_planner(run: Run) -> Outcome:
    """Histories of the model."""
    outcome = Outcome()
    for seed in run.seeds():
        outcome.take(f"CAMPAIGN=planner SEED={seed}", planner.live(seed, length=random.Random(seed).randrange(5, 40)))
    return outcome


def play_syscalls(run: Run) -> Outcome:
    """Kills and errors at system calls; the table of what they cover."""
    outcome = Outcome()
    if why := missing():
        outcome.notes.append(f"skipped: {why}")
        return outcome
    rehearsals = []
    for scenario in run.scenarios(SCENARIOS):
        rehearsal = syscalls.rehearse(run.cluster, run.directory, scenario)
        if scenario.name in KNOWN:
            state = "open" if rehearsal.wrong else "MENDED, take it out of KNOWN"
            outcome.notes.append(f"known: {scenario.name}: {KNOWN[scenario.name]} ({state})")
            continue
        outcome.take(f"scenario {scenario.name!r}", rehearsal.wrong)
        if not rehearsal.wrong:
            rehearsals.append(rehearsal)
    cells = coverage.table(
        coverage.Seen(rehearsal.scenario.name, rehearsal.rows, rehearsal.trace.trace) for rehearsal in rehearsals
    )
    if run.only is None:
        print(coverage.spelled(cells))
        outcome.take("coverage", coverage.empty_cells(cells))
    points = [
        (rehearsal, point) for rehearsal, point in syscalls.sampled(rehearsals, run.seed) if run.is_asked(str(point))
    ]
    outcome.of = outcome.played + len(points)
    for rehearsal, point in points:
        violations = find_broken(partial(syscalls.play, run.cluster, run.directory, rehearsal, point))
        outcome.take(_spelled("syscalls", rehearsal.scenario, str(point)), violations)
        if time.monotonic() > run.until:
            break
    return outcome


def play_changes(run: Run) -> Outcome:
    """Kills and errors at system calls of an apply of a change set, whole or in part."""
    outcome = Outcome()
    if why := missing():
        outcome.notes.append(f"skipped: {why}")
        return outcome
    prepare_process()
    names = [name for name in change_sets.CHOICES if run.only in (None, name)]
    rehearsals = [change_sets.rehearse(run.directory, name) for name in names]
    points = [
        (rehearsal, point) for rehearsal in rehearsals for point in rehearsal.points() if run.is_asked(str(point))
    ]
    random.Random(run.seed).shuffle(points)
    outcome.of = len(points)
    for rehearsal, point in points:
        sentences = find_broken(partial(change_sets.play, run.directory, rehearsal, point))
        outcome.take(f'CAMPAIGN=changes SCENARIO="{rehearsal.name}" POINT="{point}"', sentences)
        if time.monotonic() > run.until:
            break
    return outcome


def play_cuts(run: Run) -> Outcome:
    """Cuts between engine and Postgres."""
    outcome = Outcome()
    sockets = run.directory / "proxy"
    sockets.mkdir(parents=True)
    with Proxy(run.cluster.dsn, sockets) as proxy:
        uncut = [
            cuts.play_uncut(run.cluster, proxy, run.directory, scenario) for scenario in run.scenarios(cuts.scenarios())
        ]
        points = [
            (recording, number) for recording, number in cuts.sampled(uncut, run.seed) if run.is_asked(str(number))
        ]
        outcome.of = len(points)
        for recording, number in points:
            violations = find_broken(partial(cuts.play, run.cluster, proxy, run.directory, recording, number))
            outcome.take(_spelled("cuts", recording.scenario, str(number)), violations)
            if time.monotonic() > run.until:
                break
    return outcome


def play_race(run: Run) -> Outcome:
    """A tool against an editor, some hundred acknowledged writes a seed."""
    outcome, acknowledged = Outcome(), 0
    for seed in run.seeds():
        replay = f"CAMPAIGN=race SEED={seed}"
        try:
            played = _raced(run, seed, f"race-{seed}")
        except (Late, TimeoutError) as late:
            outcome.repeated.append((replay, str(late) or "the daemon was not at rest in time"))
            played = _raced(run, seed, f"race-{seed}-again")
        acknowledged += played.acknowledged
        outcome.take(replay, played.lost)
    outcome.notes.append(f"{acknowledged} writes were acknowledged")
    return outcome


def _raced(run: Run, seed: int, name: str) -> race.Played:
    return race.play(run.cluster, run.directory / name, name, race.drawn(seed, WRITES))


def play_processes(run: Run) -> Outcome:
    """Engine processes that are killed and stopped while their tenants are edited."""
    outcome = Outcome()
    for seed in run.seeds():
        name = f"processes-{seed}"
        play = partial(processes.play, run.cluster, run.directory / name, name, seed)
        outcome.take(f"CAMPAIGN=processes SEED={seed}", find_broken(play))
    return outcome


def play_mutants(run: Run) -> Outcome:
    """The engine without its guards, and the oracles with something to find."""
    outcome = Outcome(of=len(MUTANTS) + 1)
    outcome.take("canaries", canaries.silent(run.cluster, run.directory / "canaries"))
    for mutant, why in survivors(MUTANTS):
        outcome.take(f"mutant {mutant.name!r}", why)
    return outcome


CAMPAIGNS: dict[str, tuple[float, Campaign]] = {  # by name: the share of the time that it gets
    "machine": (0.3, play_machine),
    "binding": (0.1, play_binding),
    "syscalls": (0.3, play_syscalls),
    "changes": (0.05, play_changes),
    "cuts": (0.1, play_cuts),
    "race": (0.1, play_race),
    "processes": (0.0, play_processes),
    "planner": (0.05, play_planner),
    "mutants": (0.0, play_mutants),
}
