"""A tree that mirrord has never seen, a restart on one it knows, and what memory that takes."""

import statistics
import time
from pathlib import Path

from tests.bench.figures import Figure, Target
from tests.system.harness import Mirrord, eventually
from tests.system.rows import Connection

PATIENCE = 600.0  # seconds for one import
RESTARTS = 3
BYTES_A_SECOND, RESTART_SECONDS, IDLE_MEGABYTES = 1000.0, 1.5, 90.0  # hoped for; the first in files

_TEXTS = "SELECT count(*) FROM mirrord.page WHERE markdown IS NOT NULL"
_DOCUMENTS = "SELECT count(*) FROM mirrord.page WHERE markdown IS NOT NULL AND content IS NOT NULL"


def import_tree(mirrord: Mirrord, pages: int) -> list[Figure]:
    """From the moment the daemon has opened the tree until every page's text, and then document, is in its row."""
    app = mirrord.app
    mirrord.start()
    mirrord.wait_event("mirror_opened")
    began = time.perf_counter()
    pause = pages / 200_000  # counting takes longer the more there is, and must not weigh
    eventually(lambda: _count(app, _TEXTS) == pages, f"{pages} rows with their text", PATIENCE, pause=pause)
    texts = time.perf_counter() - began
    workers = [0.0]

    def all_derived() -> bool:
        workers.append(sum(megabytes(worker, "VmRSS") for worker in mirrord.workers()))
        return _count(app, _DOCUMENTS) == pages

    eventually(all_derived, f"{pages} rows with their document", PATIENCE, pause=0.1)
    documents = time.perf_counter() - began
    return [
        Figure(f"import of {pages:,} files, bytes", pages / texts, "files/s", Target(BYTES_A_SECOND, at_least=True)),
        Figure(f"import of {pages:,} files, with documents", pages / documents, "files/s"),
        Figure(f"import of {pages:,} files, daemon's peak memory", megabytes(mirrord.pid, "VmHWM"), "MB"),
        Figure(f"import of {pages:,} files, its workers' peak memory", max(workers), "MB"),
    ]


def restart(mirrord: Mirrord, pages: int) -> list[Figure]:
    """From the start of the process until it is ready, nothing having changed; Postgres runs. The median of some."""
    spans = []
    mirrord.flush()
    for _ in range(RESTARTS):
        mirrord.stop()
        began = time.perf_counter()
        mirrord.up()
        spans.append(time.perf_counter() - began)
        mirrord.flush()
        moved = [event for event in mirrord.events() if event.get("event") == "moved"]
        assert not moved, f"a restart on an unchanged tree moved {len(moved)} entries, first {moved[0]}"
    return [Figure(f"restart on {pages:,} files", statistics.median(spans), "s", Target(RESTART_SECONDS))]


def idle_memory(mirrord: Mirrord, pages: int) -> list[Figure]:
    """Of a daemon that was restarted and has nothing to do, and of its workers, if there are any then."""
    workers = sum(megabytes(worker, "VmRSS") for worker in mirrord.workers())
    return [
        Figure(f"idle memory with {pages:,} files", megabytes(mirrord.pid, "VmRSS"), "MB", Target(IDLE_MEGABYTES)),
        Figure(f"idle memory with {pages:,} files, its workers", workers, "MB"),
    ]


def _count(app: Connection, query: str) -> int:
    row = app.execute(query).fetchone()
    return int(row[0]) if row else 0


def megabytes(pid: int, field: str) -> float:
    """VmRSS or VmHWM of proc(5), in 10⁶ bytes; 0 if the process has gone."""
    try:
        lines = Path("/proc", str(pid), "status").read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{field}:")), 0.0)
