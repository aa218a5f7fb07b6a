"""One tenant's mirror at work, and the watcher that tells each mirror what changed in its tree."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from mirrord import app
from mirrord.daemon.question_desk import QuestionDesk
from mirrord.db import mirror_leases
from mirrord.db.database import Database
from mirrord.documents.derivation_schedule import DerivationLoop
from mirrord.domain.approval import APPROVALS_FOLDER as REQUESTS
from mirrord.domain.event import EVENTS_FOLDER
from mirrord.domain.measures import Work
from mirrord.domain.place import RECORDS
from mirrord.errors import Unavailable
from mirrord.intake.approver import Approver
from mirrord.intake.event_derivation import Outbox
from mirrord.intake.event_files import EventReader
from mirrord.mirror.engine_desk import EngineDesk, write_answer
from mirrord.mirror.heartbeat import COMPARE_SUFFIX, DONE_SUFFIX, REQUESTS_DIRECTORY, TAKEN_SUFFIX, list_requests
from mirrord.mirror.seen_files import is_complete
from mirrord.mirror.tree.ignore_rules import PATTERN_FILES
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY, may_be_synced
from mirrord.mirror.tree_watch import watch
from mirrord.mirror.write.question_files import QUESTIONS_FOLDER
from mirrord.sync.engine import Engine
from mirrord.sync.timing import pause, run_some_at_once


@dataclass(slots=True)
class RunningMirror:
    """One tenant's running mirror."""

    opened: app.OpenMirror
    engine: Engine
    consequences: DerivationLoop
    events: EventReader
    outbox: Outbox
    approver: Approver
    questions: QuestionDesk

    def mark(self, path: str) -> None:
        """Mark a change at *path*; the root's path is ""."""
        if not path:
            self.look_at_files()
        elif path in PATTERN_FILES or may_be_synced(path):
            self.engine.queue.mark([path], noticed=time.monotonic())
        if path == RECORDS or path.startswith(EVENTS_FOLDER):
            self.events.mark(path)
        if path == RECORDS or path.startswith(REQUESTS):
            self.approver.mark(path)
        if path == RECORDS or path.startswith(QUESTIONS_FOLDER):
            self.questions.look_at_files()

    def is_complete(self, path: str) -> bool:
        """Whether the change at *path* is complete, not half of a rename or of a save."""
        looker = self.engine.sides.looker
        return path != "" and is_complete(looker.tree, looker.index, looker.ignore, path)

    def look_everywhere(self) -> None:
        """Mark the whole tree as possibly changed."""
        self.look_at_files()
        self.questions.wake()

    def look_at_files(self) -> None:
        """Look at all files, although nothing tells of a change: news may be lost."""
        self.engine.request_scan()
        self.events.mark_everywhere()
        self.approver.look_everywhere()
        self.questions.look_at_files()

    def reread(self) -> None:
        """Read all files and rows again, also those that look unchanged, and rows of which news may be lost."""
        self.engine.request_reread()
        self.approver.look_at_rows()
        self.outbox.due.set()
        self.questions.wake()

    def mark_both_sides(self, *, thoroughly: bool) -> None:
        """Look at both sides; thoroughly: read unchanged-looking files, too."""
        self.look_everywhere()
        self.engine.notify()
        self.engine.request_acknowledgement()
        if thoroughly:
            self.engine.request_reread()
            self.engine.request_comparison()

    @property
    def works_beside_engine(self) -> bool:
        """Whether long work is under way that is not the engine's."""
        return self.consequences.long_work is not None or self.approver.long_work is not None

    def long_work(self) -> list[Work]:
        """The long work under way."""
        others = (self.consequences.long_work, self.approver.long_work)
        return [*self.engine.list_long_work(), *(work for work in others if work is not None)]

    @property
    def idle(self) -> bool:
        """Whether no change known now waits."""
        return self.engine.is_idle and self.events.is_idle and self.approver.idle


CLOSED_TOGETHER = 8  # mirrors that are closed at the same time: each waits for the disk


async def close_mirrors(database: Database, mirrors: Collection[RunningMirror]) -> None:
    """Release the leases of mirrors at which nothing works any more, and then their locks."""
    leases = [lease for mirror in mirrors if (lease := mirror.opened.sides.lease) is not None]
    if leases:
        with suppress(Unavailable):
            await mirror_leases.release_leases(database, leases)
    await run_some_at_once([asyncio.to_thread(mirror.opened.close) for mirror in mirrors], CLOSED_TOGETHER)


