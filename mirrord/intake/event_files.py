"""Event files: what commands appended to `.records/events` goes into the table `event`, each event once."""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial

from mirrord.db import change_set_rows, event_rows
from mirrord.domain.event import EVENTS_FOLDER, Event, decode_event
from mirrord.errors import Damaged, Fenced, Refused, Unavailable, reason_of
from mirrord.intake.change_events import is_claim
from mirrord.intake.marked_files import Marks, PathProblems
from mirrord.intake.version_authors import VersionAuthors
from mirrord.markdown.frontmatter.record_text import check_storable
from mirrord.mirror.tree.tree_layout import is_visible
from mirrord.mirror.write.append_only_files import Cursor, Tail, read_tail
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.timing import pause

RETRY_SECONDS = 0.5  # seconds of pause after Postgres was out of reach, or the lease lost
PAGES_FIRST_SECONDS = 0.1  # seconds for which lines wait until the engine is idle
ENGINE_CHECK_SECONDS = 0.003  # seconds until the first look whether it is; each further one comes after twice as long
PROBLEM_CODE = "event"  # of the problem that lists bad lines
_SUFFIX = ".jsonl"
_COUNTER = "events"  # cache key of the position in each file


def is_event_file(path: str) -> bool:
    """Whether *path* is an event file."""
    above, _, name = path.rpartition("/")
    return above == EVENTS_FOLDER and is_visible(name) and name.endswith(_SUFFIX)


