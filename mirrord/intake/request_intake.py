"""Requests from files: each is taken in once, as it is then; later changes of its file have no effect."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from mirrord.commands.core.failure import Failed
from mirrord.db import approval_rows
from mirrord.db.approval_rows import StoredRequest
from mirrord.domain.approval import (
    APPROVALS_FOLDER,
    REQUEST_LIFETIME,
    Answer,
    Preview,
    Request,
    RequestState,
    input_facts,
)
from mirrord.domain.trust import DEFAULTS, Trust
from mirrord.errors import Busy, Damaged, Refused
from mirrord.intake.marked_files import Marks, PathProblems
from mirrord.intake.request_execution import TenantContext, failure_facts, preview_request
from mirrord.markdown.frontmatter.record_text import check_storable
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.write import request_files
from mirrord.mirror.write.tree_locks import records_lock

PROBLEM_CODE = "approval"  # of problems
KEPT_SECONDS = (
    REQUEST_LIFETIME.total_seconds() + 30 * 86_400.0
)  # seconds after which the file of a request is removed; its row stays

CLEAN_SECONDS = 3600.0  # seconds between two searches for old files


@dataclass(slots=True)
class RequestIntake:
    """Looks at the files of one mirror's requests. Problems are listed by path."""

    desk: TenantContext
    marks: Marks = field(default_factory=lambda: Marks(_is_request))
    _problems: PathProblems = field(init=False)
    _stats_seen: dict[str, Stat] = field(default_factory=dict)
    _cleaned_at: float = -CLEAN_SECONDS  # by the monotonic clock

    def __post_init__(self) -> None:
        self._problems = PathProblems(self.desk.sides, PROBLEM_CODE)

    async def accept_marked(self) -> bool:
        """
        Look at marked files; returns whether a file was looked at. Busy ones are marked again. Raises Unavailable.
        """
        if self.marks.is_empty:
            return False
        await self._problems.load()
        busy, looked_at = set[str](), set[str]()

        async def look(path: str) -> None:
            looked_at.add(path)
            try:
                await self._look_at(path)
            except Busy:  # the other files need not wait for this open one
                busy.add(path)

        try:
            await self.marks.look_at_marked(self._look_around, look)
        finally:
            for path in busy:
                self.marks.mark(path)
        return bool(looked_at)

    async def _look_around(self) -> None:
        """Mark changed files; remove old ones, and staged files that no request needs."""
        try:
            stats = await asyncio.to_thread(request_files.list_files, self.desk.sides.tree)
        except (Refused, OSError):
            await self._problems.report(
                APPROVALS_FOLDER,
                f"{APPROVALS_FOLDER!r} cannot be looked at; it has to be a directory of the tree itself.",
            )
            return
        for path in (path for path, stat in stats.items() if self._stats_seen.get(path) != stat):
            self.marks.mark(path)
        self._stats_seen = stats
        for path in self._problems.paths - stats.keys():
            await self._problems.clear(path)
        if time.monotonic() - self._cleaned_at > CLEAN_SECONDS:
            old = {path for path, stat in stats.items() if time.time() - stat.mtime_ns / 1e9 > KEPT_SECONDS}
            await asyncio.to_thread(self._clean_up, old)
            self._cleaned_at = time.monotonic()

    def _clean_up(self, old: set[str]) -> None:
        tree, needed = self.desk.sides.tree, set()
        for request, answer in request_files.read_all(tree):
            if answer.state in (RequestState.PENDING, RequestState.APPROVED):
                needed |= {source.digest.hex() for source in request.inputs.values()}
            elif request_files.path_of(request.id) in old:
                request_files.remove(tree, request.id)
        request_files.remove_orphans(tree, needed)

    async def _look_at(self, path: str) -> None:
        sides = self.desk.sides
        content = await asyncio.to_thread(request_files.read, sides.tree, path)
        if content is None:
            await self._problems.clear(path)
            return
        if isinstance(content, str):
            await self._problems.report(path, f"{content}; it is passed over.")
            return
        request, answer = content
        async with sides.database.transaction(sides.tenant) as connection:
            stored = (await approval_rows.load_requests(connection, sides.tenant, [request.id])).get(request.id)
        if stored is not None:
            await self._compare_with_row(path, request, answer, stored)
        elif answer.state is RequestState.PENDING:
            await self._accept(path, request)

    async def _compare_with_row(self, path: str, request: Request, answer: Answer, stored: StoredRequest) -> None:
        """Compare a file with its row, which counts: another request is a problem, another answer is corrected."""
        if stored.mirror != self.desk.sides.mirror:
            await self._problems.report(
                path, f"{path!r} was asked for in another mirror; what is in this tree counts for nothing."
            )
        elif request.digest != stored.digest:
            sentence = f"{path!r} was changed after it was taken in; that counts for nothing."
            await self._problems.report(
                path, f"{sentence} `mirrord approvals show {stored.id}` shows what was asked for."
            )
        else:
            await self._problems.clear(path)
            if answer.state != stored.state and (stored.is_outcome_written or stored.state is RequestState.PENDING):
                await self.answer(stored)

    async def _accept(self, path: str, request: Request) -> None:
        desk = self.desk
        try:
            desk.check_author(request)
            inputs = {name: input_facts(source) for name, source in request.inputs.items()}
            check_storable({"arguments": dict(request.arguments), "inputs": inputs, "bases": dict(request.bases)})
        except (Refused, Damaged) as error:
            await self._problems.report(path, f"{path!r} is no request that counts: {error}")
            return
        await self._problems.clear(path)
        try:
            await self._check_count(request)
            preview = await asyncio.to_thread(preview_request, desk, request)
        except Failed as failed:
            await asyncio.to_thread(
                self._write_answer, request, Answer(RequestState.FAILED, failure=failure_facts(failed))
            )
            return
        await self._store(request, preview)

    async def _store(self, request: Request, preview: Preview) -> None:
        """Store a new request, and write the row into its file. A change set has the level of its highest step."""
        desk, sides = self.desk, self.desk.sides
        own_level = desk.config.agents.trust.get(request.command, DEFAULTS[request.command])
        level = max(own_level, Trust[str(preview.facts.get("needs", Trust.SUGGEST.name))])
        async with sides.database.transaction(sides.tenant, sides.fence) as connection:
            await approval_rows.add_request(connection, sides.tenant, sides.mirror, request, preview, level)
        async with sides.database.transaction(sides.tenant) as connection:
            stored = (await approval_rows.load_requests(connection, sides.tenant, [request.id]))[request.id]
        await self.answer(stored)

    async def _check_count(self, request: Request) -> None:
        sides, limit = self.desk.sides, self.desk.config.agents.limits.pending
        async with sides.database.transaction(sides.tenant) as connection:
            count = await approval_rows.count_pending(connection, sides.tenant, request.actor, request.scope)
        if limit and count >= limit:
            sentence = f"{count} requests wait for a person already; there may be {limit}."
            raise Failed("TOO_MANY_PENDING", "busy", sentence, "Let the person decide about them first.")

    async def answer(self, stored: StoredRequest) -> None:
        """Write a request's row into its file, without the token, which is no longer needed."""
        await asyncio.to_thread(self._write_answer, stored.request, _answer_of(stored))

    def _write_answer(self, request: Request, answer: Answer) -> None:
        tree = self.desk.sides.tree
        with records_lock(tree, patience=10.0):
            self.desk.sides.check_lease()
            with suppress(Busy):  # an open file does not delay its outcome
                before = request_files.read(tree, request_files.path_of(request.id))
                if isinstance(before, tuple) and before[1].state is answer.state:
                    answer = replace(answer, delivered_at=before[1].delivered_at)
            request_files.write(tree, replace(request, token=None), answer)


