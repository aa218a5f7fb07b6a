"""Measurements as OpenMetrics, read on request."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from mirrord import __version__
from mirrord.domain.measures import BOUNDS_SECONDS, Latencies, Measures, Waiting, limit_tenants

Read = Callable[[], Sequence[Measures]]


def _count_of(count: Callable[[Waiting], int]) -> Callable[[Measures], float | None]:
    return lambda measures: count(measures.waiting) if measures.waiting is not None else None


_HISTOGRAMS: dict[str, tuple[str, Callable[[Measures], Latencies]]] = {
    "file_to_row_seconds": ("From the notice of a saved file to its committed row.", lambda each: each.file_to_row),
    "row_to_file_seconds": ("From the notice of a changed row to its file on disk.", lambda each: each.row_to_file),
    "scan_seconds": ("Looks at a whole tree.", lambda each: each.scans),
}
_GAUGES: dict[str, tuple[str, Callable[[Measures], float | None]]] = {
    "pending": ("Changes known and not carried over yet.", lambda each: each.pending),
    "leases": ("Leases held; a mirror without one writes nothing.", lambda each: each.leases),
    "feed_lag_seconds": ("Since the first change of rows that was not read yet.", lambda each: each.feed_seconds),
    "feed_lag_changes": ("Changes of rows known of and not read yet.", lambda each: each.feed_changes),
    "conflicts": ("Open conflicts.", _count_of(lambda each: each.conflicts)),
    "halts": ("Open halts: deletions or emptied pages wait for a decision.", _count_of(lambda each: each.halts)),
    "problems": ("Listed problems.", _count_of(lambda each: each.problems)),
    "approvals": ("Requests that wait for a decision.", _count_of(lambda each: each.approvals)),
}


class MeasuresCollector(Collector):
    """
    The present measurements of the engines.

    degraded: the number of reasons for which the daemon works less. processes: the ids of engine processes beside this
    one, by number.
    """

    def __init__(
        self,
        read: Read,
        is_ready: Callable[[], bool],
        degraded: Callable[[], int],
        processes: Callable[[], Mapping[int, int]] = dict,
    ) -> None:
        self._read, self._is_ready, self._degraded, self._processes = read, is_ready, degraded, processes

    def collect(self) -> Iterable[Metric]:
        """Every family once."""
        all_tenants = self._read()
        yield InfoMetricFamily("mirrord", "Which mirrord this is.", value={"version": __version__})
        yield GaugeMetricFamily("mirrord_ready", "Whether every tenant was compared once.", float(self._is_ready()))
        yield GaugeMetricFamily("mirrord_tenants", "Tenants mirrored.", len(all_tenants))
        yield GaugeMetricFamily("mirrord_degraded", "Reasons that `mirrord status` tells.", self._degraded())
        yield from _families_of(limit_tenants(all_tenants))
        yield from _families_of_processes(self._processes())


def registry_of(collector: Collector) -> CollectorRegistry:
    """A registry of *collector*, with memory, file descriptors and processor time of this process."""
    registry = CollectorRegistry()
    registry.register(collector)
    ProcessCollector(registry=registry)
    return registry


def _families_of_processes(processes: Mapping[int, int]) -> Iterator[Metric]:
    if not processes:
        return
    memory = GaugeMetricFamily("mirrord_engine_process_resident_memory_bytes", "Of each process.", labels=["process"])
    for number, pid in processes.items():
        with suppress(OSError):  # it ended just now
            pages = int(Path(f"/proc/{pid}/statm").read_bytes().split()[1])
            memory.add_metric([str(number)], pages * os.sysconf("SC_PAGE_SIZE"))
    yield GaugeMetricFamily("mirrord_engine_processes", "Engine processes that run.", len(processes))
    yield memory


def _families_of(reported: Sequence[Measures]) -> Iterator[Metric]:
    for name, (meaning, latencies_of) in _HISTOGRAMS.items():
        histogram = HistogramMetricFamily(f"mirrord_{name}", meaning, labels=["tenant"])
        for measures in reported:
            latencies = latencies_of(measures)
            histogram.add_metric([measures.tenant], _buckets_of(latencies), latencies.seconds)
        yield histogram
    for name, (meaning, value_of) in _GAUGES.items():
        gauge = GaugeMetricFamily(f"mirrord_{name}", meaning, labels=["tenant"])
        for measures in reported:
            if (value := value_of(measures)) is not None:
                gauge.add_metric([measures.tenant], value)
        yield gauge
    moves = CounterMetricFamily("mirrord_moves", "Actions carried out on files and rows.", labels=["tenant"])
    for measures in reported:
        moves.add_metric([measures.tenant], measures.moves)
    yield moves


def _buckets_of(latencies: Latencies) -> list[tuple[str, float]]:
    """Pairs (upper bound, count of values not above it)."""
    bounds = [*map(str, BOUNDS_SECONDS), "+Inf"]
    return list(zip(bounds, accumulate(map(float, latencies.counts)), strict=True))
