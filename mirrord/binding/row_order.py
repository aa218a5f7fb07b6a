"""Rows of an app, parents first; which have no parent there, and which are below themselves. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowOrder:
    """
    Ids of rows, parents first.

    orphans: rows with a parent that is not there. cyclic: rows that are below themselves, and all below those.
    """

    ordered: Sequence[str]
    orphans: frozenset[str]
    cyclic: frozenset[str]


def order_rows(parents: Mapping[str, str | None], others: Collection[str] = ()) -> RowOrder:
    """
    The order of the rows in *parents*, the parent of each row by its id.

    others: ids of rows that are in place, and may be parents. Orphans and cyclic rows are in the order, too.
    """
    orphans = {row for row, parent in parents.items() if parent not in parents and parent is not None}
    orphans -= {row for row in orphans if parents[row] in others}
    ordered: dict[str, None] = {}
    cyclic: set[str] = set()
    for row in parents:
        chain: dict[str, None] = {}
        current: str | None = row
        while current is not None and current in parents and current not in ordered and current not in chain:
            chain[current] = None
            current = parents[current]
        if current in chain or current in cyclic:
            cyclic |= chain.keys()
        ordered |= dict.fromkeys(reversed(chain))
    return RowOrder(list(ordered), frozenset(orphans), frozenset(cyclic))
