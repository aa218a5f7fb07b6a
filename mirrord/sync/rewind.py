"""Has a side gone back in time? What the tree acknowledged against what the database remembers. Pure (SYNC 1.1)."""

from dataclasses import dataclass
from enum import Enum


class Rewind(Enum):
    """Which side is an earlier one than this mirror has worked with."""

    NONE = "none"
    UNKNOWN = "unknown"  # the tree does not remember: a new one, or its state was lost
    MOVED = "moved"  # the database is on another cluster or timeline, and has everything
    TREE = "tree-rewind"
    DATABASE = "database-rewind"


@dataclass(frozen=True, slots=True)
class Seen:
    """
    What the two sides say.

    tree_acks: None: the tree remembers nothing of this mirror. remembered: the database still has the newest version
    of a page that the tree knows. same_epoch: the cluster, its timeline and its number are those the tree knows.
    """

    tree_acks: int | None
    row_acks: int
    tree_seq: int
    row_seq: int
    remembered: bool
    same_epoch: bool


def compare(seen: Seen) -> Rewind:
    """
    Which side went back.

    The tree is written first, so a crash between the two leaves it one ahead, never behind. A database that has the
    acknowledgement had the page before: where that is missing all the same, somebody removed it.
    """
    if seen.tree_acks is None:
        return Rewind.UNKNOWN
    behind = seen.tree_acks - seen.row_acks
    if seen.row_seq < seen.tree_seq or behind > 1 or (behind == 1 and not seen.remembered):
        return Rewind.DATABASE
    if seen.tree_acks < seen.row_acks:
        return Rewind.TREE
    return Rewind.NONE if seen.same_epoch else Rewind.MOVED


_SENTENCES = {
    Rewind.TREE: (
        "The tree was put back to an earlier state: {count} pages and files were brought up to the newest version "
        "again, and bytes no version ever had were taken as edits. Nothing was deleted, and no deletion spreads."
    ),
    Rewind.DATABASE: (
        "The database was put back to an earlier state: {count} pages and files were settled anew, texts that "
        "only the tree still had became versions again. Nothing was deleted, and no deletion spreads."
    ),
}


def sentence(rewind: Rewind, count: int) -> str | None:
    """What to tell a person; None: nothing was lost, so there is nothing to decide."""
    text = _SENTENCES.get(rewind)
    return text.format(count=count) if text else None
