"""The progress of long work."""

from typing import Protocol


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
