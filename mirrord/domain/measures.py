"""What is measured of one tenant's mirror, whoever asks for it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mirrord.domain.latency import Latencies, together

Endpoint = tuple[str, int] | str  # where they are served: a loopback address and a port, or the path of a Unix socket


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits for a person, as the database counts it."""

    conflicts: int
    halts: int
    problems: int
    approvals: int


@dataclass(frozen=True, slots=True)
class Work:
    """
    Long work that goes on. total: None where nobody knows.

    what: `scan` (a look at the whole tree), `import` (many files or rows at once), `derive` (documents of many pages),
    `command` (what a person approved, such as to import a survey).
    """

    what: str
    done: int
    total: int | None


@dataclass(frozen=True, slots=True)
class Measures:
    """
    moves: actions carried out since the start. pending: changes known and not carried over. leases: how many are held.
    feed_seconds: since the first change of rows that was not read yet; feed_changes: how many of them are known.
    waiting: None until it was counted.
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


OTHER = "other"
MOST = 100  # tenants that are told apart


def bounded(several: Sequence[Measures], most: int = MOST) -> list[Measures]:
    """At most *most* tenants by themselves, the first by name, and all others together as OTHER."""
    ordered = sorted(several, key=lambda one: one.tenant)
    if len(ordered) <= most:
        return ordered
    apart = [one for one in ordered if one.tenant != OTHER][:most]
    names = {one.tenant for one in apart}
    return [*apart, _sum([one for one in ordered if one.tenant not in names])]


def _sum(several: Sequence[Measures]) -> Measures:
    counted = [one.waiting for one in several if one.waiting is not None]
    return Measures(
        OTHER,
        moves=sum(one.moves for one in several),
        pending=sum(one.pending for one in several),
        leases=sum(one.leases for one in several),
        feed_seconds=max(one.feed_seconds for one in several),
        feed_changes=sum(one.feed_changes for one in several),
        file_to_row=together([one.file_to_row for one in several]),
        row_to_file=together([one.row_to_file for one in several]),
        scans=together([one.scans for one in several]),
        waiting=_sum_waiting(counted) if counted else None,
    )


def _sum_waiting(counted: Sequence[Waiting]) -> Waiting:
    return Waiting(
        conflicts=sum(one.conflicts for one in counted),
        halts=sum(one.halts for one in counted),
        problems=sum(one.problems for one in counted),
        approvals=sum(one.approvals for one in counted),
    )
