"""
Changes in the feed that the daemon made itself, known by the numbers that its commits returned.

After such a change row and base are equal, or the engine is at work on the entry, so the feed has no news of it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from mirrord.db.transactions import TransactionChanges

MAX_SEQS = 1_000  # numbers that are remembered; with more, the feed is read
COMMIT_WAIT_SECONDS = 0.02  # seconds that a reader of the feed waits for commits under way: their news come first


class OwnChanges:
    """The own changes of one mirror that the feed's reader has not passed yet."""

    def __init__(self) -> None:
        self._seqs = set[int]()
        self._commits_under_way = 0
        self._settled = asyncio.Event()
        self._settled.set()

    @asynccontextmanager
    async def committing(self) -> AsyncIterator[TransactionChanges]:
        """
        Around a transaction that fills the result: its number is remembered.

        The block sets `expected_entries` if row and base of these entries are equal then, or are worked on. Where a
        trigger changed others, too, the feed is read.
        """
        changes = TransactionChanges()
        self._commits_under_way += 1
        self._settled.clear()
        try:
            yield changes
            if changes.seq is not None and changes.entries == changes.expected_entries and len(self._seqs) < MAX_SEQS:
                self._seqs.add(changes.seq)
        finally:
            self._commits_under_way -= 1
            if not self._commits_under_way:
                self._settled.set()

    def forget(self) -> None:
        """Forget all numbers: those of another history mean other changes."""
        self._seqs.clear()

    async def settle(self) -> None:
        """Wait a moment for commits under way."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._settled.wait(), COMMIT_WAIT_SECONDS)

    def pass_over(self, cursor: int) -> int:
        """The number of the last change that is known if everything up to *cursor* is known; forgets those before."""
        while cursor + 1 in self._seqs:
            cursor += 1
        self._seqs = {seq for seq in self._seqs if seq > cursor}
        return cursor
