"""A person's decision about a change set in review: about what it would do now, and what became of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

from mirrord.db import approval_rows, mirror_leases, review_rows
from mirrord.db.approval_rows import StoredRequest
from mirrord.db.database import Connection, Database
from mirrord.db.review_rows import StoredReview
from mirrord.domain.approval import RequestState
from mirrord.domain.entry import Actor, TenantId
from mirrord.domain.review import ReviewChoice
from mirrord.errors import Refused, Stale, UserError
from mirrord.mirror.tree.tree_layout import PAUSE_FILE
from mirrord.operations import review_choices

LOOK_SECONDS = 8.0  # seconds to wait until the daemon has looked at the files again
OUTCOME_SECONDS = 30.0  # seconds to wait until it has applied what was accepted
_PAUSE_SECONDS = 0.1  # seconds between looks at rows
_MAX_TRIES = 5  # of an acceptance, while others change the pages
_CHANGED = "It changed since it was shown; nothing was accepted."
_INCOMPARABLE = (
    "It cannot be compared with its files at the moment, so nothing was accepted. Look at the pages that it changes: "
    "one may be no plain file, or the disk may refuse to read it."
)
_FINISHED = (RequestState.EXECUTED, RequestState.FAILED)

Choose = Callable[[StoredReview], ReviewChoice]


@dataclass(frozen=True, slots=True)
class Look:
    """
    A change set that waits. earlier: as it was shown before. is_fresh: a daemon compared it with the files of now.

    is_comparable: False: the daemon tried to, and cannot at the moment.
    """

    review: StoredReview
    earlier: StoredReview
    is_fresh: bool
    is_comparable: bool


@dataclass(frozen=True, slots=True)
class Acceptance:
    """
    What a person accepts. choose: of the change set as it is now. digest: of what the person saw; None: the
    person takes it as it is. channel: where the person decides.
    """

    change_set: str
    choose: Choose
    digest: str | None
    comment: str | None
    channel: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """What was accepted. is_applied: it is in the tree; else no daemon was there in time, which applies it later."""

    review: StoredReview
    is_applied: bool


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A person who looks at the change sets of a tenant that wait, and decides."""

    database: Database
    tenant: TenantId
    actor: Actor

    async def look(self, change_set: str) -> Look | None:
        """The change set whose id begins so, as it would be applied now; None: it does not wait for a person."""
        async with self.database.transaction(self.tenant, actor=self.actor) as connection:
            earlier = await review_rows.find_review(connection, self.tenant, change_set)
            if earlier is None:
                return None
            await review_rows.ask_look(connection, earlier.request.id)
            is_served = await self._is_served(connection, earlier.request)
        answer = await self._await(self._is_looked_at, earlier.request.id, LOOK_SECONDS) if is_served else False
        async with self.database.transaction(self.tenant, actor=self.actor) as connection:
            review = await review_rows.find_review(connection, self.tenant, earlier.change_set)
        return Look(review, earlier, bool(answer), answer is not None) if review is not None else None

    async def accept(self, acceptance: Acceptance) -> Accepted:
        """
        Accept the chosen part as it would be applied now, and wait until it is.

        Raises UserError if it does not wait; Stale if it is another one than was shown; Refused, with the reason, if it
        cannot be applied. The change set waits as before then.
        """
        shown_first: StoredReview | None = None
        for _ in range(_MAX_TRIES):
            look = await self.look(acceptance.change_set)
            if look is None:
                raise no_review(acceptance.change_set)
            if not look.is_comparable:
                raise Refused(_INCOMPARABLE)
            shown_first = shown_first or look.earlier
            review = _chosen(acceptance, look.review, shown_first)
            if not await self._decide(review, acceptance):
                continue
            if not await self._await(self._is_finished, review.request.id, OUTCOME_SECONDS if look.is_fresh else 0.0):
                return Accepted(review, is_applied=False)
            failure = await self._failure_of(review.request.id)
            if failure is None:
                return Accepted(review, is_applied=True)
            if failure.get("code") != "STALE":
                raise Refused(f"{failure.get('sentence')} The change set still waits.")
        raise Stale(_CHANGED)

    async def _decide(self, review: StoredReview, acceptance: Acceptance) -> bool:
        """False: another request has followed this one at this moment."""
        async with self.database.transaction(self.tenant, actor=self.actor) as connection:
            if (await self._state_of(connection, review.request.id)) is not RequestState.PENDING:
                return False
            await review_rows.decide_review(
                connection, self.tenant, review, accept=True, comment=acceptance.comment, channel=acceptance.channel
            )
        return True

    async def _is_served(self, connection: Connection, stored: StoredRequest) -> bool:
        mirrors = (await mirror_leases.load_mirrors_of(connection, [self.tenant]))[self.tenant]
        roots = [root for mirror, _, root, is_leased in mirrors if mirror == stored.mirror and is_leased]
        return bool(roots) and not await asyncio.to_thread(_is_paused, roots[0])

    async def _await(
        self, is_so: Callable[[Connection, UUID], Awaitable[bool | None]], request: UUID, patience_seconds: float
    ) -> bool | None:
        """Whether something is so within *patience_seconds*; None as soon as *is_so* says that it will not be."""
        end = time.monotonic() + patience_seconds
        while True:
            async with self.database.transaction(self.tenant, actor=self.actor) as connection:
                answer = await is_so(connection, request)
            if answer is not False:
                return answer
            if time.monotonic() > end:
                return False
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _is_looked_at(self, connection: Connection, request: UUID) -> bool | None:
        return await review_rows.is_looked_at(connection, self.tenant, request)

    async def _is_finished(self, connection: Connection, request: UUID) -> bool:
        return await self._state_of(connection, request) in _FINISHED

    async def _state_of(self, connection: Connection, request: UUID) -> RequestState | None:
        stored = (await approval_rows.load_requests(connection, self.tenant, [request])).get(request)
        return stored.state if stored is not None else None

    async def _failure_of(self, request: UUID) -> dict[str, object] | None:
        async with self.database.transaction(self.tenant, actor=self.actor) as connection:
            stored = (await approval_rows.load_requests(connection, self.tenant, [request]))[request]
        return (stored.outcome or {}).get("failure")


def _is_paused(root: str | None) -> bool:
    """Whether a person has paused sync of the tree at *root*, as far as this host and user can see. Blocking."""
    try:
        return root is not None and (Path(root) / PAUSE_FILE).exists()
    except OSError:
        return False


def no_review(change_set: str) -> UserError:
    """The error for a change set that does not wait for a person."""
    return UserError(f"No change set {change_set!r} waits for a review. `mirrord changes` lists them.")


def _chosen(acceptance: Acceptance, review: StoredReview, shown_first: StoredReview) -> StoredReview:
    """*review* with what is chosen of it. Raises Stale, Refused, UserError."""
    if acceptance.digest is not None and acceptance.digest != review.shown:
        raise Stale(_CHANGED)
    choice = acceptance.choose(review)
    review_choices.check_accepted(review, choice)
    review_choices.check_same_blocks(shown_first, review, choice.blocks)
    return replace(review, choice=choice)
