"""How far long work is, for whoever waits for it."""

from typing import Protocol


class Progress(Protocol):
    """Is told how much is done, of how much; from the thread that works."""

    def __call__(self, done: int, of: int, /) -> None:
        """Never raises: work does not depend on who watches."""


def unobserved(_: int, __: int, /) -> None:
    """Progress that nobody looks at."""


def part_of(progress: Progress, first: int, last: int) -> Progress:
    """The progress of work that is a part of other work: from *first* to *last* of its hundred parts."""

    def told(done: int, of: int, /) -> None:
        progress(first + (last - first) * done // max(of, 1), 100)

    return told
