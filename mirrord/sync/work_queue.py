"""The coalescing queue of one mirror, and reading ahead: the next files are read while a chunk is written."""

import asyncio
import heapq
import itertools
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from mirrord.domain.entry import EntryId
from mirrord.mirror.tree.path_order import order_key_of, path_of_order_key
from mirrord.mirror.tree.tree_layout import lineage, renamed_path
from mirrord.sync.observation.file_look import Looker
from mirrord.sync.observation.look_result import LookResult
from mirrord.sync.observation.observe import Dirty

MAX_MEASURED_PLACES = 10_000  # places whose latency is measured at once


class Queue:
    """Marks are hints: taking them empties the queue, a failed pass puts them back."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._unforced: set[str] = set()  # some of them; of a large tree that is scanned there are few
        self._order: list[str] = []  # a heap of the order keys of all paths, or empty: not needed
        self._entries: set[EntryId] = set()
        self._later: list[tuple[float, int, Dirty]] = []
        self._count = itertools.count()
        self._wake_event = asyncio.Event()
        self._noticed: dict[str | UUID, float] = {}

    def __len__(self) -> int:
        waiting = sum(len(dirty.paths) + len(dirty.entries) for _, _, dirty in self._later)
        return len(self._paths) + len(self._entries) + waiting

    @property
    def is_ready(self) -> bool:
        """Whether there is work now."""
        return bool(self._paths or self._entries)

    def has_only_reads(self, at_least: int) -> bool:
        """Whether the work now consists of reading files, at least *at_least* of them."""
        return len(self._paths) >= at_least and not self._entries and not self._unforced

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

        noticed: when a change was noticed there, by the monotonic clock; None: its latency is not measured.
        """
        paths, entries = frozenset(paths), frozenset(entries)
        if not (paths or entries):
            return
        if noticed is not None and len(self._noticed) < MAX_MEASURED_PLACES:
            for place in itertools.chain[str | UUID](paths, entries):
                self._noticed.setdefault(place, noticed)
        dirty = Dirty(paths, entries, paths if forced else frozenset())
        if delay:
            heapq.heappush(self._later, (time.monotonic() + delay, next(self._count), dirty))
        else:
            self._add(dirty)
        self._wake_event.set()

    def mark_renamed(self, renamed: Mapping[str, str]) -> None:
        """Mark the new paths of waiting paths: they, or directories above them, were *renamed*, old to new."""
        if not renamed:
            return
        self._add(
            _renamed_dirty(Dirty(frozenset(self._paths), forced=frozenset(self._paths - self._unforced)), renamed)
        )
        for number, (when, count, dirty) in enumerate(self._later):  # a heap by the first two
            new = _renamed_dirty(dirty, renamed)
            self._later[number] = when, count, Dirty(dirty.paths | new.paths, dirty.entries, dirty.forced | new.forced)

    def wake(self) -> None:
        """End a wait although nothing is marked."""
        self._wake_event.set()

    def put_back(self, dirty: Dirty) -> None:
        """Mark *dirty* again after a failed pass; its files are read again."""
        self._add(Dirty(dirty.paths, dirty.entries, dirty.paths))
        self._wake_event.set()

    def pop_notice_time(self, place: str | UUID) -> float | None:
        """When the change of a path or entry that is carried over now was noticed; each time is returned once."""
        return self._noticed.pop(place, None)

    @property
    def oldest_notice_time(self) -> float | None:
        """When the oldest waiting change was noticed, by the monotonic clock; of measured changes only."""
        return next(iter(self._noticed.values()), None)

    def forget_times(self, dirty: Dirty) -> None:
        """Forget the times of *dirty*, which was worked on, except of places that are marked again."""
        noticed_places = [
            place for place in itertools.chain[str | UUID](dirty.paths, dirty.entries) if place in self._noticed
        ]
        if not noticed_places:  # the usual case: pop_notice_time() has returned the times of changes carried over
            return
        later = [places for _, _, waiting in self._later for places in (waiting.paths, waiting.entries)]
        for place in noticed_places:
            if not any(place in places for places in (self._paths, self._entries, *later)):
                del self._noticed[place]

    def take_marks(self, limit: int) -> Dirty:
        """
        Take at most *limit* paths and as many entries; parents come before their children.

        Paths that wait together with one of the entries come with it: they alone may tell where its file is.
        """
        self._add_due()
        paths = frozenset(self._paths if len(self._paths) <= limit else self._first_paths(limit))
        entries = frozenset(itertools.islice(self._entries, limit))
        forced = paths - self._unforced
        self._paths -= paths
        if not self._paths:
            self._order.clear()
        self._entries -= entries
        self._unforced -= paths
        together = [dirty for _, _, dirty in self._later if not dirty.entries.isdisjoint(entries)]
        if together:
            self._later = [
                (when, count, dirty)
                for when, count, dirty in self._later
                if not dirty.entries or dirty.entries - entries
            ]
            heapq.heapify(self._later)
        paths = paths.union(*(dirty.paths for dirty in together))
        forced = forced.union(*(dirty.forced for dirty in together))
        return Dirty(paths, entries, forced)

    async def wait(self, seconds: float) -> None:
        """Wait until something is marked or due, at most *seconds*. A mark made before the call counts."""
        self._add_due()
        if self._later:
            seconds = min(seconds, max(0.0, self._later[0][0] - time.monotonic()))
        if not self.is_ready:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake_event.wait(), seconds)
        self._wake_event.clear()
        self._add_due()

    def _first_paths(self, limit: int) -> Iterable[str]:
        """The *limit* paths to take first; there are more."""
        if not self._order:  # made once, not for each chunk of a large tree
            self._order = list(map(order_key_of, self._paths))
            heapq.heapify(self._order)
        paths: set[str] = set()
        while len(paths) < limit:
            path = path_of_order_key(heapq.heappop(self._order))
            if path in self._paths:  # else it was taken, and is in the heap twice
                paths.add(path)
        return paths

    def _add(self, dirty: Dirty) -> None:
        if self._order:
            for path in dirty.paths - self._paths:
                heapq.heappush(self._order, order_key_of(path))
        self._unforced |= dirty.paths - dirty.forced - self._paths
        self._unforced -= dirty.forced
        self._paths |= dirty.paths
        self._entries |= dirty.entries

    def _add_due(self) -> None:
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            self._add(heapq.heappop(self._later)[2])


