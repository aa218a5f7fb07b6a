"""Following the feed of one tenant: which rows changed since we last looked."""

from mirrord.db import states
from mirrord.sync.engine import Engine

PAGE = 1000  # entries of the feed read at once


class Follower:
    """A cursor in the feed. It starts before the full compare, so nothing falls between the two."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.cursor = 0

    async def begin(self) -> None:
        """From now on."""
        sides = self.engine.sides
        async with sides.database.connection() as connection:
            self.cursor = (await states.seqs(connection, [sides.tenant])).get(sides.tenant, 0)

    async def catch_up(self) -> int:
        """Mark every entry whose row is not what the base says; the seq read up to."""
        sides = self.engine.sides
        while True:
            async with sides.database.transaction(sides.tenant) as connection:
                entries, seq, more = await states.fed(connection, sides.tenant, sides.mirror, self.cursor, PAGE)
            if entries:
                self.engine.queue.mark(entries=entries)
            self.cursor = seq
            if not more:
                return seq
