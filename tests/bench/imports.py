"""A tree that mirrord has never seen, beside reading it and copying it raw; and a restart on one it knows."""

import statistics
import time

import psycopg

from tests.bench.figures import Figure, Goal
from tests.bench.ground import Ground
from tests.bench.processes import megabytes
from tests.support.harness import Mirrord, eventually

RESTARTS = 3
TEXTS, DOCUMENTS = 4.0, 20.0  # seconds hoped for, for 10,000 files
RESTART = {10_000: 0.8, 100_000: 3.0, 200_000: 6.0}  # seconds hoped for, by the number of pages

_TABLE = "DROP TABLE IF EXISTS public.raw; CREATE TABLE public.raw (path text, text bytea)"
_COPY = "COPY public.raw FROM STDIN (FORMAT BINARY)"


def import_tree(ground: Ground) -> list[Figure]:
    """From the moment the daemon has opened the tree until every page's text, and then document, is in its row."""
    mirrord, before = ground.mirrord, _raw(ground)
    mirrord.app  # noqa: B018  (a process is asked for its DSN: not while the import is timed)
    mirrord.start()
    mirrord.wait_event("mirror_opened")
    began = time.perf_counter()
    ground.until_texts()
    texts = time.perf_counter() - began
    workers = _until_documents(ground)
    documents = time.perf_counter() - began
    ground.imported()
    reading, copying = (statistics.mean(pair) for pair in zip(before, _raw(ground), strict=True))
    name, goals = f"import of {ground.pages:,} files", ground.pages == 10_000
    return [
        Figure(f"{name}, a bare read of all", reading, "s"),
        Figure(f"{name}, texts", texts, "s", Goal(TEXTS) if goals else None, reading + copying),
        Figure(f"{name}, with documents", documents, "s", Goal(DOCUMENTS) if goals else None, reading + copying),
        Figure(f"{name}, daemon's peak memory", megabytes(mirrord.pid, "VmHWM"), "MB"),
        Figure(f"{name}, its workers' peak memory", workers, "MB"),
    ]


def restart(ground: Ground) -> list[Figure]:
    """From the start of the process until it is ready, nothing having changed; Postgres runs. The median of some."""
    mirrord, spans = ground.imported(), []
    for _ in range(RESTARTS):
        mirrord.stop()
        began = time.perf_counter()
        mirrord.up()
        spans.append(time.perf_counter() - began)
        ground.imported()
        _assert_nothing_moved(mirrord)
    limit = RESTART.get(ground.pages)
    name = f"no-op restart, {ground.pages:,} files"
    return [Figure(name, statistics.median(spans), "s", Goal(limit) if limit else None)]


def _assert_nothing_moved(mirrord: Mirrord) -> None:
    moved = [event for event in mirrord.events() if event.get("event") == "moved"]
    assert not moved, f"a restart on an unchanged tree moved {len(moved)} entries, first {moved[0]}"


def _until_documents(ground: Ground) -> float:
    """Wait for them; the most memory that the workers had together, in 10⁶ bytes."""
    mirrord, peak_megabytes = ground.mirrord, 0.0

    def all_derived() -> bool:
        nonlocal peak_megabytes
        peak_megabytes = max(peak_megabytes, sum(megabytes(worker, "VmRSS") for worker in mirrord.workers()))
        return ground.has_documents()

    eventually(all_derived, f"{ground.pages} rows with their document", 3600.0, pause=0.1)
    return peak_megabytes


def _raw(ground: Ground) -> tuple[float, float]:
    """Seconds to read every file, and to COPY the same bytes into a table that has nothing but them."""
    began = time.perf_counter()
    texts = [(str(path), path.read_bytes()) for path in ground.mirrord.root.rglob("*.md")]
    reading = time.perf_counter() - began
    with psycopg.connect(ground.dsn, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(_TABLE)
        began = time.perf_counter()
        with cursor.copy(_COPY) as copy:
            copy.set_types(["text", "bytea"])
            for row in texts:
                copy.write_row(row)
        copying = time.perf_counter() - began
        cursor.execute("DROP TABLE public.raw")
    return reading, copying
