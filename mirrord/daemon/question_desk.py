"""Questions of agents in files, and undos that apps ask for in rows: the daemon answers them in the same place."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mirrord.daemon.history_answers import answer_question
from mirrord.db import change_set_rows
from mirrord.db.change_set_rows import ChangeSet
from mirrord.db.database import Connection
from mirrord.domain.approval import Answer, Request, RequestState
from mirrord.domain.entry import Actor, parse_id
from mirrord.domain.scope import UNLIMITED, Scope
from mirrord.errors import Fenced, MirrordError, Refused, Stale, TooSlow, UserError
from mirrord.intake.request_execution import TenantContext
from mirrord.mirror.write import question_files
from mirrord.operations.change_listing import Unanswerable
from mirrord.operations.undo import UndoOutcome, UndoRequest, UnknownChangeSet, undo
from mirrord.sync.timing import pause

RETRY_SECONDS = 0.5  # seconds after Postgres was out of reach, or while sync is stopped
SETTLE_TRIES = 200  # looks whether all changes before an undo are in rows
QUESTION_SETTLE_TRIES = 100  # the same before a question, which a tree under constant change must not hold up
SETTLE_PAUSE_SECONDS = 0.05  # seconds between them
KEPT_SECONDS = 24 * 3600.0  # seconds after which an answered file is removed

log = logging.getLogger(__name__)


@dataclass(slots=True)
class QuestionDesk:
    """
    Answers the questions about one tenant, and carries out its undos.

    may_act: whether rows and files may be changed now. is_settled: whether every change known now is in rows.
    look_at_events: look for new lines in the files of events, of which the watcher may tell later than of questions.
    """

    context: TenantContext
    may_act: Callable[[], bool]
    is_settled: Callable[[], bool]
    look_at_events: Callable[[], None]
    _is_working: bool = False
    _has_news: bool = field(init=False)  # whether rows may have changed since they were looked at
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._has_news = not self.context.sides.is_first

    def wake(self) -> None:
        """Look for requests now."""
        self._has_news = True
        self._wake.set()

    def look_at_files(self) -> None:
        """Look for requests in files, although nothing tells of one."""
        self._wake.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop*."""
        while not stop.is_set():
            self._wake.clear()
            seconds: float | None = None
            try:
                if not await self.work():
                    seconds = RETRY_SECONDS
            except (MirrordError, OSError) as error:
                log.info("questions_wait", extra={"tenant": self.context.sides.name, "error": str(error)})
                seconds = RETRY_SECONDS
            await pause(stop, seconds, self._wake)

    async def work(self) -> bool:
        """Answer every request; False: undos wait. Raises MirrordError, OSError."""
        if self.context.sides.lease is None:
            raise Fenced("The lease is not held; questions wait.")
        for path in await asyncio.to_thread(question_files.list_files, self.context.sides.tree):
            await self._answer_file(path)
        if not self.may_act():
            return False
        if self._has_news:
            await self._answer_rows()
        return True

    async def _answer_rows(self) -> None:
        self._has_news = False
        try:
            while await self._answer_row():
                pass
        except (MirrordError, OSError):
            self._has_news = True
            raise

    async def _answer_file(self, path: str) -> None:
        tree = self.context.sides.tree
        stored = await asyncio.to_thread(question_files.read, tree, path)
        if stored is None:
            return
        request, answer = stored
        if answer.state is not RequestState.PENDING:
            if time.time() - request.requested_at.timestamp() > KEPT_SECONDS:
                await asyncio.to_thread(question_files.remove, tree, path)
            return
        if request.command != question_files.UNDO:
            answer = await self._answer_question(request)
        elif self.may_act():
            answer = await self._carry_out(request)
        else:
            return
        await asyncio.to_thread(question_files.write, tree, replace(request, token=None), answer)

    async def _carry_out(self, request: Request) -> Answer:
        scope = UNLIMITED
        try:
            scope = self.context.check_author(request, is_undo=True)
            result = await self._earlier_result(request) or _facts_of(await self._undo(_request_of(request, scope)))
        except (UserError, Refused, Stale, TooSlow) as error:
            is_told = scope.is_unlimited or isinstance(error, Stale | TooSlow)
            failure = _failure_of(error) if is_told else _NOT_IN_SCOPE
            return Answer(RequestState.FAILED, failure=failure)
        log.info("undone", extra={"tenant": self.context.sides.name, "request": str(request.id)})
        return Answer(RequestState.EXECUTED, result=result)

    async def _answer_question(self, request: Request) -> Answer:
        """The answer to a question, once what changed before is in rows, or does not get there soon."""
        try:
            scope = self.context.check_author(request, writes=False)
            await self._settle(QUESTION_SETTLE_TRIES if self.may_act() else 0)
            return Answer(RequestState.EXECUTED, result=await answer_question(self.context.sides, request, scope))
        except Unanswerable as error:
            return Answer(RequestState.FAILED, failure={"code": error.code, "sentence": str(error)})
        except (UserError, Refused) as error:
            return Answer(RequestState.FAILED, failure=_failure_of(error))

    async def _settle(self, tries: int) -> bool:
        """Wait until every change known now is in rows; False: it takes longer."""
        self.look_at_events()
        for _ in range(tries):
            if self.is_settled():
                return True
            await asyncio.sleep(SETTLE_PAUSE_SECONDS)
        return False

    async def _earlier_result(self, request: Request) -> Mapping[str, Any] | None:
        """The result of a request that a daemon carried out before it died; None: none did."""
        sides = self.context.sides
        async with sides.database.transaction(sides.tenant) as connection:
            stored = await change_set_rows.find_change_sets(connection, sides.tenant, str(request.id))
        return {"change_set": str(request.id), **(stored[0].outcome or {})} if stored else None

    async def _undo(self, request: UndoRequest) -> UndoOutcome:
        sides = self.context.sides
        is_settled = await self._settle(SETTLE_TRIES)
        try:
            return await undo(sides.database, sides.tenant, request)
        except UserError as error:  # who hears "unknown" of what is not taken in yet may undo another change instead
            if is_settled:
                raise
            raise Stale("Changes are still being taken in; try again in a moment.") from error

    async def _answer_row(self) -> bool:
        """Carry out the first undo that an app asked for; False: there is none."""
        sides = self.context.sides
        async with sides.database.transaction(sides.tenant, sides.fence) as connection:
            requested = await change_set_rows.load_requested(connection, sides.tenant)
        if not requested:
            return False
        row = requested[0]
        request = UndoRequest(Actor(*_actor_of(row)), str(row.undoes), partial=row.partial, id=row.id)
        try:
            outcome = await self._undo(request)
            refusal = None if outcome.change_set is not None else outcome.facts() | {"refused": CLASHES}
        except (UserError, Refused, Stale, TooSlow) as error:
            refusal = {"refused": str(error)}
        if refusal is not None:
            async with sides.database.transaction(sides.tenant, sides.fence) as connection:
                await _refuse(connection, sides.tenant, row, refusal)
        return True


