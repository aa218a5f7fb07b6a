"""Who observes the long work of the current call, wherever below it that is done."""

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import TypeVar

from mirrord.domain.long_work import Progress, ignore_progress, progress_of_part

T = TypeVar("T")

MIN_OBSERVED_ITEMS = 100  # from which on reporting_each() reports

_observer: ContextVar[Progress] = ContextVar("observer", default=ignore_progress)


class observing_work:  # noqa: N801  (used like a function; a generator would take five times as long, in every call)
    """Report the work of a `with` block, in this thread, to *progress*, in percent of a call."""

    __slots__ = ("_before", "_progress")

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __enter__(self) -> None:
        self._before = _observer.set(self._progress)

    def __exit__(self, *_: object) -> None:
        _observer.reset(self._before)


def report_work(count: int, total: int, *, first: int = 0, last: int = 100) -> None:
    """Report that *count* of *total* items are finished; all of them are *first* to *last* percent of the call."""
    progress_of_part(_observer.get(), first, last)(count, total)


def reporting_each(total: int) -> Callable[[Iterable[T]], Iterable[T]]:
    """A function that passes items on, and reports how many of *total* it has passed on, if those are many."""
    if total < MIN_OBSERVED_ITEMS:
        return lambda items: items
    count = 0

    def report_each(items: Iterable[T]) -> Iterator[T]:
        nonlocal count
        for item in items:
            yield item
            count += 1
            report_work(count, total)

    return report_each
