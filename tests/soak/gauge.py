"""What is read off a daemon and its Postgres while they work."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mirrord.mirror.heartbeat import Heartbeat
from tests.bench.processes import descriptors, megabytes, threads
from tests.faults.world import Quick
from tests.soak.flat import LIMITS, grown

_MEGABYTE = 1e6


@dataclass(slots=True)
class Gauge:
    """One daemon over time: one value a sample, the oldest first. memory: without its workers, in 10⁶ bytes."""

    mirror: Quick
    memory: list[float] = field(default_factory=list)
    descriptors: list[float] = field(default_factory=list)
    threads: list[float] = field(default_factory=list)

    def read(self) -> None:
        """Take a sample."""
        self.memory.append(megabytes(self.mirror.pid))
        self.descriptors.append(descriptors(self.mirror.pid))
        self.threads.append(threads(self.mirror.pid))

    def growth(self) -> Iterator[str]:
        """Sentences about what is not flat."""
        for name, limit in LIMITS.items():
            yield from grown(f"{self.mirror.directory.name}: {name}", limit, getattr(self, name))

    def line(self) -> str:
        """For people: what it holds and what waits now."""
        workers = [megabytes(pid) for pid in self.mirror.workers()]
        facts = (Heartbeat(self.mirror.mirror).read() or {}).get("tenants", {}).get(self.mirror.tenant, {})
        state = sum(file.stat().st_size for file in (self.mirror.root / ".mirrord").glob("state.db*")) / _MEGABYTE
        lags = " ".join(f"{way} {_lag(facts.get(way))}" for way in ("file_to_row", "row_to_file"))
        return (
            f"{self.mirror.directory.name}: {self.memory[-1]:.0f} MB, {len(workers)} workers {sum(workers):.0f} MB, "
            f"{self.descriptors[-1]:.0f} fds, {self.threads[-1]:.0f} threads, {facts.get('files', 0)} files, "
            f"{facts.get('pending', 0)} waiting, state {state:.1f} MB, {lags}"
        )


def log_size(cluster: Path) -> float:
    """What Postgres' write-ahead log takes on disk, in 10⁶ bytes."""
    return sum(file.stat().st_size for file in (cluster / "pg_wal").glob("0*")) / _MEGABYTE


def _lag(recent: dict[str, float] | None) -> str:
    return f"{recent['median'] * 1000:.0f}/{recent['p99'] * 1000:.0f} ms" if recent else "–"
