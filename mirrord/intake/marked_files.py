"""Files that are read when they may have changed: which are due, and their problems."""

from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from dataclasses import dataclass, field

from mirrord.db import open_issues
from mirrord.db.open_issues import Problem
from mirrord.sync.observation.mirror_handles import Sides


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


@dataclass(slots=True)
class PathProblems:
    """The listed problems of one code in one mirror, at most one for each path."""

    sides: Sides
    code: str
    _problems: dict[str, Problem] = field(default_factory=dict)  # by path
    _is_loaded: bool = False

    @property
    def paths(self) -> AbstractSet[str]:
        """Paths with a problem."""
        return self._problems.keys()

    async def load(self) -> None:
        """Load the problems that an earlier daemon listed, once."""
        if self._is_loaded or self.sides.is_first:
            return
        async with self.sides.database.transaction(self.sides.tenant) as connection:
            listed = await open_issues.load_problems(connection, self.sides.tenant)
        self._problems = {problem.path: problem for problem in listed if problem.code == self.code}
        self._is_loaded = True

    async def report(self, path: str, sentence: str) -> None:
        """List the problem of a path, unless it is listed with this sentence."""
        sides, problem = self.sides, Problem(path, self.code, sentence)
        if self._problems.get(path) != problem:
            async with sides.database.transaction(sides.tenant, sides.fence) as connection:
                await open_issues.store_problems(connection, sides.tenant, sides.mirror, [problem])
            self._problems[path] = problem

    async def clear(self, path: str) -> None:
        """Remove the problem of a path, if it has one."""
        sides = self.sides
        if path in self._problems:
            async with sides.database.transaction(sides.tenant, sides.fence) as connection:
                await open_issues.delete_problems(connection, sides.tenant, sides.mirror, [(path, self.code)])
            del self._problems[path]
