"""Which tenants of a pool an engine process works on: even shares, with as few moves as possible. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShareChange:
    """Tenants, by name, that a process is to claim and to release for its share."""

    claimed: tuple[str, ...] = ()
    released: tuple[str, ...] = ()


def plan_share(
    tenants: Sequence[str], claims: Mapping[str, str], processes: Collection[str], process: str
) -> ShareChange:
    """
    The next step of *process* to an even share of *tenants*.

    claims: the process of each claimed tenant, whose claims of processes that ended are left out. processes: all that
    share, *process* among them. Targets follow from their names alone, so processes that see the same need not talk.
    """
    ordered = sorted(processes)
    rank, (share, remainder) = ordered.index(process), divmod(len(tenants), len(ordered))
    target = share + (rank < remainder)
    owned_tenants = [name for name in tenants if claims.get(name) == process]
    if len(owned_tenants) >= target:
        return ShareChange(released=tuple(owned_tenants[target:]))
    free = [name for name in tenants if name not in claims]
    return ShareChange(claimed=tuple(_from_rank(free, rank, len(ordered))[: target - len(owned_tenants)]))


def _from_rank(free: Sequence[str], rank: int, count: int) -> list[str]:
    """*free* in an order of its own for each rank, so that processes that start together try different tenants."""
    return [name for start in range(count) for name in free[(rank + start) % count :: count]]
