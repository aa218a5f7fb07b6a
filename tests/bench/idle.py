"""What a daemon with nothing to do takes."""

import time

from mirrord.db.server.server_files import Postmaster
from tests.bench.figures import Figure, Goal
from tests.bench.ground import Ground
from tests.bench.processes import children, cpu_seconds, megabytes

WINDOW = 130.0  # seconds: two looks at the whole tree fall into it
MEMORY = {10_000: 90.0, 100_000: 200.0}  # 10⁶ bytes hoped for, by the number of pages
CPU = {100_000: 1.0}  # percent of a core hoped for


def memory(ground: Ground) -> list[Figure]:
    """Of a daemon that was restarted and has nothing to do, and of its workers, if there are any then."""
    mirrord = ground.imported()
    mirrord.stop()
    ground.imported()
    name, limit = f"idle memory, {ground.pages:,} pages", MEMORY.get(ground.pages)
    workers = sum(megabytes(worker) for worker in mirrord.workers())
    return [
        Figure(f"{name}, daemon", megabytes(mirrord.pid), "MB", Goal(limit) if limit else None),
        Figure(f"{name}, its workers", workers, "MB"),
    ]


def cpu(ground: Ground) -> list[Figure]:
    """CPU seconds over the wall clock's, of the daemon with its workers, and of its Postgres."""
    ground.imported()
    return idle_share(ground, f"{ground.pages:,} files", CPU.get(ground.pages))


def idle_share(ground: Ground, name: str, limit: float | None = None) -> list[Figure]:
    """The same of a daemon that has nothing to do now."""
    mirrord, postmaster = ground.mirrord, Postmaster.read_record(ground.mirrord.postgres.cluster)
    assert postmaster is not None
    before, began = _taken(mirrord.pid, mirrord.workers(), postmaster.pid), time.monotonic()
    time.sleep(WINDOW * ground.share)
    after, seconds = _taken(mirrord.pid, mirrord.workers(), postmaster.pid), time.monotonic() - began
    daemon, postgres = (100 * (now - then) / seconds for now, then in zip(after, before, strict=True))
    return [
        Figure(f"idle CPU, {name}, daemon", daemon, "% of a core", Goal(limit) if limit else None),
        Figure(f"idle CPU, {name}, Postgres", postgres, "% of a core"),
    ]


def _taken(daemon: int, workers: list[int], postmaster: int) -> tuple[float, float]:
    return cpu_seconds([daemon, *workers]), cpu_seconds([postmaster, *children(postmaster)])