CLASHES = "Nothing was done, because of what is listed in left; undo_change_set(id, true) leaves it and does the rest."


async def _refuse(connection: Connection, tenant: Any, row: ChangeSet, outcome: Mapping[str, Any]) -> None:
    await change_set_rows.store_undo(connection, tenant, replace(row, state="refused", outcome=outcome))


def _actor_of(row: ChangeSet) -> tuple[str, str]:
    return str(row.actor.get("kind", "app")), str(row.actor.get("name", "?"))


# with patterns one answer for all: the reason, or a beginning of an id, would tell of change sets elsewhere
_NOT_IN_SCOPE = {"code": "UNKNOWN_CHANGE_SET", "sentence": "There is no change set with this id that you can undo."}


def _request_of(request: Request, scope: Scope) -> UndoRequest:
    """*request*; within a scope it needs a whole id."""
    change_set, partial = request.arguments.get("change_set"), request.arguments.get("partial")
    if not isinstance(change_set, str) or not (scope.is_unlimited or parse_id(change_set)):
        raise UserError("The request names no change set.")
    actor = request.actor
    return UndoRequest(actor, change_set, partial=partial is True, id=request.id, only_of=actor, scope=scope)


def _facts_of(outcome: UndoOutcome) -> dict[str, Any]:
    return {"change_set": str(outcome.change_set) if outcome.change_set else None} | outcome.facts()


def _failure_of(error: MirrordError) -> dict[str, Any]:
    if isinstance(error, UnknownChangeSet):
        return {"code": "UNKNOWN_CHANGE_SET", "sentence": error.sentence}
    code = {UserError: "UNKNOWN_CHANGE_SET", Stale: "CONFLICT", TooSlow: "TOO_SLOW"}.get(type(error), "REFUSED")
    return {"code": code, "sentence": str(error)}
