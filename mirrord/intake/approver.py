"""The daemon's part in approvals: takes requests in, and runs the approved ones."""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mirrord.commands.core.failure import Failed
from mirrord.db import approval_rows, review_rows
from mirrord.db.approval_rows import StoredRequest
from mirrord.domain.approval import RequestState
from mirrord.domain.entry import parse_id
from mirrord.domain.measures import Work
from mirrord.errors import Busy, Fenced, MirrordError
from mirrord.intake.draft_expiry import SWEEP_SECONDS, find_pointless, remove_expired_drafts
from mirrord.intake.request_execution import TenantContext, events_of_dead_run, execute_request, failure_facts
from mirrord.intake.request_intake import RequestIntake
from mirrord.intake.review_renewal import ReviewRenewal
from mirrord.sync.timing import pause

POLL_SECONDS = 0.5  # seconds between looks at decisions while any request waits, and at whether sync works again
RETRY_SECONDS = 0.5  # seconds after Postgres was out of reach, or the lease was lost
_LAST_OUTCOME_KEY = "approval"  # cache key: the outcome of the last request that was run

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Approver:
    """
    Works on one mirror's requests, one after the other, and removes drafts that are too old.

    may_act: whether files may be changed now. long_work: progress of the running command, if it reports any.
    """

    desk: TenantContext
    may_act: Callable[[], bool]
    intake: RequestIntake = field(init=False)
    renewal: ReviewRenewal = field(init=False)
    long_work: Work | None = None
    _waiting: bool = field(init=False)  # whether any request is still open; assumed at first, if any can be
    _working: bool = False
    _swept_at: float | None = None  # when drafts were looked at, by the monotonic clock; None: never
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.intake = RequestIntake(self.desk)
        self.renewal = ReviewRenewal(self.desk, self.intake.answer)
        self._waiting = not self.desk.sides.is_first

    @property
    def idle(self) -> bool:
        """Whether every file marked so far was looked at."""
        return self.intake.marks.is_empty and not self._working

    def mark(self, path: str) -> None:
        """Mark the file at *path* as possibly changed; a directory marks every file."""
        self.intake.marks.mark(path)
        self._wake.set()

    def look_everywhere(self) -> None:
        """Mark every file as possibly changed."""
        self.intake.marks.mark_everywhere()
        self._wake.set()

    def look_at_rows(self) -> None:
        """Look at requests in rows, although none is known to wait: only this daemon adds rows of its mirror."""
        self._waiting = True
        self._wake.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop*; a running command is finished."""
        while not stop.is_set():
            self._wake.clear()
            seconds: float | None = RETRY_SECONDS
            try:
                await self.work()
                seconds = None if self.idle and not self._waiting else POLL_SECONDS
            except (MirrordError, OSError) as error:  # a full disk, a missing tree: both may be over soon
                log.info("approvals_wait", extra={"tenant": self.desk.sides.name, "error": str(error)})
            await pause(stop, seconds, self._wake)

    async def work(self) -> None:
        """Work one round. Raises MirrordError, OSError: the next round does the rest."""
        if self.desk.sides.lease is None:
            raise Fenced("The lease is not held; requests wait.")
        if not self.may_act():
            return
        self._working = True
        try:
            self._waiting |= await self.intake.accept_marked()
            if self._waiting:
                self._waiting = await self._act_on_decisions()
            await self._sweep_drafts()
        finally:
            self._working = False

    async def _sweep_drafts(self) -> None:
        now = time.monotonic()
        if self._swept_at is None or now - self._swept_at > SWEEP_SECONDS:
            self._swept_at = now
            await asyncio.to_thread(remove_expired_drafts, self.desk)

    async def _act_on_decisions(self) -> bool:
        """Act on decisions; returns whether any request waits for one, or may: others may have come meanwhile."""
        sides = self.desk.sides
        async with sides.database.transaction(sides.tenant, sides.fence) as connection:
            await approval_rows.expire_requests(connection, sides.tenant)
            open_ones = await approval_rows.load_unreported(connection, sides.tenant, sides.mirror)
        for stored in await self._expire_pointless(open_ones):
            if stored.state is RequestState.APPROVED:
                stored = await self._run_approved(stored)
            if stored.state is not RequestState.PENDING:
                await self._deliver_answer(stored)
            elif stored.look_asked_at is not None:
                await self.renewal.look_again(stored)
        return bool(open_ones)

    async def _expire_pointless(self, open_ones: list[StoredRequest]) -> list[StoredRequest]:
        """Expire requests whose change set has ended; returns all of *open_ones* as they are then."""
        sides = self.desk.sides
        pointless = await asyncio.to_thread(find_pointless, sides.tree, open_ones)
        if not pointless:
            return open_ones
        async with sides.database.transaction(sides.tenant, sides.fence) as connection:
            await approval_rows.expire_requests(connection, sides.tenant, pointless)
            return await approval_rows.load_unreported(connection, sides.tenant, sides.mirror)

    async def _run_approved(self, stored: StoredRequest) -> StoredRequest:
        """Run an approved request exactly once, even if an earlier daemon of this mirror claimed it and died."""
        sides = self.desk.sides
        if stored.is_claimed:
            outcome = await self._outcome_of_interrupted(stored)
        else:
            async with sides.database.transaction(sides.tenant, sides.fence) as connection:
                if not await approval_rows.claim_request(connection, sides.tenant, sides.mirror, stored.id):
                    raise Busy("The request is being run elsewhere.")
            outcome = await self._run_command(stored)
        state = RequestState.EXECUTED if "result" in outcome or outcome.get("begun") else RequestState.FAILED
        # what was accepted is not what would happen now: the person sees that, and decides again
        renewed = await self.renewal.prepare(stored) if state is RequestState.FAILED else None
        if renewed is not None:
            outcome = {**outcome, "renewed_by": str(renewed[0].id)}
        async with sides.database.transaction(sides.tenant, sides.fence) as connection:
            await approval_rows.store_outcome(connection, sides.tenant, stored.id, state, outcome)
            if renewed is not None:
                await self.renewal.follow(connection, stored, renewed)
        log.info("request_ended", extra={"request": str(stored.id), "command": stored.command, "state": state})
        return replace(stored, state_name=state, outcome=outcome)

    async def _acceptance_of(self, stored: StoredRequest) -> Mapping[str, Any]:
        """What a person accepted of a change set, as arguments; empty: all of a command."""
        sides = self.desk.sides
        async with sides.database.transaction(sides.tenant) as connection:
            review = await review_rows.load_review(connection, sides.tenant, stored)
        if not review.changes:
            return {}
        return {"choice": review.choice.facts(), "comment": (stored.decision or {}).get("reason")}

    async def _run_command(self, stored: StoredRequest) -> dict[str, Any]:
        sides = self.desk.sides
        acceptance = await self._acceptance_of(stored)
        sides.check_lease()
        try:
            outcome = await asyncio.to_thread(
                execute_request, self.desk, stored.request, stored.level, self._note_progress, acceptance
            )
        finally:
            self.long_work = None
        last = json.dumps({"id": str(stored.id), "outcome": outcome})
        await asyncio.to_thread(sides.state.set, _LAST_OUTCOME_KEY, last)
        return outcome

    def _note_progress(self, done: int, of: int, /) -> None:
        self.long_work = Work("command", done, of)

    async def _outcome_of_interrupted(self, stored: StoredRequest) -> dict[str, Any]:
        """The outcome of an interrupted run. A request whose run began is never run twice."""
        text: str | None = await asyncio.to_thread(self.desk.sides.state.get, _LAST_OUTCOME_KEY)
        last = json.loads(text or "{}")
        if last.get("id") == str(stored.id):
            outcome: dict[str, Any] = last["outcome"]
            return outcome
        events = await asyncio.to_thread(events_of_dead_run, self.desk, stored.request)
        if not events:
            return await self._run_command(stored)
        sentence = f"mirrord was stopped while it ran {stored.command}; what it had done is listed here."
        failed = Failed("INTERRUPTED", "unavailable", sentence, "Look what is there, then ask for what is missing.")
        return {"failure": failure_facts(failed) | {"facts": {"done": events}}, "begun": True}

    async def _deliver_answer(self, stored: StoredRequest) -> None:
        """Write the outcome of a request to its file; the file of the request that follows it comes first."""
        sides = self.desk.sides
        if successor := parse_id(str((stored.outcome or {}).get("renewed_by"))):
            await self.renewal.write_file(successor)
        await self.intake.answer(stored)
        async with sides.database.transaction(sides.tenant, sides.fence) as connection:
            await approval_rows.mark_reported(connection, sides.tenant, stored.id)
