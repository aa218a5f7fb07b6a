"""Has a side gone back in time? Compares the counters of tree and database (docs/design/sync.md, Rewind). Pure."""

from dataclasses import dataclass
from enum import Enum


class Rewind(Enum):
    """The side that is older than this mirror has seen it."""

    NONE = "none"
    UNKNOWN = "unknown"  # the tree has no counters: it is new, or its state was lost
    MOVED = "moved"  # the database is on another cluster or timeline, and has everything
    TREE = "tree-rewind"
    DATABASE = "database-rewind"


@dataclass(frozen=True, slots=True)
class Counters:
    """
    The counters of both sides.

    tree_acks: None: the tree has none of this mirror. remembered: the database still has the newest version of a page
    that the tree knows. same_epoch: the cluster, its timeline and its number are those that the tree knows.
    """

    tree_acks: int | None
    row_acks: int
    tree_seq: int
    row_seq: int
    remembered: bool
    same_epoch: bool


def find_rewind(counters: Counters) -> Rewind:
    """
    The side that went back.

    The tree is written first, so a crash between the two leaves it one ahead, never behind. A database that has the
    acknowledgement had the page before: if the page is missing nevertheless, it was removed on purpose.
    """
    if counters.tree_acks is None:
        return Rewind.UNKNOWN
    behind = counters.tree_acks - counters.row_acks
    if counters.row_seq < counters.tree_seq or behind > 1 or (behind == 1 and not counters.remembered):
        return Rewind.DATABASE
    if counters.tree_acks < counters.row_acks:
        return Rewind.TREE
    return Rewind.NONE if counters.same_epoch else Rewind.MOVED


_SENTENCES = {
    Rewind.TREE: (
        "The tree was put back to an earlier state: {count} pages and files were brought up to the newest version "
        "again, and bytes no version ever had were taken as edits. Nothing was deleted, and no deletion spreads."
    ),
    Rewind.DATABASE: (
        "The database was put back to an earlier state: {count} pages and files were compared again, and texts that "
        "only the tree still had became versions again. Nothing was deleted, and no deletion spreads."
    ),
}


def rewind_sentence(rewind: Rewind, count: int) -> str | None:
    """The sentence for a person; None: nothing was lost, so there is nothing to decide."""
    text = _SENTENCES.get(rewind)
    return text.format(count=count) if text else None
