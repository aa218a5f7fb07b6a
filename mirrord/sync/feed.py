"""Following the feed of one tenant: which rows changed since we last looked."""

from collections.abc import Collection

from mirrord.db import states
from mirrord.db.states import Known
from mirrord.domain.entry import EntryId
from mirrord.sync.sides import Sides

PAGE = 1000  # entries read at once


class Feed:
    """
    A cursor in the change feed. It starts before the full compare, so nothing falls between the two.

    newest: the last change that is known of, by its number.
    """

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self.cursor = 0
        self.newest = 0

    @property
    def behind(self) -> int:
        """How many changes are known of and not read."""
        return max(0, self.newest - self.cursor)

    async def begin(self) -> None:
        """From now on."""
        async with self._sides.database.connection() as connection:
            self.cursor = (await states.seqs(connection, [self._sides.tenant])).get(self._sides.tenant, 0)

    async def read(self, watched: Collection[EntryId] = ()) -> list[Known]:
        """
        Every entry that changed since the last call and whose row is not what the base says, a page after the other.

        watched: entries that are in the result whatever their rows say, if they changed.
        """
        sides, pages, more = self._sides, list[Known](), True
        while more:
            async with sides.database.transaction(sides.tenant) as connection:
                fed = await states.fed(connection, sides.tenant, sides.mirror, self.cursor, PAGE, watched)
            page, self.cursor, more = fed
            pages.append(page)
        return pages