def _is_request(path: str) -> bool:
    return path.startswith(f"{APPROVALS_FOLDER}/")


def _answer_of(stored: StoredRequest) -> Answer:
    outcome = stored.outcome or {}
    return Answer(
        state=stored.state,
        expires_at=stored.expires_at,
        preview=stored.preview,
        result=outcome.get("result"),
        failure=_commented(outcome.get("failure"), stored) or _refusal_of(stored),
        delivered_at=datetime.now(UTC) if "renewed_by" in outcome else None,  # another request tells what becomes of it
    )


def _commented(failure: Mapping[str, Any] | None, stored: StoredRequest) -> Mapping[str, Any] | None:
    """The failure of an accepted change set, with the person's comment, which its agent reads there only."""
    reason = (stored.decision or {}).get("reason")
    if failure is None or not reason or "change_set" not in stored.arguments:
        return failure
    return {**failure, "sentence": f"{failure['sentence']} The person's comment: {reason}"}


def _refusal_of(stored: StoredRequest) -> Mapping[str, Any] | None:
    """The failure of a request that was not run: expired or rejected; None: neither."""
    if stored.state is RequestState.EXPIRED:
        return failure_facts(_expiry_of(stored))
    if stored.state is not RequestState.REJECTED:
        return None
    decision = stored.decision or {}
    reason = f": {decision['reason']}" if decision.get("reason") else "."
    sentence = f"{decision.get('by', {}).get('name', 'A person')} rejected this{reason}"
    return failure_facts(
        Failed("REJECTED", "forbidden", sentence, "Do not ask again for the same; ask what is wanted instead.")
    )


def _expiry_of(stored: StoredRequest) -> Failed:
    if "change_set" in stored.arguments and stored.expires_at > datetime.now(UTC):
        sentence = "The change set ended before a person decided about it."
        return Failed("EXPIRED", "conflict", sentence, "Call begin_changes for a new one.")
    sentence = "No person decided about this in time, so it was not done."
    return Failed("EXPIRED", "unavailable", sentence, "Ask the person; then make the same call again.")
