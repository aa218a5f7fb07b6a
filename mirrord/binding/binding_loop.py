"""Runs the bindings of a daemon: looks at the queue of changed rows, and compares all rows from time to time."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from uuid import UUID

import psycopg

from mirrord.binding.app_row_writes import APP_REFUSALS, is_refusal
from mirrord.binding.intake import NeedsCare
from mirrord.binding.known_binding import KnownBinding
from mirrord.binding.passes import Comparison, PassOrder, PassReport, run_pass
from mirrord.binding.row_waits import RowWaits
from mirrord.db import open_issues
from mirrord.db.bindings import binding_rows, due_bindings
from mirrord.db.bindings.binding_rows import DueBinding, FeedPlace
from mirrord.db.database import Database, set_tenant
from mirrord.db.open_issues import Problem
from mirrord.domain.entry import MirrorId, TenantId, parse_id
from mirrord.errors import Halted, Locked, Stale, Unavailable, UserError
from mirrord.sync.decisions.guard import RECENT_SECONDS
from mirrord.sync.timing import Backoff, pause

log = logging.getLogger(__name__)

# A trigger notifies where no transaction of the app can fail by it; the queue is looked at all the same.
BUSY_SECONDS = 0.03  # seconds between two looks at the queue, for BUSY_FOR_SECONDS after a change
BUSY_FOR_SECONDS = 5.0
LOOK_SECONDS = 0.1  # seconds between two looks while a binding runs
REST_SECONDS = 0.01  # seconds after a pass in which no changed page leads to another one
KNOWN_SECONDS = 2 * LOOK_SECONDS  # seconds after a look in which a notification is followed without another one
IDLE_SECONDS = 10.0  # seconds between two looks for a binding; one that is added or resumed notifies
TRIES_UNTIL_LISTED = 5  # failures in a row, of some ten seconds, until the list of problems has why a binding waits


@dataclass(slots=True)
class _Course:
    """
    What happened with one binding.

    deletions: times and numbers of the last ones. waits_until: another transaction holds what it has to write.
    row_waits: for transactions of the app that hold rows.
    earlier: as of PassOrder. is_reading: rows of the app are only read, so pages that are not bound lead to nothing.
    is_idle: the last pass had nothing to look at. failures: of the last passes, in a row. is_listed: the list of
    problems has why it waits; None: it may.
    """

    comparison: Comparison | None = None
    place: FeedPlace | None = None
    deletions: deque[tuple[float, int]] = field(default_factory=deque)
    backoff: Backoff = field(default_factory=Backoff)
    waits_until: float = 0.0
    row_waits: RowWaits = field(default_factory=RowWaits)
    earlier: KnownBinding | None = None
    is_reading: bool = False
    is_idle: bool = False
    failures: int = 0
    is_listed: bool | None = None

    @property
    def recent_deletions(self) -> int:
        """How many pages were deleted within RECENT_SECONDS."""
        while self.deletions and time.monotonic() - self.deletions[0][0] > RECENT_SECONDS:
            self.deletions.popleft()
        return sum(count for _, count in self.deletions)


@dataclass(frozen=True, slots=True)
class Notes:
    """
    What was noted since the last look.

    written: bindings of which apps wrote rows; of_apps: tenants of such, where triggers of an earlier version do not
    say which. of_pages: tenants with pages that others changed. is_look_needed: only a look tells what such pages mean.
    """

    written: Set[UUID] = frozenset()
    of_apps: Set[TenantId] = frozenset()
    of_pages: Set[TenantId] = frozenset()
    is_notified: bool = False
    is_look_needed: bool = False


class NotedTenants:
    """
    The tenants of which apps wrote rows, or others pages, as notifications tell.

    noted: set while there are some. from_apps: set while apps wrote rows. bound: the tenants with running bindings.
    reading: those of them with bindings that only read. worked_at: when a pass ended that counts: note_pass().
    """

    def __init__(self) -> None:
        self.noted = asyncio.Event()
        self.from_apps = asyncio.Event()
        self.bound: Set[TenantId] = frozenset()
        self.reading: Set[TenantId] = frozenset()
        self.worked_at = -BUSY_SECONDS
        self._idle_at = -BUSY_SECONDS
        self._written: set[UUID] = set()
        self._of_apps: set[TenantId] = set()
        self._of_pages: set[TenantId] = set()
        self._is_look_needed = False

    def add(self, tenant: TenantId, binding: str = "") -> None:
        """An app wrote a row of *tenant*. binding: its id; "": not known, as from a trigger of an earlier version."""
        subject = parse_id(binding)
        if subject is not None:
            self._written.add(subject)
        else:
            self._of_apps.add(tenant)
        self.from_apps.set()
        self.noted.set()

    def add_pages(self, tenant: TenantId) -> None:
        """
        A page of *tenant* changed.

        While passes follow each other, most of it is what they wrote, and to bindings that only read most of it means
        nothing: a look, which is cheaper than a pass, tells.
        """
        if tenant not in self.bound:
            return
        if tenant in self.reading or time.monotonic() - self.worked_at < BUSY_SECONDS:
            self._is_look_needed = True
        else:
            self._of_pages.add(tenant)
        self.noted.set()

    def note_pass(self, now: float, *, is_idle: bool) -> None:
        """
        A pass ended at *now*. is_idle: it had nothing to look at, as after a document that was derived.

        What changes after such a pass is none of its writing, and need not wait; but of several in a row, only after
        the first.
        """
        if not is_idle or now - self._idle_at < BUSY_SECONDS:
            self.worked_at = now
        self._idle_at = now if is_idle else -BUSY_SECONDS

    @property
    def rest_seconds(self) -> float:
        """How long pages that changed wait, so that a program which writes many of them has no pass after each."""
        return self.worked_at + REST_SECONDS - time.monotonic()

    def take(self) -> Notes:
        """What was added since the last call."""
        notes = Notes(self._written, self._of_apps, self._of_pages, self.noted.is_set(), self._is_look_needed)
        self._written, self._of_apps, self._of_pages, self._is_look_needed = set(), set(), set(), False
        self.noted.clear()
        self.from_apps.clear()
        return notes


def _is_of_statement(error: Unavailable) -> bool:
    """Whether Postgres answered: a trigger or a table of one app may be the cause, and other bindings go on."""
    return isinstance(error.__cause__, psycopg.Error) and error.__cause__.sqlstate is not None


class BindingLoop:
    """
    The bindings of the tenants that a daemon works on.

    tenants: their names by id, as they are now.
    """

    def __init__(
        self,
        database: Database,
        tenants: Callable[[], Mapping[TenantId, str]],
        stop: asyncio.Event,
        noted: NotedTenants,
    ) -> None:
        self._database = database
        self._tenants = tenants
        self._stop = stop
        self._noted = noted
        self._courses: dict[UUID, _Course] = {}
        self._changed_at = -BUSY_FOR_SECONDS
        self._running: list[DueBinding] = []  # as the last look found them
        self._looked_at = -KNOWN_SECONDS

    async def run(self) -> None:
        """Work until the daemon stops. While Postgres is out of reach, changes wait in the app's tables."""
        backoff = Backoff()
        while not self._stop.is_set():
            try:
                await self._look(self._noted.take())
            except (Unavailable, psycopg.Error) as error:
                log.warning("bindings_wait", extra={"error": str(error)})
                await pause(self._stop, backoff.next_pause_seconds())
            else:
                backoff.reset()
                await pause(self._stop, self._pause_seconds(), self._noted.noted)
                if self._noted.noted.is_set() and self._noted.rest_seconds > 0:
                    await pause(self._stop, self._noted.rest_seconds, self._noted.from_apps)

    def writer_of(self, tenant: TenantId) -> KnownBinding | None:
        """The only running binding of *tenant* that writes rows of its app; None: none or several, or it waits."""
        reading = self._reading
        writers = [due for due in self._running if due.tenant == tenant and due.id not in reading]
        course = self._courses.get(writers[0].id) if len(writers) == 1 else None
        if course is None or course.comparison is not None or time.monotonic() < course.waits_until:
            return None
        return course.earlier

    def _pause_seconds(self) -> float:
        if not self._running:
            return IDLE_SECONDS
        return BUSY_SECONDS if time.monotonic() - self._changed_at < BUSY_FOR_SECONDS else LOOK_SECONDS

    async def _look(self, notes: Notes) -> None:
        """
        Work on the binding that a notification was of, or look at all bindings and work on those that need it.

        Where a tenant has several, only a look tells which of them a page was of, but for those that only read. A pass
        finds out by itself whether the binding runs.
        """
        if notes.is_notified:
            for course in self._courses.values():
                course.row_waits.note_notification()
        tenants, candidates = dict(self._tenants()), self._noted_bindings(notes)
        is_known = len(candidates) == 1 and time.monotonic() - self._looked_at < KNOWN_SECONDS
        if is_known and candidates[0].tenant in tenants:
            due = replace(candidates[0], is_due=False, has_changes=True)
            await self._work_or_wait(due, tenants[due.tenant])
        else:
            await self._look_at_all(tenants)

    def _noted_bindings(self, notes: Notes) -> list[DueBinding]:
        """The bindings that *notes* may be of; none, if a look has to tell."""
        if notes.is_look_needed:
            return []
        reading = self._reading
        return [
            due
            for due in self._running
            if due.id in notes.written
            or due.tenant in notes.of_apps
            or (due.tenant in notes.of_pages and due.id not in reading)
        ]

    async def _look_at_all(self, tenants: Mapping[TenantId, str]) -> None:
        self._looked_at = time.monotonic()
        look = due_bindings.Look(tenants.keys(), bool(self._running), list(self._reading))
        # in place of the former ones as a whole: saves ask meanwhile which binding writes their row
        self._running = await due_bindings.load_due(self._database, look) if tenants else []
        self._note_bound(self._reading)
        self._forget_comparisons({due.id for due in self._running})
        for due in self._running:
            if (due.is_due or due.has_changes) and not self._stop.is_set():
                await self._work_or_wait(due, tenants[due.tenant])

    @property
    def _reading(self) -> Set[UUID]:
        """The bindings of which the last pass found that they only read."""
        return {binding for binding, course in self._courses.items() if course.is_reading}

    def _note_bound(self, reading: Set[UUID]) -> None:
        self._noted.bound = {due.tenant for due in self._running}
        self._noted.reading = self._noted.bound - {due.tenant for due in self._running if due.id not in reading}

    def _forget_comparisons(self, running: Set[UUID]) -> None:
        """A binding that is paused compares all rows when it goes on: what happens until then is in no queue."""
        for binding in self._courses.keys() - running:
            self._courses[binding].comparison = None

    async def _work_or_wait(self, due: DueBinding, tenant: str) -> None:
        """Work on a binding; one that a transaction holds up waits by itself, and the others go on."""
        course = self._courses.setdefault(due.id, _Course())
        if time.monotonic() < max(course.waits_until, course.row_waits.until):
            return
        try:
            await self._work_on(due, tenant)
        except (Locked, Unavailable) as error:
            if not isinstance(error, Locked) and not _is_of_statement(error):
                raise
            log.warning("bindings_wait", extra={"binding": due.name, "error": str(error)})
            await self._note_failure(due, course, error)
        else:
            await self._note_success(due, course)
        finally:
            self._noted.note_pass(time.monotonic(), is_idle=course.is_idle)

    async def _work_on(self, due: DueBinding, tenant: str) -> None:
        course = self._courses.setdefault(due.id, _Course())
        course.is_idle = False
        if due.is_due and course.comparison is None:
            course.comparison = Comparison()
        order = PassOrder(due, tenant, course.recent_deletions, course.comparison, course.place, earlier=course.earlier)
        try:
            report = await self._run_pass(order)
        except Stale:
            return
        except (Halted, UserError) as error:
            await self._halt_binding(due, str(error))
            return
        except psycopg.Error as error:
            reason = error.diag.message_primary or str(error)
            await self._halt_binding(
                due, f"The rows of the app cannot be carried over: {reason}. Pages stay as they are."
            )
            return
        except (ValueError, TypeError, RecursionError) as error:  # of a row that was not foreseen: the others go on
            await self._halt_binding(due, f"A row of the app cannot be read: {error}. Pages stay as they are.")
            return
        course.comparison, course.place, course.earlier = report.comparison, report.place, report.binding
        course.is_reading, course.is_idle = report.is_reading, report.is_idle
        course.row_waits.note_pass(time.monotonic(), is_waiting=report.waits)
        if report.deleted:
            course.deletions.append((time.monotonic(), report.deleted))
        if report.written or report.deleted or report.has_more:
            self._changed_at = time.monotonic()
            log.info("binding_pass", extra={"tenant": tenant, "written": report.written, "deleted": report.deleted})

    async def _run_pass(self, order: PassOrder) -> PassReport:
        """One pass; after a refusal at its end once more, with each row checked by itself."""
        try:
            return await run_pass(self._database, order)
        except NeedsCare:
            return await run_pass(self._database, replace(order, is_careful=True))
        except (psycopg.DatabaseError, UserError) as error:
            if not (is_refusal(error) or isinstance(error.__cause__, APP_REFUSALS)):
                raise
            return await run_pass(self._database, replace(order, is_careful=True))

    async def _halt_binding(self, due: DueBinding, sentence: str) -> None:
        self._courses.pop(due.id, None)
        log.warning("binding_halted", extra={"binding": due.name})  # its reason may quote a row
        async with self._database.connection() as connection:
            await set_tenant(connection, due.tenant)
            await binding_rows.set_state(connection, due.tenant, due.id, "halted", sentence)
            problem = Problem(due.name, "bound-halt", f"The binding {due.name!r} is halted: {sentence}")
            await open_issues.store_problems(connection, due.tenant, MirrorId(due.id), [problem])

    async def _note_failure(self, due: DueBinding, course: _Course, error: Exception) -> None:
        """The binding is looked at again after a pause; a person is told why if that happens again and again."""
        course.waits_until = time.monotonic() + course.backoff.next_pause_seconds()
        course.failures += 1
        if course.failures < TRIES_UNTIL_LISTED or course.is_listed:
            return
        async with self._database.connection() as connection:
            await set_tenant(connection, due.tenant)
            problem = Problem(due.name, "bound-wait", f"The binding {due.name!r} waits: {error}")
            await open_issues.store_problems(connection, due.tenant, MirrorId(due.id), [problem])
        course.is_listed = True

    async def _note_success(self, due: DueBinding, course: _Course) -> None:
        course.backoff.reset()
        course.failures = 0
        if course.is_listed is False:  # None: a daemon before may have listed it
            return
        async with self._database.connection() as connection:
            await set_tenant(connection, due.tenant)
            await open_issues.delete_problems(connection, due.tenant, MirrorId(due.id), [(due.name, "bound-wait")])
        course.is_listed = False