CHECK_SECONDS = 0.02  # seconds between checks whether everything is done


class MarkAll(Protocol):
    """Mark everything that may have changed; thoroughly: read unchanged-looking files, too."""

    def __call__(self, *, thoroughly: bool) -> None: ...


async def answer_request(request: Path, mark_all: MarkAll, is_idle: Callable[[], bool], stop: asyncio.Event) -> None:
    """Carry out one request, and mark it done when no change known by then waits. Returns on *stop* as well."""
    accepted = request.with_suffix(TAKEN_SUFFIX)
    try:
        request.rename(accepted)
    except FileNotFoundError:  # accepted already, or given up
        return
    mark_all(thoroughly=request.suffix == COMPARE_SUFFIX)
    while not (is_idle() or stop.is_set()):
        await pause(stop, CHECK_SECONDS)
    with suppress(FileNotFoundError):
        accepted.rename(request.with_suffix(DONE_SUFFIX))


class RequestDesk(Protocol):
    """Notices what the daemon has to look at, and answers the requests of commands."""

    async def run(self) -> None: ...

    def answer_requests(self) -> None: ...


class Watching:
    """
    Watches the directory of all mirrors.

    mirrors: the running mirrors by the name of their directory. degraded: gets a sentence while watching is limited.
    """

    def __init__(
        self,
        root: Path,
        mirrors: Mapping[str, RunningMirror],
        degraded: dict[str, str],
        stop: asyncio.Event,
        may_answer: Callable[[], bool] = lambda: True,
        desk: EngineDesk | None = None,
    ) -> None:
        """
        desk: of an engine process that shares the directory with others; None: all of it is this daemon's.

        may_answer: whether requests can be answered yet, because all trees are open; called before each look at them.
        """
        self._root = root
        self._mirrors = mirrors
        self._degraded = degraded
        self._stop = stop
        self._desk = desk
        self._may_answer = may_answer
        self._answer_tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Watch until stop."""
        select = self._desk.watched_directories if self._desk is not None else None
        async for batch in watch(self._root, self._stop, self._report, self._are_complete, select):
            if batch is None:
                for mirror in self._mirrors.values():
                    mirror.look_everywhere()
                continue
            self._distribute(batch)

    def answer_requests(self) -> None:
        """Answer commands that ask the daemon to look, and to report when it has caught up. On an error they wait."""
        if not self._may_answer():
            return
        try:
            requests = list_requests(self._desk.directory if self._desk is not None else self._root)
        except OSError:  # no descriptor is free, for instance; every heartbeat tries again
            return
        for request in requests:
            is_idle = self._is_idle if self._desk is None else partial(self._report_idle, request)
            task = asyncio.get_running_loop().create_task(answer_request(request, self._mark_all, is_idle, self._stop))
            self._answer_tasks.add(task)
            task.add_done_callback(self._answer_tasks.discard)

    def _report(self, sentence: str | None) -> None:
        if sentence is None:
            self._degraded.pop("watch", None)
        else:
            self._degraded["watch"] = sentence

    def _are_complete(self, batch: set[str]) -> bool:
        return all(map(self._is_complete, batch))

    def _is_complete(self, path: str) -> bool:
        name, _, inner_path = path.partition("/")
        mirror = self._mirrors.get(name)
        return mirror is None or mirror.is_complete(inner_path)

    def _distribute(self, batch: set[str]) -> None:
        for path in batch:
            name, _, inner_path = path.partition("/")
            if name == STATE_DIRECTORY:
                if self._desk is not None or inner_path.partition("/")[0] in ("", REQUESTS_DIRECTORY):
                    self.answer_requests()  # else it is our own heartbeat
            elif (mirror := self._mirrors.get(name)) is not None:
                mirror.mark(inner_path)

    def _mark_all(self, *, thoroughly: bool) -> None:
        for mirror in self._mirrors.values():
            mirror.mark_both_sides(thoroughly=thoroughly)

    def _is_idle(self) -> bool:
        return all(mirror.idle for mirror in self._mirrors.values())

    def _report_idle(self, request: Path) -> bool:
        """Whether all is done, with the names of its mirrors in the request: another process may have the others."""
        started = {name: mirror for name, mirror in self._mirrors.items() if mirror.engine.is_started}
        is_idle = all(mirror.idle for mirror in started.values())
        if is_idle:
            halted = (key.removeprefix("halted ") for key in self._degraded if key.startswith("halted "))
            write_answer(request.with_suffix(TAKEN_SUFFIX), {*started, *halted})
        return is_idle
