"""Many tenants: whether an edit costs more beside them, whether they come through together, and beside a noisy one."""

import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import NamedTuple

import psycopg

from mirrord.db.database import app_dsn
from mirrord.domain.entry import TenantId, digest_of
from tests.bench import bare
from tests.bench.figures import Figure, Goal, median, percentile, tail
from tests.bench.ground import PATIENCE, Ground
from tests.bench.idle import idle_share
from tests.bench.latency import EDIT_TIMES, bare_rows, computed, edit_to_row
from tests.bench.load import Arrived, Spot, in_bare_rows, in_rows, spread
from tests.bench.noise import noise
from tests.bench.processes import megabytes
from tests.bench.vault import generate
from tests.support.editors import save
from tests.support.harness import eventually

TENANTS, PAGES = 100, 100
MANY, FEW_PAGES = 1_000, 3
RATE, NOISE, SECONDS, TURNS = 50.0, 500.0, 15.0, 2  # edits a second, a noisy tenant's; of a turn; of each kind
P99, TIMES = 80.0, 2.0  # milliseconds hoped for; the others' p99 beside a noisy tenant over that without
EDITS = 60
FLOOD, FLOOD_PAUSE, GAIN = 2_000, 0.05, 1.4  # edits at once; seconds between two looks; hoped for of two processes

_SPOTS = "SELECT tenant.name, base.path, base.tenant_id, base.entry_id FROM mirrord.mirror_base AS base"
_LEFT = "SELECT count(*) FROM mirrord.page WHERE kind = 'page' AND markdown IS NOT NULL AND content IS NOT NULL"


def hundred(ground: Ground) -> list[Figure]:
    """One tenant, then a hundred: one edit at a time, then many, then a neighbour who does not stop."""
    count = max(4, round(TENANTS * ground.share))
    with at_work(ground, 1, PAGES) as spots:
        alone = _one_at_a_time(ground, spots, 1)
    with at_work(ground, count, PAGES) as spots:
        return [*alone, *_one_at_a_time(ground, spots, count), *_together(ground, spots, count)]


def thousand(ground: Ground) -> list[Figure]:
    """A thousand tenants, one edit at a time; what they take while nothing happens."""
    count = round(MANY * ground.share)
    began = time.perf_counter()
    with at_work(ground, count, FEW_PAGES) as spots:
        started, name = time.perf_counter() - began, f"{count:,} tenants"
        pid = ground.mirrord.pid
        return [
            Figure(f"{name} × {FEW_PAGES} pages, start → all imported", started, "s"),
            *_one_at_a_time(ground, spots, count),
            Figure(f"{name}, daemon's memory", megabytes(pid), "MB"),
            *idle_share(ground, name),
        ]


def by_processes(ground: Ground) -> list[Figure]:
    """A hundred tenants whose files change faster than they are taken in, by one process and by two, in turns."""
    count = max(4, round(TENANTS * ground.share))
    rates: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(TURNS):
        for processes, measured in rates.items():
            with at_work(ground, count, PAGES, processes) as spots:
                measured.append(_edits_a_second(ground, spots, round(FLOOD * ground.share)))
    single, double = statistics.median(rates[1]), statistics.median(rates[2])
    name = f"{count} tenants × {PAGES} pages, edits a second until all rows have them"
    return [
        Figure(f"{name}, one engine process", single, "a second"),
        Figure(f"{name}, two", double, "a second", floor=single),
        Figure("two engine processes beside one", double / single, "times", Goal(GAIN, at_least=True, gated=False)),
    ]


def _edits_a_second(ground: Ground, spots: list[Spot], count: int) -> float:
    """Saves *count* pages of tenants in turn, at once, and waits for their rows."""
    edited = sorted(spots, key=lambda spot: (spot.file.name, spot.tenant))[:count]
    with ground.administered() as app:
        arrived = in_rows(app)
        began = time.perf_counter()
        waiting = {spot: _append_line(spot, began) for spot in edited}
        while waiting:
            for spot in arrived(waiting):
                del waiting[spot]
            time.sleep(FLOOD_PAUSE)
        seconds = time.perf_counter() - began
    ground.mirrord.flush(PATIENCE)
    return count / seconds


def _append_line(spot: Spot, mark: float) -> bytes:
    """The digest of the file with another line."""
    content = spot.file.read_bytes() + f"\nEdited at {mark}.\n".encode()
    save(spot.file, content)
    return digest_of(content)


