"""Changes in several trees, handed out tree by tree so that one tree does not hold up the others. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

SILENCE_SECONDS = 0.007  # seconds that end a burst of changes in a tree; with less, more renames appear half done
MAX_BURST_SECONDS = 0.05  # seconds of a burst after which it is handed out at the latest
MAX_ASKED_PATHS = 20  # paths at most for which the check for more changes is worth its cost

IsComplete = Callable[[set[str]], bool]


@dataclass(slots=True)
class _Pending:
    """
    since, last: when the first and the last of *paths* was added, in seconds of any clock.

    fresh: whether *told* was not called since the last path.
    """

    since: float
    last: float
    fresh: bool = True
    paths: set[str] = field(default_factory=set)

    @property
    def due(self) -> float:
        """When the wait for more changes ends."""
        return min(self.last + SILENCE_SECONDS, self.since + MAX_BURST_SECONDS)


class Gathering:
    """
    Changed paths below a directory; those with the same first part belong to one tree.

    is_complete: whether the changes at these paths are complete, so that no silence has to be awaited.
    """

    def __init__(self, is_complete: IsComplete) -> None:
        self._told = is_complete
        self._pending: dict[str, _Pending] = {}

    def add(self, paths: Iterable[str], now: float) -> None:
        """Record changes at *paths*."""
        for path in paths:
            tree = path.partition("/")[0]
            pending = self._pending.setdefault(tree, _Pending(now, now))
            pending.paths.add(path)
            pending.last, pending.fresh = now, True

    def take_complete(self, now: float) -> set[str]:
        """Remove and return the paths of all trees with complete changes."""
        complete_trees = [tree for tree, pending in self._pending.items() if self._is_complete(pending, now)]
        return set[str]().union(*(self._pending.pop(tree).paths for tree in complete_trees))

    def seconds_left(self, now: float) -> float | None:
        """Seconds until take() has paths without further changes; None: nothing is pending."""
        return min((pending.due - now for pending in self._pending.values()), default=None)

    def _is_complete(self, pending: _Pending, now: float) -> bool:
        if now >= pending.due:
            return True
        may_ask, pending.fresh = pending.fresh and len(pending.paths) <= MAX_ASKED_PATHS, False
        return may_ask and self._told(pending.paths)
