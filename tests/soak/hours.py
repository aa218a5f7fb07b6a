"""A soak: edits on both sides at a rate, a line a minute, and at the end everything that should hold."""

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.vault import generate
from tests.bench.wire import Wire
from tests.faults.file_acts import MISSED, leave_no_halves
from tests.faults.oracle import violations
from tests.faults.row_acts import commit_all
from tests.faults.world import Cluster, World
from tests.soak import acts, agent
from tests.soak.diary import Diary
from tests.soak.gauge import Gauge, log_size

PAGE = 1000  # bytes, at the start
MINUTE = 60.0  # seconds between two lines
SAMPLES = 180  # in the whole time, but at most one a second
JUDGED = 600.0  # seconds from which on growth is judged: before, daemons that have just begun fill their caches
DECIDE = 10.0  # seconds between two looks at what waits for a person
DISCARDED_SHARE = 0.25  # of the halts
TENANT = "soak"

_OPEN = "SELECT id, decision, cardinality(entries) FROM mirrord.halt WHERE tenant_id = %s AND closed_at IS NULL"
ACCIDENT_OF = 10  # a halt of more than a tenth of the pages is an accident, which a person takes back


@dataclass(frozen=True, slots=True)
class Rates:
    """Acts a second: on files, on rows, of an agent; 0: none. pages: how many there are about."""

    files: float
    rows: float
    calls: float
    pages: int

    def __str__(self) -> str:
        return f"FILES={self.files:g} ROWS={self.rows:g} CALLS={self.calls:g} PAGES={self.pages}"


@dataclass(slots=True)
class _Soak:
    """What is under way. done: acts by name; those that found their target gone under `missed`."""

    world: World
    agent: Wire
    chance: random.Random
    pages: int
    ledger: Diary = field(default_factory=Diary)
    counts: Counter[str] = field(default_factory=Counter)
    halts: int = 0
    looked_in: float = 0.0

    def touch_file(self) -> None:
        self._take(acts.in_files(self.world, self.chance, self.pages))

    def touch_row(self) -> None:
        self._take(acts.in_rows(self.world, self.chance, self.pages))

    def call(self) -> None:
        agent.work(self.agent, self.ledger, self.chance.randrange(1 << 20))
        self.counts["agent"] += 1

    def decide(self) -> None:
        """A person looks at every halt: accidents are taken back, and so is one in four of the other deletions."""
        for halt, decision, entries in self.open_halts():
            if decision is None:
                is_mistake = entries > self.pages / ACCIDENT_OF or self.chance.random() < DISCARDED_SHARE
                self._resume(halt, "--discard" if is_mistake else "--apply")

    def decide_some(self) -> None:
        """A person takes time: about half of the looks decide nothing, and acts go on while halts stand."""
        if self.chance.random() < 0.5:
            self.decide()

    def _resume(self, halt: int, answer: str) -> None:
        completed = self.world.mirrors[0].run("resume", str(halt), answer, "--tenant", TENANT)
        if completed.returncode == 0:
            self.halts += 1
        else:  # it may have ended by itself meanwhile: what was away is back
            is_open = halt in {number for number, _, _ in self.open_halts()}
            assert not is_open, f"`mirrord resume` failed: {completed.stderr}"

    def look_in(self) -> None:
        """Decide, at most every few seconds."""
        if time.monotonic() - self.looked_in > DECIDE:
            self.looked_in = time.monotonic()
            self.decide()

    def open_halts(self) -> list[tuple[int, str | None, int]]:
        """Their numbers, the decision (None: none yet), and the number of entries."""
        with self.world.cluster.administered() as connection:
            return connection.execute(_OPEN, [self.world.tenant]).fetchall()

    def _take(self, chosen: acts.Choice) -> None:
        try:
            chosen.act(self.world, self.ledger, chosen.first, chosen.second)
            self.counts[chosen.name] += 1
        except MISSED:
            self.counts["missed"] += 1


def live(cluster: Cluster, directory: Path, seconds: float, rates: Rates, seed: int) -> list[str]:
    """Sentences about what does not hold after so many seconds of edits."""
    directory.mkdir()
    world = World(cluster, directory, TENANT)
    try:
        root = world.mirrors[0].root
        generate(root, rates.pages, seed=seed, average_bytes=PAGE)
        (root / "Keep.md").write_text("This page stays.\n", encoding="utf-8")
        world.begin()
        world.quiesce()
        with agent.served(world.mirrors[0]) as served:
            soak = _Soak(world, served, random.Random(seed), rates.pages)
            soak.ledger.touched(2 * rates.pages)
            gauges = _edit(soak, seconds, rates)
        return _end(soak, gauges if seconds >= JUDGED else [])
    except (AssertionError, TimeoutError) as error:
        return [f"STUCK {type(error).__name__} {error}"]
    finally:
        world.close()


def _edit(soak: _Soak, seconds: float, rates: Rates) -> list[Gauge]:
    """Everything that has its rhythm, each when it is due."""
    gauges, began = [Gauge(mirror) for mirror in soak.world.mirrors], time.monotonic()

    def read() -> None:
        for gauge in gauges:
            gauge.read()

    rhythms: list[tuple[float, Callable[[], None]]] = [
        (max(1.0, seconds / SAMPLES), read),
        (DECIDE, soak.decide_some),
        (MINUTE, lambda: _say(soak, gauges, time.monotonic() - began)),
        *((1 / rate, act) for rate, act in _paced(soak, rates) if rate),
    ]
    due = [began + pause for pause, _ in rhythms]
    while (now := time.monotonic()) < began + seconds:
        at = min(range(len(due)), key=due.__getitem__)
        if now < due[at]:
            time.sleep(min(due[at], began + seconds) - now)
            continue
        due[at] = max(now, due[at] + rhythms[at][0])  # who comes too late does not hurry afterwards
        rhythms[at][1]()
        _assert_alive(soak.world)
    _say(soak, gauges, seconds)
    return gauges


def _paced(soak: _Soak, rates: Rates) -> list[tuple[float, Callable[[], None]]]:
    return [(rates.files, soak.touch_file), (rates.rows, soak.touch_row), (rates.calls, soak.call)]


def _assert_alive(world: World) -> None:
    for mirror in world.mirrors:
        assert mirror.running, f"{mirror.directory.name}: the daemon ended by itself:\n{mirror.log_end()}"


def _end(soak: _Soak, gauges: list[Gauge]) -> list[str]:
    world = soak.world
    leave_no_halves(world, soak.ledger)
    commit_all(soak.ledger)
    for _ in range(10):  # what is decided brings more deletions to light
        world.quiesce(soak.look_in)  # a change may wait for what is halted
        if not soak.open_halts():
            break
        soak.decide()
    sentences = [sentence for gauge in gauges for sentence in gauge.growth()]
    for mirror in world.mirrors:
        sentences += [f"UNEQUAL `mirrord check` says {verdict} of {path}" for path, verdict in mirror.check().items()]
    return sentences + violations(world, soak.ledger)


def _say(soak: _Soak, gauges: list[Gauge], elapsed: float) -> None:
    wal = log_size(soak.world.cluster.directory)
    acts_done = sum(soak.counts.values())
    print(
        f"{elapsed:6.0f} s  {acts_done} acts ({acts_done / elapsed:.1f}/s, {soak.counts['missed']} found nothing), "
        f"{len(soak.ledger.written)} tokens, {soak.halts} halts decided, WAL {wal:.0f} MB"
    )
    for gauge in gauges:
        print(f"          {gauge.line()}", flush=True)
