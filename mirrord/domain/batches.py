"""Group items into batches."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

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
