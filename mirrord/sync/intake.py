"""What an engine works on next: while one chunk of an import is written to rows, the files of the next are read."""

import asyncio
from dataclasses import dataclass

from mirrord.sync.look import Look, Looker
from mirrord.sync.observe import Dirty
from mirrord.sync.queue import Queue

CHUNK = 400  # paths or entries a pass
WORTH = 40  # files to read that are worth reading ahead


@dataclass(frozen=True, slots=True)
class _Ahead:
    dirty: Dirty
    look: asyncio.Task[Look]


class Intake:
    """Takes chunks from a queue; what it holds counts as pending until `release`. released: how much was, so far."""

    def __init__(self, queue: Queue, looker: Looker) -> None:
        self._queue = queue
        self._looker = looker
        self._ahead: _Ahead | None = None
        self._in_hand = 0
        self.released = 0

    def __len__(self) -> int:
        """How many marks were taken and are not done."""
        return self._in_hand + (_size(self._ahead.dirty) if self._ahead else 0)

    @property
    def is_ready(self) -> bool:
        """Whether there is something to take now."""
        return self._ahead is not None or self._queue.is_ready

    async def take(self) -> tuple[Dirty, Look | None]:
        """The next chunk, and what was seen there if that was looked at already."""
        ahead, self._ahead = self._ahead, None
        dirty = ahead.dirty if ahead else self._queue.take(CHUNK)
        self._in_hand += _size(dirty)
        look = await ahead.look if ahead else None
        if self._queue.only_reads(WORTH) and not dirty.entries and dirty.paths == dirty.forced:
            # one look after the other: only the first at an inode sees where that was before
            look = look or await asyncio.to_thread(self._looker.look, dirty.paths, dirty.forced)
            self._look_ahead()
        return dirty, look

    def release(self, dirty: Dirty) -> None:
        """What was taken is done, or marked again."""
        self._in_hand -= _size(dirty)
        self.released += _size(dirty)
        self._queue.release(dirty)

    async def look_again(self) -> None:
        """Files were written: what was seen ahead may be old."""
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            await asyncio.wait([ahead.look])
            self._queue.put_back(ahead.dirty)

    def _look_ahead(self) -> None:
        dirty = self._queue.take(CHUNK)
        look = asyncio.create_task(asyncio.to_thread(self._looker.look, dirty.paths, dirty.forced))
        self._ahead = _Ahead(dirty, look)


def _size(dirty: Dirty) -> int:
    return len(dirty.paths) + len(dirty.entries)
