"""Change sets in review that are shown again: as they would be now, with what the person chose of them so far."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from uuid import UUID

from mirrord.commands.core.failure import Failed
from mirrord.db import approval_rows, review_rows
from mirrord.db.approval_rows import StoredRequest
from mirrord.db.database import Connection
from mirrord.domain.approval import Preview, Request
from mirrord.domain.review import ReviewChoice
from mirrord.domain.trust import Trust
from mirrord.intake.request_execution import TenantContext, renew_request
from mirrord.merge.carried_choice import carry_choice

log = logging.getLogger(__name__)

Renewed = tuple[Request, Preview]
_NOTHING_TO_SHOW = ("NOTHING_CHANGED", "CHANGES_ENDED")  # failures of a comparison that was made


@dataclass(frozen=True, slots=True)
class ReviewRenewal:
    """Lets another request follow one whose change set would do something else now. answer: writes its file."""

    desk: TenantContext
    answer: Callable[[StoredRequest], Awaitable[None]]

    async def look_again(self, stored: StoredRequest) -> None:
        """
        Compare a change set that waits with the files as they are now, because a person asked.

        The person is told nothing about what cannot be compared at the moment, and may ask again.
        """
        try:
            renewed = await self._renew(stored)
        except Failed as failed:
            if failed.code not in _NOTHING_TO_SHOW:
                log.info("review_not_compared", extra={"request": str(stored.id), "error": str(failed)})
                async with self._transaction() as connection:
                    await review_rows.drop_question(connection, stored)
                return
            renewed = None
        if renewed is None or not await self._differs(stored, renewed[1]):
            async with self._transaction() as connection:
                await review_rows.note_look(connection, stored)
            return
        async with self._transaction() as connection:
            if await review_rows.supersede_request(connection, stored.tenant, stored.id, renewed[0].id):
                await self.follow(connection, stored, renewed)
        await self.write_file(renewed[0].id)

    async def prepare(self, stored: StoredRequest) -> Renewed | None:
        """The request that may follow *stored*; None: there is nothing to show any more, or not at the moment."""
        try:
            return await self._renew(stored)
        except Failed as failed:
            log.info("review_not_renewed", extra={"request": str(stored.id), "error": str(failed)})
            return None

    async def _renew(self, stored: StoredRequest) -> Renewed | None:
        """As prepare(), but raises Failed where the change set cannot be compared, or has ended."""
        if "change_set" not in stored.arguments:
            return None
        return await asyncio.to_thread(renew_request, self.desk, stored.request)

    async def follow(self, connection: Connection, stored: StoredRequest, renewed: Renewed) -> None:
        """Let *renewed* follow *stored*, with what the person chose, in the transaction that ends *stored*."""
        request, preview = renewed
        sides = self.desk.sides
        review = await review_rows.load_review(connection, sides.tenant, stored)
        await approval_rows.add_request(connection, sides.tenant, sides.mirror, request, preview, Trust[stored.level])
        choice = carry_choice(review.choice, review.changes, preview.changes)
        if choice != ReviewChoice():
            await review_rows.store_choice(connection, request.id, choice)

    async def write_file(self, request: UUID) -> None:
        """Write the file of a request that followed another one."""
        async with self._transaction() as connection:
            stored = await approval_rows.load_requests(connection, self.desk.sides.tenant, [request])
        for each in stored.values():
            await self.answer(each)

    def _transaction(self) -> AbstractAsyncContextManager[Connection]:
        sides = self.desk.sides
        return sides.database.transaction(sides.tenant, sides.fence)

    async def _differs(self, stored: StoredRequest, preview: Preview) -> bool:
        if dict(preview.bases) != stored.bases:
            return True
        async with self._transaction() as connection:
            review = await review_rows.load_review(connection, self.desk.sides.tenant, stored)
        return approval_rows.storable_changes(preview) != [change.facts() for change in review.changes]