def _renamed_dirty(dirty: Dirty, renamed: Mapping[str, str]) -> Dirty:
    """The new paths of *dirty*; paths that were not renamed are left out."""
    new_paths = {path: new for path in dirty.paths if (new := _new_path_of(path, renamed)) is not None}
    return Dirty(
        frozenset(new_paths.values()), forced=frozenset(new for path, new in new_paths.items() if path in dirty.forced)
    )


def _new_path_of(path: str, renamed: Mapping[str, str]) -> str | None:
    above = next((above for above in lineage(path) if above in renamed), None)
    return renamed_path(path, above, renamed[above]) if above is not None else None


CHUNK_MARKS = 400  # paths or entries in one pass
MIN_READ_AHEAD_FILES = 40  # files in the queue from which on reading ahead pays


@dataclass(frozen=True, slots=True)
class _ReadAhead:
    dirty: Dirty
    look: asyncio.Task[LookResult]


class Intake:
    """
    Takes chunks from a queue; a chunk is pending until `release`. released_count: number of marks released so far.
    """

    def __init__(self, queue: Queue, looker: Looker) -> None:
        self._queue = queue
        self._looker = looker
        self._read_ahead: _ReadAhead | None = None
        self._taken_count = 0
        self.released_count = 0

    def __len__(self) -> int:
        """The number of marks that are taken and not released."""
        return self._taken_count + (_count_marks(self._read_ahead.dirty) if self._read_ahead else 0)

    @property
    def is_ready(self) -> bool:
        """Whether there is something to take now."""
        return self._read_ahead is not None or self._queue.is_ready

    async def take_chunk(self) -> tuple[Dirty, LookResult | None]:
        """Take the next chunk, with its look if it was read ahead."""
        ahead, self._read_ahead = self._read_ahead, None
        dirty = ahead.dirty if ahead else self._queue.take_marks(CHUNK_MARKS)
        self._taken_count += _count_marks(dirty)
        look = await ahead.look if ahead else None
        if not dirty.entries and dirty.paths == dirty.forced and self._queue.has_only_reads(MIN_READ_AHEAD_FILES):
            # looks run one after another: only the first look at an inode sees its earlier path
            look = look or await asyncio.to_thread(self._looker.look_at_paths, dirty.paths, dirty.forced)
            self._start_read_ahead()
        return dirty, look

    def release(self, dirty: Dirty) -> None:
        """Release a chunk that is done or marked again."""
        self._taken_count -= _count_marks(dirty)
        self.released_count += _count_marks(dirty)
        self._queue.forget_times(dirty)

    async def discard_read_ahead(self) -> None:
        """Discard the chunk read ahead, which may be old because files were written."""
        if self._read_ahead is not None:
            ahead, self._read_ahead = self._read_ahead, None
            await asyncio.wait([ahead.look])
            self._queue.put_back(ahead.dirty)

    def _start_read_ahead(self) -> None:
        dirty = self._queue.take_marks(CHUNK_MARKS)
        look = asyncio.create_task(asyncio.to_thread(self._looker.look_at_paths, dirty.paths, dirty.forced))
        self._read_ahead = _ReadAhead(dirty, look)


def _count_marks(dirty: Dirty) -> int:
    return len(dirty.paths) + len(dirty.entries)
