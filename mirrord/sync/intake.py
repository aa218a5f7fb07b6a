"""Take chunks of work from the queue; during an import the files of the next chunk are read ahead."""

import asyncio
from dataclasses import dataclass

from mirrord.sync.look import Looker, LookResult
from mirrord.sync.observe import Dirty
from mirrord.sync.queue import Queue

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
        if self._queue.has_only_reads(MIN_READ_AHEAD_FILES) and not dirty.entries and dirty.paths == dirty.forced:
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
