"""
Changes that no command told of become events, whoever made them: each once, and in one transaction with its note.

A change that an app made is an event at once. Of a change that came from a file a command may have told, in a file of
events that was not read yet: those are read to their ends first, while no command is at work.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID, uuid5

from mirrord.db import outbox
from mirrord.db.connect import Connection
from mirrord.db.outbox import ChangedPage, ChangedRecord, Claimed, Note, PageVersion
from mirrord.domain.entry import Actor, EntryId
from mirrord.domain.event import Event, Type
from mirrord.domain.number import number_of
from mirrord.domain.subject import Change, Claim, Sort, unclaimed
from mirrord.errors import Busy, Fenced, Refused, Unavailable
from mirrord.mirror import relocation
from mirrord.mirror.lock import write_lock
from mirrord.mirror.tree import Tree
from mirrord.sync import page_events, record_events
from mirrord.sync.events import EventReader
from mirrord.sync.page_events import Facts, Whereabouts, claim_of
from mirrord.sync.pausing import pause
from mirrord.sync.sides import Sides

RETRY = 0.2  # seconds until it is looked again whether commands are done
UNCHANGED = 600.0  # seconds between looks, whatever the feed says

Key = tuple[EntryId, int, UUID]


@dataclass(slots=True)
class Outbox:
    """Of one mirror. due: set when there are changes that may be no events yet."""

    sides: Sides
    reader: EventReader
    sources: str
    due: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop*."""
        while not stop.is_set():
            self.due.clear()
            seconds = UNCHANGED
            try:
                if not await self.tell():
                    seconds = RETRY
            except (Unavailable, Fenced):
                seconds = RETRY
            await pause(stop, seconds, self.due)

    async def tell(self) -> bool:
        """Make events of what changed; False: some has to wait for commands. Raises Unavailable, Fenced."""
        while notes := await self._noted():
            files = {note.entry for note in notes if note.is_from_file}
            done = not files or await self._are_commands_done()
            ready = {note.key for note in notes if done or note.entry not in files}
            told = await self._tell(ready) if ready else 0
            if not done:
                return False
            if not told:  # another daemon does
                break
        return True

    async def _noted(self) -> list[Note]:
        """What changed and is no event yet."""
        async with self._transaction() as connection:
            pages, records = await self._load(connection)
        return [one.note for one in pages] + [one.note for one in records]

    async def _are_commands_done(self) -> bool:
        """Whether every event is in the table that a command told of what changed until now."""
        if not await asyncio.to_thread(_is_quiet, self.sides.tree):
            return False
        self.reader.look_everywhere()
        await self.reader.read_marked()
        return True

    async def _tell(self, ready: Collection[Key]) -> int:
        """Make events of these changes; of how many."""
        tenant = self.sides.tenant
        async with self._transaction() as connection:
            pages, records = await self._load(connection)
            pages = [one for one in pages if one.note.key in ready]
            records = [one for one in records if one.note.key in ready]
            batch = await _derived(connection, self.sides, self.sources, pages, records)
            await outbox.add(connection, tenant, batch.events(self.sides.name))
            await outbox.settle(connection, tenant, batch.notes, batch.used)
        return len(batch.notes)

    async def _load(self, connection: Connection) -> tuple[list[ChangedPage], list[ChangedRecord]]:
        tenant, mirror = self.sides.tenant, self.sides.mirror
        return (
            await outbox.load_pages(connection, tenant, mirror),
            await outbox.load_records(connection, tenant, mirror),
        )

    def _transaction(self) -> AbstractAsyncContextManager[Connection]:
        return self.sides.database.transaction(self.sides.tenant, self.sides.fence)


