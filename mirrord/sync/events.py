"""Events from files: what commands appended to `.records/events` is taken into the table `event`, each event once."""

import asyncio
import json
import time
from dataclasses import asdict, dataclass, field
from functools import partial
from uuid import UUID

from mirrord.codec.records import check_storable
from mirrord.db import attention, events
from mirrord.db.attention import Problem
from mirrord.domain.event import FOLDER, Event, decode
from mirrord.errors import Damaged, Fenced, Refused, Unavailable, reason_of
from mirrord.mirror.layout import is_visible
from mirrord.mirror.tail import Cursor, Tail, read_tail
from mirrord.sync.marks import Marks
from mirrord.sync.page_events import is_claim
from mirrord.sync.pausing import pause
from mirrord.sync.sides import Sides

EVERY = 60.0  # seconds after which all files are looked at, whatever the watcher says
RETRY = 0.5  # seconds after Postgres was out of reach, or the lease lost
NAMING_SECONDS = 60.0  # for which the version that an event tells of is waited for
CODE = "event"  # of the problem that lists bad lines
_SUFFIX = ".jsonl"
_COUNTER = "events"  # in the cache: up to where each file was read


@dataclass(slots=True)
class EventReader:
    """
    Reads the event files of one mirror. Where it was is a cache: ids make reading a line twice harmless.

    Lines that are no events are listed as a problem, one a file, and passed over.
    """

    sides: Sides
    sources: str  # the directory of sources
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    _marks: Marks = field(default_factory=lambda: Marks(is_event_file))
    _working: bool = False
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _cursors: dict[str, Cursor] = field(default_factory=dict)
    _listed: dict[str, Problem] = field(default_factory=dict)
    _loaded: bool = False
    _unnamed: dict[UUID, float] = field(default_factory=dict)  # events whose version is not there yet, and until when

    @property
    def idle(self) -> bool:
        """Whether every line marked so far was read."""
        return self._marks.is_empty and not self._working

    def mark(self, path: str) -> None:
        """The file at *path* may have grown; of a directory, any file below it."""
        self._marks.mark(path)
        self._wake.set()

    def look_everywhere(self) -> None:
        """Any file may have."""
        self._marks.mark_everywhere()
        self._wake.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop*."""
        while not stop.is_set():
            self._wake.clear()
            seconds = EVERY
            try:
                await self.read_marked()
                await self._name_authors()
            except (Unavailable, Fenced):
                seconds = RETRY
            if self._unnamed:
                seconds = RETRY
            await pause(stop, seconds, self._wake)
            if not self._wake.is_set() and seconds == EVERY:
                self._marks.mark_everywhere()

    async def read_marked(self) -> None:
        """Take in what is new; what could not be stays marked. Raises Unavailable, Fenced."""
        async with self._reading:
            if self.sides.lease is None:
                raise Fenced("The lease is not held; events wait.")
            self._working = True
            try:
                await self._load()
                await self._marks.take(self._look_around, self._read)
            finally:
                self._working = False

    async def _load(self) -> None:
        """What an earlier daemon knew."""
        if self._loaded:
            return
        sides = self.sides
        async with sides.database.transaction(sides.tenant) as connection:
            listed = await attention.problems(connection, sides.tenant)
        self._listed = {problem.path: problem for problem in listed if problem.code == CODE}
        stored: str | None = await asyncio.to_thread(sides.state.get, _COUNTER)
        known = json.loads(stored or "{}")
        self._cursors = {path: Cursor(**cursor) for path, cursor in known.items()}
        self._loaded = True

    async def _look_around(self) -> None:
        """Mark every file; what is gone is forgotten."""
        try:
            files = await asyncio.to_thread(self._files)
        except (Refused, OSError) as error:
            await self._list(FOLDER, f"{FOLDER!r} cannot be looked at: {reason_of(error)}")
            return
        for path in files:
            self._marks.mark(path)
        for path in self._cursors.keys() - files:
            del self._cursors[path]
        for path in self._listed.keys() - files:
            await self._settle(path)

    def _files(self) -> set[str]:
        try:
            names = self.sides.tree.names(FOLDER)
        except (FileNotFoundError, NotADirectoryError):
            return set()
        return {path for name in names if is_event_file(path := f"{FOLDER}/{name}")}

    async def _read(self, path: str) -> None:
        more = True
        while more:
            known = self._cursors.get(path)
            try:
                tail = await asyncio.to_thread(read_tail, self.sides.tree, path, known)
            except FileNotFoundError:
                self._cursors.pop(path, None)
                await self._settle(path)
                return
            except (Refused, OSError) as error:
                await self._list(path, f"{path!r} cannot be read: {reason_of(error)}")
                return
            more = tail.more
            if tail.cursor != known:
                await self._take_in(path, tail)

    async def _take_in(self, path: str, tail: Tail) -> None:
        sides = self.sides
        found, bad = await asyncio.to_thread(_sorted, tail, sides.name)
        if found:
            async with sides.database.transaction(sides.tenant, sides.fence) as connection:
                await events.add_from_file(connection, sides.tenant, found, partial(is_claim, sources=self.sources))
            until = time.monotonic() + NAMING_SECONDS
            self._unnamed |= {event.event_id: until for event in found if "page_id" in event.data}
        if tail.first == 1 and not bad:
            await self._settle(path)
        elif bad and (tail.first == 1 or path not in self._listed):
            await self._list(path, f"{path!r}: {bad[0]}. It is passed over; every other line is taken in.")
        self._cursors[path] = tail.cursor
        known = {path: asdict(cursor) for path, cursor in self._cursors.items()}
        await asyncio.to_thread(sides.state.set, _COUNTER, json.dumps(known))

    async def _name_authors(self) -> None:
        """Versions come by another way than the events that tell who wrote them, and may come later."""
        if not self._unnamed:
            return
        sides = self.sides
        async with sides.database.transaction(sides.tenant, sides.fence) as connection:
            named = await events.name_authors(connection, list(self._unnamed))
        now = time.monotonic()
        self._unnamed = {event: until for event, until in self._unnamed.items() if event not in named and until > now}

    async def _list(self, path: str, sentence: str) -> None:
        problem = Problem(path, CODE, sentence)
        if self._listed.get(path) == problem:
            return
        sides = self.sides
        async with sides.database.transaction(sides.tenant, sides.fence) as connection:
            await attention.report(connection, sides.tenant, sides.mirror, [problem])
        self._listed[path] = problem

    async def _settle(self, path: str) -> None:
        if path not in self._listed:
            return
        sides = self.sides
        async with sides.database.transaction(sides.tenant, sides.fence) as connection:
            await attention.settle(connection, sides.tenant, sides.mirror, [(path, CODE)])
        del self._listed[path]


def is_event_file(path: str) -> bool:
    """Whether *path* is that of a file of events."""
    above, _, name = path.rpartition("/")
    return above == FOLDER and is_visible(name) and name.endswith(_SUFFIX)


def _sorted(tail: Tail, tenant: str) -> tuple[list[Event], list[str]]:
    """The events, and of each other line why it is none."""
    found, bad = [], []
    for number, line in enumerate(tail.lines, tail.first):
        if not line.strip():
            continue
        try:
            found.append(_event(line, tenant))
        except (Damaged, ValueError, RecursionError) as error:
            bad.append(f"line {number} {_why(error)}")
    return found, bad


def _event(line: bytes, tenant: str) -> Event:
    event = decode(line)
    if event.tenant != tenant:
        raise ValueError("is of another tenant")
    if event.type.startswith("Approval"):
        raise ValueError("tells of an approval; those are accepted from the database only")
    check_storable({"type": event.type, "actor": [event.actor.kind, event.actor.name], "data": dict(event.data)})
    return event


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError):
        return "is no JSON"
    return str(error)