@dataclass(slots=True)
class EventReader:
    """
    Reads the event files of one mirror. The positions are only a cache: ids make reading a line twice harmless.

    Lines that are not events are skipped and listed as one problem per file.

    sources: the directory of sources. is_engine_idle: whether no changed page waits to be carried over.
    """

    sides: Sides
    sources: str
    is_engine_idle: Callable[[], bool]
    _read_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _marks: Marks = field(default_factory=lambda: Marks(is_event_file))
    _is_working: bool = False
    _wake_event: asyncio.Event = field(default_factory=asyncio.Event)
    _cursors: dict[str, Cursor] = field(default_factory=dict)
    _problems: PathProblems = field(init=False)
    _is_loaded: bool = False
    _authors: VersionAuthors = field(init=False)

    def __post_init__(self) -> None:
        self._problems = PathProblems(self.sides, PROBLEM_CODE)
        self._authors = VersionAuthors(self.sides)

    @property
    def is_idle(self) -> bool:
        """Whether every line marked so far was read."""
        return self._marks.is_empty and not self._is_working

    @property
    def has_named(self) -> bool:
        """Whether every line marked so far was read, and its version has its author."""
        return self.is_idle and self._authors.is_done

    def mark(self, path: str) -> None:
        """Mark the file at *path*, or all files below a directory, as possibly grown."""
        self._marks.mark(path)
        self._wake_event.set()

    def mark_everywhere(self) -> None:
        """Mark all files as possibly grown."""
        self._marks.mark_everywhere()
        self._wake_event.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop*."""
        while not stop.is_set():
            self._wake_event.clear()
            seconds: float | None = None
            try:
                await self._wait_for_pages(stop)
                await self.read_marked()
                await self._authors.name()
                seconds = self._authors.retry_seconds
            except (Unavailable, Fenced):
                seconds = RETRY_SECONDS
            await pause(stop, seconds, self._wake_event)

    async def _wait_for_pages(self, stop: asyncio.Event) -> None:
        """Let the page of a line go first: its reader waits for it, and then its author can be named at once."""
        deadline, seconds = time.monotonic() + PAGES_FIRST_SECONDS, ENGINE_CHECK_SECONDS
        while not (self.is_engine_idle() or stop.is_set() or time.monotonic() > deadline):
            await pause(stop, seconds)
            seconds *= 2

    async def read_marked(self) -> None:
        """Read new lines of marked files; after a failure a file stays marked. Raises Unavailable, Fenced."""
        async with self._read_lock:
            if self.sides.lease is None:
                raise Fenced("The lease is not held; events wait.")
            self._is_working = True
            try:
                await self._load_positions()
                await self._marks.look_at_marked(self._mark_all_files, self._read_lines)
            finally:
                self._is_working = False

    async def _load_positions(self) -> None:
        """Load the problems and positions of an earlier daemon, once."""
        if self._is_loaded:
            return
        await self._problems.load()
        stored: str | None = await asyncio.to_thread(self.sides.state.get, _COUNTER)
        cursors = json.loads(stored or "{}")
        self._cursors = {path: Cursor(**cursor) for path, cursor in cursors.items()}
        self._is_loaded = True

    async def _mark_all_files(self) -> None:
        """Mark every file, and forget files that are gone."""
        try:
            files = await asyncio.to_thread(self._list_files)
        except (Refused, OSError) as error:
            await self._problems.report(EVENTS_FOLDER, f"{EVENTS_FOLDER!r} cannot be looked at: {reason_of(error)}")
            return
        for path in files:
            self._marks.mark(path)
        for path in self._cursors.keys() - files:
            del self._cursors[path]
        for path in self._problems.paths - files:
            await self._problems.clear(path)

    def _list_files(self) -> set[str]:
        try:
            names = self.sides.tree.list_stats(EVENTS_FOLDER)
        except (FileNotFoundError, NotADirectoryError):
            return set()
        return {path for name in names if is_event_file(path := f"{EVENTS_FOLDER}/{name}")}

    async def _read_lines(self, path: str) -> None:
        has_more = True
        while has_more:
            cursor = self._cursors.get(path)
            try:
                tail = await asyncio.to_thread(read_tail, self.sides.tree, path, cursor)
            except FileNotFoundError:
                self._cursors.pop(path, None)
                await self._problems.clear(path)
                return
            except (Refused, OSError) as error:
                await self._problems.report(path, f"{path!r} cannot be read: {reason_of(error)}")
                return
            has_more = tail.has_more
            if tail.cursor != cursor:
                await self._store_events(path, tail)

    async def _store_events(self, path: str, tail: Tail) -> None:
        sides = self.sides
        parsed, errors = await asyncio.to_thread(_parse_lines, tail, sides.name)
        if parsed:
            async with sides.database.transaction(sides.tenant, sides.fence) as connection:
                stored_events = await event_rows.load_stored_events(connection, sides.tenant, parsed)
                await event_rows.add_file_events(
                    connection, sides.tenant, parsed, partial(is_claim, sources=self.sources)
                )
                await change_set_rows.add_change_sets(connection, sides.tenant, parsed)
            # a file that is read again, as after an upgrade, renames no author of long ago
            self._authors.add(event for event in parsed if event.event_id not in stored_events)
        if tail.first_number == 1 and not errors:
            await self._problems.clear(path)
        elif errors and (tail.first_number == 1 or path not in self._problems.paths):
            await self._problems.report(
                path, f"{path!r}: {errors[0]}. It is passed over; every other line is taken in."
            )
        self._cursors[path] = tail.cursor
        cursors = {path: asdict(cursor) for path, cursor in self._cursors.items()}
        await asyncio.to_thread(sides.state.set, _COUNTER, json.dumps(cursors))


def _parse_lines(tail: Tail, tenant: str) -> tuple[list[Event], list[str]]:
    """The events, and a reason for each line that is none."""
    parsed, errors = [], []
    for number, line in enumerate(tail.lines, tail.first_number):
        if not line.strip():
            continue
        try:
            parsed.append(_parse_event(line, tenant))
        except (Damaged, ValueError, RecursionError) as error:
            errors.append(f"line {number} {_describe_error(error)}")
    return parsed, errors


def _parse_event(line: bytes, tenant: str) -> Event:
    event = decode_event(line)
    if event.tenant != tenant:
        raise ValueError("is of another tenant")
    if event.type.startswith("Approval"):
        raise ValueError("tells of an approval; those are accepted from the database only")
    check_storable({"type": event.type, "actor": [event.actor.kind, event.actor.name], "data": dict(event.data)})
    return event


def _describe_error(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError):
        return "is no JSON"
    return str(error)