class _Batch:
    """Changes on their way to events. used: the events of commands that told of some."""

    def __init__(self, claims: Sequence[Claimed]) -> None:
        self.notes: list[Note] = []
        self.used: list[UUID] = []
        self._claims = list(claims)
        self._told: list[tuple[Note, Type, Facts]] = []

    def claims_of(self, note: Note, entry: EntryId, path: str | None = None) -> list[Claimed]:
        """What commands told of an entry and nobody used; nothing of what no file brought."""
        if not note.is_from_file:
            return []
        return [one for one in self._claims if entry == one.entry or (path is not None and path == one.path)]

    def take(self, note: Note, told: Iterable[tuple[Type, Facts]], used: Sequence[UUID]) -> None:
        """What became of one change."""
        self.notes.append(note)
        self.used += used
        self._claims = [one for one in self._claims if one.event not in used]
        self._told += [(note, kind, facts) for kind, facts in told]

    def events(self, tenant: str) -> list[tuple[Event, str]]:
        """The events and their channels, in the order in which it happened; a microsecond lies between two."""
        return [
            (
                Event(
                    uuid5(note.entry, f"{note.version} {kind}"),  # two first pages make one folder
                    kind,
                    note.at + timedelta(microseconds=number),
                    tenant,
                    Actor(str(note.actor.get("kind")), str(note.actor.get("name"))),
                    facts,
                ),
                note.actor.get("channel") or ("file" if note.is_from_file else "app"),
            )
            for number, (note, kind, facts) in enumerate(self._told)
        ]


async def _derived(
    connection: Connection,
    sides: Sides,
    sources: str,
    pages: Sequence[ChangedPage],
    records: Sequence[ChangedRecord],
) -> _Batch:
    tenant = sides.tenant
    spoken = {EntryId(UUID(one.now.key)) for one in records if one.now.kind == "segment"}
    current = await outbox.load_current(connection, tenant, spoken) if spoken else {}
    versions = [*(one.was for one in pages), *(one.now for one in pages), *current.values()]
    parents = {one.parent for one in versions if one is not None and one.parent is not None}
    where = Whereabouts(await outbox.load_above(connection, tenant, parents), sources)
    changes = [(one, where.change(one)) for one in pages]
    paths = {path for _, change in changes for path in _paths(change)}
    ids = {one.note.entry for one in pages} | {one.note.entry for one in records} | spoken
    batch = _Batch(await outbox.load_claimed(connection, tenant, ids, paths))
    for page, change in changes:
        _take_page(batch, page, change)
    for record in records:
        _take_record(batch, record, where, current)
    return batch


def _take_page(batch: _Batch, page: ChangedPage, change: Change) -> None:
    found: list[Claim] = []
    for path in _paths(change) or (None,):
        claims = map(claim_of, batch.claims_of(page.note, page.note.entry, path))
        found += [one for one in claims if one is not None and one not in found]
    rest, used = unclaimed(change, found)
    batch.take(page.note, page_events.events_of(page, rest), used)


def _take_record(
    batch: _Batch, record: ChangedRecord, where: Whereabouts, current: Mapping[EntryId, PageVersion]
) -> None:
    kind, note = record_events.type_of(record), record.note
    about, facts = note.entry, {}
    if kind is Type.SPEAKERS_DETECTED:
        about = EntryId(UUID(record.now.key))
        source = where.subject(current.get(about), is_folder=False)
        if source is None or source.sort is not Sort.SOURCE:
            kind = None
        else:
            facts = {"source_id": number_of(about), "name": source.name, "page_id": str(about), "path": source.path}
            facts |= record_events.speakers_of(record)
    elif kind is not None:
        facts = record_events.facts_of(record)
    used = record_events.claimed_by(record, batch.claims_of(note, about)) if kind is not None else ()
    batch.take(note, [(kind, facts)] if kind is not None and not used else [], used)


def _paths(change: Change) -> list[str]:
    return [one.path for one in (change.was, change.now) if one is not None]


def _is_quiet(tree: Tree) -> bool:
    """Whether no command is at work, and none left half of its work to others. Blocking."""
    try:
        with write_lock(tree, patience=0.0):
            return not relocation.waits(tree)
    except (Busy, Refused, OSError):
        return False
