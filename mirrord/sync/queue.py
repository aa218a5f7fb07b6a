"""The coalescing queue of one mirror: where to look, each place once, some of it later."""

import asyncio
import heapq
import itertools
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from uuid import UUID

from mirrord.domain.entry import EntryId
from mirrord.mirror.layout import carried, lineage
from mirrord.sync.observe import Dirty
from mirrord.sync.paths import by_depth

MOST_MEASURED = 10_000  # places whose time is taken at once


class Queue:
    """Marks are hints; taking them empties the queue, failing to act on them puts them back."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._forced: set[str] = set()  # some of them
        self._order: list[tuple[tuple[int, str, bool], str]] = []  # a heap of all paths, or empty: not needed
        self._entries: set[EntryId] = set()
        self._later: list[tuple[float, int, Dirty]] = []
        self._count = itertools.count()
        self._bell = asyncio.Event()
        self._noticed: dict[str | UUID, float] = {}

    def __len__(self) -> int:
        waiting = sum(len(dirty.paths) + len(dirty.entries) for _, _, dirty in self._later)
        return len(self._paths) + len(self._entries) + waiting

    @property
    def is_ready(self) -> bool:
        """Whether something is to be done now."""
        return bool(self._paths or self._entries)

    def only_reads(self, least: int) -> bool:
        """Whether all that is to be done now is to read files, at least so many."""
        return len(self._paths) >= least and not self._entries and len(self._paths) == len(self._forced)

    def mark(
        self,
        paths: Iterable[str] = (),
        entries: Iterable[EntryId] = (),
        *,
        forced: bool = False,
        delay: float = 0,
        noticed: float | None = None,
    ) -> None:
        """
        Look at *paths* and *entries*. forced: read the files again in any case. delay: in seconds.

        noticed: when a change was noticed there, by the monotonic clock; None: the time it takes is not asked for.
        """
        paths, entries = frozenset(paths), frozenset(entries)
        if not (paths or entries):
            return
        if noticed is not None and len(self._noticed) < MOST_MEASURED:
            for place in _places(paths, entries):
                self._noticed.setdefault(place, noticed)
        dirty = Dirty(paths, entries, paths if forced else frozenset())
        if delay:
            heapq.heappush(self._later, (time.monotonic() + delay, next(self._count), dirty))
        else:
            self._add(dirty)
        self._bell.set()

    def follow(self, renamed: Mapping[str, str]) -> None:
        """Look also where paths are now that wait: they, or directories above them, were *renamed*, old to new."""
        if not renamed:
            return
        self._add(_followed(Dirty(frozenset(self._paths), forced=frozenset(self._forced)), renamed))
        for number, (when, count, dirty) in enumerate(self._later):  # a heap by the first two
            new = _followed(dirty, renamed)
            self._later[number] = when, count, Dirty(dirty.paths | new.paths, dirty.entries, dirty.forced | new.forced)

    def wake(self) -> None:
        """Let whoever waits go on, although nothing is marked."""
        self._bell.set()

    def put_back(self, dirty: Dirty) -> None:
        """Nothing came of *dirty*: again, and read its files again."""
        self._add(Dirty(dirty.paths, dirty.entries, dirty.paths))
        self._bell.set()

    def noticed(self, place: str | UUID) -> float | None:
        """When a change of a path or entry was noticed that is carried over now; it is told once."""
        return self._noticed.pop(place, None)

    @property
    def oldest(self) -> float | None:
        """When the oldest change was noticed that waits, as far as times are taken, by the monotonic clock."""
        return next(iter(self._noticed.values()), None)

    def release(self, dirty: Dirty) -> None:
        """*dirty* was worked on: what is not marked again had nothing to be carried over."""
        done = [place for place in _places(dirty.paths, dirty.entries) if place in self._noticed]
        if not done:  # as mostly: what was carried over is told
            return
        later = [places for _, _, one in self._later for places in (one.paths, one.entries)]
        for place in done:
            if not any(place in places for places in (self._paths, self._entries, *later)):
                del self._noticed[place]

    def take(self, most: int) -> Dirty:
        """
        At most *most* paths and entries each; parents come before what is below them.

        Paths that wait together with one of the entries come with it: where its file is may be known by them only.
        """
        self._wake_later()
        paths = frozenset(self._first(most))
        entries = frozenset(itertools.islice(self._entries, most))
        forced = frozenset(self._forced & paths)
        self._paths -= paths
        self._entries -= entries
        self._forced -= forced
        together = [dirty for _, _, dirty in self._later if not dirty.entries.isdisjoint(entries)]
        if together:
            self._later = [one for one in self._later if not one[2].entries or one[2].entries - entries]
            heapq.heapify(self._later)
        paths, forced = paths.union(*(one.paths for one in together)), forced.union(*(one.forced for one in together))
        return Dirty(paths, entries, forced)

    async def wait(self, seconds: float) -> None:
        """Until something is marked or due, at most so many *seconds*. A mark made before the call counts."""
        self._wake_later()
        if self._later:
            seconds = min(seconds, max(0.0, self._later[0][0] - time.monotonic()))
        if not self.is_ready:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._bell.wait(), seconds)
        self._bell.clear()
        self._wake_later()

    def _first(self, most: int) -> Iterable[str]:
        if len(self._paths) <= most:
            self._order.clear()
            return self._paths
        if not self._order:  # made once, not for each chunk of a large tree
            self._order = [(by_depth(path), path) for path in self._paths]
            heapq.heapify(self._order)
        found: set[str] = set()
        while len(found) < most:
            _, path = heapq.heappop(self._order)
            if path in self._paths:  # else it was taken, and is in the heap twice
                found.add(path)
        return found

    def _add(self, dirty: Dirty) -> None:
        if self._order:
            for path in dirty.paths - self._paths:
                heapq.heappush(self._order, (by_depth(path), path))
        self._paths |= dirty.paths
        self._forced |= dirty.forced
        self._entries |= dirty.entries

    def _wake_later(self) -> None:
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            self._add(heapq.heappop(self._later)[2])


def _followed(dirty: Dirty, renamed: Mapping[str, str]) -> Dirty:
    """Where paths of *dirty* are now; those that are where they were are left out."""
    now = {path: there for path in dirty.paths if (there := _renamed(path, renamed)) is not None}
    return Dirty(
        frozenset(now.values()), forced=frozenset(there for path, there in now.items() if path in dirty.forced)
    )


def _renamed(path: str, renamed: Mapping[str, str]) -> str | None:
    above = next((above for above in lineage(path) if above in renamed), None)
    return carried(path, above, renamed[above]) if above is not None else None


def _places(paths: Iterable[str], entries: Iterable[EntryId]) -> Iterator[str | UUID]:
    yield from paths
    yield from entries
