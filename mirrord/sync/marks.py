"""Marks on files of the tree that have a single reader; a mark stays until its file could be read."""

from collections.abc import Awaitable, Callable
from contextlib import ExitStack


class Marks:
    """Files that may have changed since the last look. is_own: whether a path is that of such a file."""

    def __init__(self, is_own: Callable[[str], bool]) -> None:
        self._is_own = is_own
        self._due: set[str] = set()
        self._everywhere = True

    @property
    def is_empty(self) -> bool:
        """Whether every file marked so far was taken."""
        return not (self._everywhere or self._due)

    def mark(self, path: str) -> None:
        """Mark the file at *path* as possibly changed; a directory marks every file."""
        if self._is_own(path):
            self._due.add(path)
        else:
            self._everywhere = True

    def mark_everywhere(self) -> None:
        """Mark every file as possibly changed."""
        self._everywhere = True

    async def look_at_marked(
        self, mark_changed: Callable[[], Awaitable[None]], read_file: Callable[[str], Awaitable[None]]
    ) -> None:
        """
        Call *mark_changed*, which marks files, if any file may have changed; then *read_file* at each marked file.

        A mark comes back if the call for it raises.
        """
        if self._everywhere:
            self._everywhere = False
            with ExitStack() as on_failure:
                on_failure.callback(self.mark_everywhere)
                await mark_changed()
                on_failure.pop_all()
        while self._due:
            path = self._due.pop()
            with ExitStack() as on_failure:
                on_failure.callback(self.mark, path)
                await read_file(path)
                on_failure.pop_all()
