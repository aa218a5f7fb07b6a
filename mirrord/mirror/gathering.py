"""What changed in several trees, handed out tree by tree: what happens in one must not hold up the others."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

SILENCE = 0.007  # seconds that end what happens in a tree, where more may come; less shows more renames half done
LONGEST = 0.05  # seconds after which it is handed out at the latest
FEW = 20  # paths of which it is worth asking whether more may come

Told = Callable[[set[str]], bool]


@dataclass(slots=True)
class _Pending:
    """
    since, last: when the first and the last of *paths* was added, in seconds of any clock.

    fresh: whether nobody was asked about it since.
    """

    since: float
    last: float
    fresh: bool = True
    paths: set[str] = field(default_factory=set)

    @property
    def due(self) -> float:
        """When no more of it is awaited."""
        return min(self.last + SILENCE, self.since + LONGEST)


class Gathering:
    """
    Paths below a directory, which are of one tree if they begin with one name.

    told: whether nothing more is to come of what happened at these paths, so that no silence is awaited.
    """

    def __init__(self, told: Told) -> None:
        self._told = told
        self._pending: dict[str, _Pending] = {}

    def add(self, paths: Iterable[str], now: float) -> None:
        """Something happened at *paths*."""
        for path in paths:
            tree = path.partition("/")[0]
            pending = self._pending.setdefault(tree, _Pending(now, now))
            pending.paths.add(path)
            pending.last, pending.fresh = now, True

    def take(self, now: float) -> set[str]:
        """All paths of every tree of which no more is awaited."""
        whole = [tree for tree, pending in self._pending.items() if self._is_whole(pending, now)]
        return set[str]().union(*(self._pending.pop(tree).paths for tree in whole))

    def seconds_left(self, now: float) -> float | None:
        """Until there will be something to take, if nothing else happens; None: there is nothing."""
        return min((pending.due - now for pending in self._pending.values()), default=None)

    def _is_whole(self, pending: _Pending, now: float) -> bool:
        if now >= pending.due:
            return True
        ask, pending.fresh = pending.fresh and len(pending.paths) <= FEW, False
        return ask and self._told(pending.paths)
