"""Files of the tree that only one reader reads: which of them it is to look at, kept until it could."""

from collections.abc import Awaitable, Callable
from contextlib import ExitStack


class Marks:
    """The files that may have changed since they were looked at. is_own: whether a path is that of such a file."""

    def __init__(self, is_own: Callable[[str], bool]) -> None:
        self._is_own = is_own
        self._due: set[str] = set()
        self._everywhere = True

    @property
    def is_empty(self) -> bool:
        """Whether every file marked so far was taken."""
        return not (self._everywhere or self._due)

    def mark(self, path: str) -> None:
        """The file at *path* may have changed; of a directory, any file below it."""
        if self._is_own(path):
            self._due.add(path)
        else:
            self._everywhere = True

    def mark_everywhere(self) -> None:
        """Any file may have."""
        self._everywhere = True

    async def take(self, look_around: Callable[[], Awaitable[None]], look: Callable[[str], Awaitable[None]]) -> None:
        """*look_around*, which marks files, if any may have changed; *look* at each. What raises is marked again."""
        if self._everywhere:
            self._everywhere = False
            with ExitStack() as again:
                again.callback(self.mark_everywhere)
                await look_around()
                again.pop_all()
        while self._due:
            path = self._due.pop()
            with ExitStack() as again:
                again.callback(self.mark, path)
                await look(path)
                again.pop_all()
