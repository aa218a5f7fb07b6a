"""Follow the feed of one tenant: the rows that changed since the last read."""

from collections.abc import Collection

from mirrord.db import states
from mirrord.db.states import LoadedEntries
from mirrord.domain.entry import EntryId
from mirrord.sync.sides import Sides

PAGE_ENTRIES = 1000  # entries read at once


class Feed:
    """
    A cursor in the change feed. It starts before the full comparison, so no change is missed between the two.

    newest: number of the last known change.
    """

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self.cursor = 0
        self.newest = 0

    @property
    def unread_changes(self) -> int:
        """The number of known changes that are not read yet."""
        return max(0, self.newest - self.cursor)

    async def begin(self) -> None:
        """Start with the next change."""
        async with self._sides.database.connection() as connection:
            self.cursor = (await states.load_seqs(connection, [self._sides.tenant])).get(self._sides.tenant, 0)

    async def read(self, watched: Collection[EntryId] = ()) -> list[LoadedEntries]:
        """
        Read the entries that changed since the last call and whose rows differ from their bases, in pages.

        watched: entries that are in the result on any change, even if their rows equal their bases.
        """
        sides, pages, has_more = self._sides, list[LoadedEntries](), True
        while has_more:
            async with sides.database.transaction(sides.tenant) as connection:
                fed = await states.load_changed_entries(
                    connection, sides.tenant, sides.mirror, self.cursor, PAGE_ENTRIES, watched
                )
            page, self.cursor, has_more = fed
            pages.append(page)
        return pages
