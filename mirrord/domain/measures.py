"""Measurements of one tenant's mirror."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mirrord.domain.latency import Latencies, combine

Endpoint = tuple[str, int] | str  # of the metrics: a loopback address and a port, or the path of a Unix socket


@dataclass(frozen=True, slots=True)
class Waiting:
    """The numbers of items that wait for a person, counted by the database."""

    conflicts: int
    halts: int
    problems: int
    approvals: int


@dataclass(frozen=True, slots=True)
class Work:
    """
    Long work in progress. total: None if unknown.

    what: `scan` (of the whole tree), `import` (many files or rows at once), `derive` (documents of many pages),
    `command` (an approved command, such as the import of a survey).
    """

    what: str
    done: int
    total: int | None


@dataclass(frozen=True, slots=True)
class Measures:
    """
    moves: completed actions since the start. pending: known changes not yet synced. leases: number of leases held.
    feed_seconds: age of the first unread change of rows; feed_changes: number of known unread changes.
    waiting: None until counted.
    """

    tenant: str
    moves: int = 0
    pending: int = 0
    leases: int = 0
    feed_seconds: float = 0.0
    feed_changes: int = 0
    file_to_row: Latencies = field(default_factory=Latencies)
    row_to_file: Latencies = field(default_factory=Latencies)
    scans: Latencies = field(default_factory=Latencies)
    waiting: Waiting | None = None


OTHER_TENANTS = "other"
MAX_TENANTS = 100  # tenants with measurements of their own


def limit_tenants(several: Sequence[Measures], max_tenants: int = MAX_TENANTS) -> list[Measures]:
    """The measurements of at most *max_tenants* tenants, the first by name, and all others combined as OTHER."""
    ordered = sorted(several, key=lambda measures: measures.tenant)
    if len(ordered) <= max_tenants:
        return ordered
    separate = [measures for measures in ordered if measures.tenant != OTHER_TENANTS][:max_tenants]
    names = {measures.tenant for measures in separate}
    return [*separate, _sum([measures for measures in ordered if measures.tenant not in names])]


def _sum(several: Sequence[Measures]) -> Measures:
    counted = [measures.waiting for measures in several if measures.waiting is not None]
    return Measures(
        OTHER_TENANTS,
        moves=sum(measures.moves for measures in several),
        pending=sum(measures.pending for measures in several),
        leases=sum(measures.leases for measures in several),
        feed_seconds=max(measures.feed_seconds for measures in several),
        feed_changes=sum(measures.feed_changes for measures in several),
        file_to_row=combine([measures.file_to_row for measures in several]),
        row_to_file=combine([measures.row_to_file for measures in several]),
        scans=combine([measures.scans for measures in several]),
        waiting=_sum_waiting(counted) if counted else None,
    )


def _sum_waiting(counted: Sequence[Waiting]) -> Waiting:
    return Waiting(
        conflicts=sum(waiting.conflicts for waiting in counted),
        halts=sum(waiting.halts for waiting in counted),
        problems=sum(waiting.problems for waiting in counted),
        approvals=sum(waiting.approvals for waiting in counted),
    )
