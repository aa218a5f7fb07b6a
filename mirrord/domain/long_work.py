"""Long work on many items: batches, progress, and what was left out with the reason."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")


def split_into_batches(
    items: Iterable[T], size_of: Callable[[T], int], *, size: int, max_items: int | None = None
) -> Iterator[list[T]]:
    """
    *items* in their order, in batches of at most *max_items* items and of at most *size* unless one item is larger.
    """
    batch: list[T] = []
    total = 0
    for item in items:
        if batch and (len(batch) == max_items or total + size_of(item) > size):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size_of(item)
    if batch:
        yield batch


@dataclass(frozen=True, slots=True)
class Omission:
    """An omitted path. path: printable. sentence: the reason and the remedy."""

    path: str
    sentence: str


class Progress(Protocol):
    """A callback for progress: done and total. It is called in the thread of the work."""

    def __call__(self, done: int, of: int, /) -> None:
        """Report progress. Never raises: work does not depend on its observers."""


def ignore_progress(_: int, __: int, /) -> None:
    """A callback that ignores progress."""


def progress_of_part(progress: Progress, first: int, last: int) -> Progress:
    """A callback for a part of the work: maps its progress to *first* to *last* percent of *progress*."""

    def report(done: int, of: int, /) -> None:
        progress(first + (last - first) * done // max(of, 1), 100)

    return report