@contextmanager
def at_work(ground: Ground, tenants: int, pages: int, processes: int = 1) -> Iterator[list[Spot]]:
    """A daemon that mirrors so many, each with so many pages, and has nothing left to do; every page of theirs."""
    mirrord, names = ground.mirrord, [f"t{number:04d}" for number in range(tenants)]
    for number, name in enumerate(names):
        if not (mirrord.mirror / name).exists():
            generate(mirrord.mirror / name, pages, seed=number)
    mirrord.start(*(part for name in names for part in ("--tenant", name)), "--processes", str(processes))
    mirrord.wait_event("ready", PATIENCE)
    with ground.administered() as app:
        eventually(lambda: _count(app) >= tenants * pages, f"{tenants * pages} documents", PATIENCE, pause=0.2)
        mirrord.flush(PATIENCE)
        ground.until_linked()
        cursor = app.execute(f"{_SPOTS} JOIN mirrord.tenant ON tenant.id = base.tenant_id WHERE base.path LIKE '%.md'")
        yield [Spot(mirrord.mirror / name / path, tenant, entry) for name, path, tenant, entry in cursor.fetchall()]
    mirrord.stop()


def _one_at_a_time(ground: Ground, spots: list[Spot], tenants: int) -> list[Figure]:
    """Edits of one tenant's pages, in turns with a bare loop."""
    tenant = min(spot.tenant for spot in spots)
    mine = [spot for spot in spots if spot.tenant == tenant]
    copies = {f"{number}.md": str(spot.file) for number, spot in enumerate(mine)}
    ours, theirs = [], []
    dsn = app_dsn(ground.dsn, TenantId(tenant))
    with bare_rows(ground, copies) as loop, psycopg.connect(dsn, autocommit=True) as app:
        before = computed(ground.mirrord)
        for number in range(EDITS):
            spot = mine[number % len(mine)]
            ours.append(edit_to_row(app, spot.file, spot.entry, number))
            theirs.append(loop.edit(number % len(mine)))
        cpu = (computed(ground.mirrord) - before) / EDITS * 1000
    name = f"edit → row, {tenants:,} tenant{'s' if tenants > 1 else ''}"
    return [
        median(name, ours, Goal(times=EDIT_TIMES), theirs),
        tail(name, ours, bare=theirs),
        Figure(f"{name}, CPU of the daemon", cpu, "ms"),
    ]


class _Turns(NamedTuple):
    """Milliseconds of the edits without noise, of a bare loop's, and beside noise; the rates of the noise."""

    quiet: list[float]
    bare: list[float]
    loud: list[float]
    rates: list[float]


def _together(ground: Ground, spots: list[Spot], tenants: int) -> list[Figure]:
    turns = _taken_in_turns(ground, spots)
    quiet, loud, name = percentile(turns.quiet), percentile(turns.loud), f"{tenants} tenants × {PAGES} pages"
    return [
        median(f"{name}, {RATE:g} edits/s spread", turns.quiet, None, turns.bare),
        Figure(f"{name}, {RATE:g} edits/s spread, p99", quiet, "ms", Goal(P99), percentile(turns.bare)),
        Figure(f"the others' p99 beside a tenant with {NOISE:g} edits/s", loud, "ms", Goal(times=TIMES), quiet),
        Figure("edits that the noisy tenant came to", min(turns.rates), "a second"),
    ]


def _taken_in_turns(ground: Ground, spots: list[Spot]) -> _Turns:
    noisy = max(spots, key=lambda spot: str(spot.file)).tenant
    loudest = next(spot.file for spot in spots if spot.tenant == noisy)
    directory = ground.mirrord.mirror / loudest.relative_to(ground.mirrord.mirror).parts[0]
    others = [spot for spot in spots if spot.tenant != noisy]
    turns, chance, seconds = _Turns([], [], [], []), Random(1), SECONDS * max(ground.share, 0.3)
    with ExitStack() as stack:
        app = stack.enter_context(ground.administered())
        copies, bare_arrived = stack.enter_context(_bare_copies(ground, others))
        for _ in range(TURNS):
            turns.quiet.extend(spread(others, in_rows(app), RATE, seconds, chance))
            ground.mirrord.flush(PATIENCE)
            turns.bare.extend(spread(copies, bare_arrived, RATE, seconds, chance))
            with noise(directory, NOISE) as neighbour:
                turns.loud.extend(spread(others, in_rows(app), RATE, seconds, chance))
            turns.rates.append(neighbour.rate)
            ground.mirrord.flush(PATIENCE)
    return turns


@contextmanager
def _bare_copies(ground: Ground, spots: list[Spot]) -> Iterator[tuple[list[Spot], Arrived]]:
    """The same files elsewhere, and a bare loop that watches them."""
    directory = ground.directory("bare-tenants")
    copies = []
    for spot in spots:
        copy = directory / spot.file.relative_to(ground.mirrord.mirror)
        save(copy, spot.file.read_bytes())
        copies.append(Spot(copy, spot.tenant, spot.entry))
    with bare.looping("rows", directory, ground.dsn), ground.administered() as app:
        yield copies, in_bare_rows(app)


def _count(app: psycopg.Connection[tuple[int]]) -> int:
    row = app.execute(_LEFT).fetchone()
    return row[0] if row else 0
