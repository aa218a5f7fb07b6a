"""
Events for changes that no command reported: each once, in one transaction with its note.

A change made by an app becomes an event at once. A change that came from a file may have been reported by a command,
in an event file that was not read yet: those files are read to their ends first, while no command is at work.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID, uuid5

from mirrord.db import change_notes, event_rows
from mirrord.db.change_notes import ChangedPage, ChangedRecord, ChangeNote, PageVersion
from mirrord.db.database import Connection
from mirrord.db.event_rows import CommandEvent
from mirrord.domain.entry import Actor, EntryId
from mirrord.domain.event import Change, Claim, Event, EventType, SubjectSort, remove_claimed
from mirrord.errors import Busy, Fenced, Refused, Unavailable
from mirrord.intake import change_events, folder_moves
from mirrord.intake.change_events import Facts, SourceTree, claim_of
from mirrord.intake.event_files import EventReader
from mirrord.intake.folder_moves import FolderPageEvent
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import batch_rename
from mirrord.mirror.write.tree_locks import write_lock
from mirrord.research.sources.source_kinds import number_of
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.timing import pause

RETRY_SECONDS = 0.2  # seconds until the next check whether commands are done

Key = tuple[EntryId, int, UUID]


@dataclass(slots=True)
class Outbox:
    """The changes of one mirror on their way to events. due: set when some changes may have no event yet."""

    sides: Sides
    reader: EventReader
    sources: str
    due: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop*."""
        if self.sides.is_first:  # what changes from now on is told
            await pause(stop, None, self.due)
        while not stop.is_set():
            self.due.clear()
            seconds: float | None = None
            try:
                if not await self.make_events():
                    seconds = RETRY_SECONDS
            except (Unavailable, Fenced):
                seconds = RETRY_SECONDS
            await pause(stop, seconds, self.due)

    async def make_events(self) -> bool:
        """Turn changes into events; False: some changes have to wait for commands. Raises Unavailable, Fenced."""
        while notes := await self._load_notes():
            files = {note.entry for note in notes if note.is_from_file}
            are_commands_done = not files or await self._are_commands_done()
            ready = {note.key for note in notes if are_commands_done or note.entry not in files}
            count = await self._add_events(ready) if ready else 0
            if not are_commands_done:
                return False
            if not count:  # another daemon adds them
                break
            if count == len(notes) < change_notes.BATCH_CHANGES:  # of those that came meanwhile there is news
                break
        return True

    async def _load_notes(self) -> list[ChangeNote]:
        """The notes of changes that have no event yet."""
        async with self._transaction() as connection:
            pages, records = await self._load_changes(connection)
        return [page.note for page in pages] + [record.note for record in records]

    async def _are_commands_done(self) -> bool:
        """Whether the table has every event that commands reported for changes made until now."""
        if not await asyncio.to_thread(_is_quiet, self.sides.tree):
            return False
        self.reader.mark_everywhere()
        await self.reader.read_marked()
        return True

    async def _add_events(self, ready: Collection[Key]) -> int:
        """Add the events of the changes in *ready*; returns the number of changes."""
        tenant = self.sides.tenant
        async with self._transaction() as connection:
            pages, records = await self._load_changes(connection)
            pages = [page for page in pages if page.note.key in ready]
            records = [record for record in records if record.note.key in ready]
            batch = await _derive_batch(connection, self.sides, self.sources, pages, records)
            await event_rows.add_events(connection, tenant, batch.events(self.sides.name))
            await event_rows.finish_changes(connection, tenant, batch.notes, batch.used)
        return len(batch.notes)

    async def _load_changes(self, connection: Connection) -> tuple[list[ChangedPage], list[ChangedRecord]]:
        tenant, mirror = self.sides.tenant, self.sides.mirror
        return (
            await change_notes.load_changed_pages(connection, tenant, mirror),
            await change_notes.load_changed_records(connection, tenant, mirror),
        )

    def _transaction(self) -> AbstractAsyncContextManager[Connection]:
        return self.sides.database.transaction(self.sides.tenant, self.sides.fence)


class _Batch:
    """Changes on their way to events. used: events of commands that reported some of them."""

    def __init__(self, claims: Sequence[CommandEvent]) -> None:
        self.notes: list[ChangeNote] = []
        self.used: list[UUID] = []
        self._claims = list(claims)
        self._facts: list[tuple[ChangeNote, UUID, EventType, Facts]] = []

    def claims_of(self, note: ChangeNote, entry: EntryId, path: str | None = None) -> list[CommandEvent]:
        """Unused events of commands about an entry or path; none for a change that came from no file."""
        if not note.is_from_file:
            return []
        return [claim for claim in self._claims if entry == claim.entry or (path is not None and path == claim.path)]

    def add(self, note: ChangeNote, events: Iterable[tuple[EventType, Facts]], used: Sequence[UUID]) -> None:
        """Add one change with its *events*."""
        self.notes.append(note)
        self.used += used
        self._claims = [claim for claim in self._claims if claim.event not in used]
        # Without the child: two first pages make one folder.
        self._facts += [(note, uuid5(note.entry, f"{note.version} {kind}"), kind, facts) for kind, facts in events]

    def add_of_folder(self, note: ChangeNote, events: Iterable[FolderPageEvent]) -> None:
        """Add what the move of a folder, noted by *note*, is for the pages in it."""
        own_events = {(facts.get("page_id"), kind) for _, _, kind, facts in self._facts}
        self._facts += [
            (note, uuid5(entry, f"{note.entry} {note.version} {kind}"), kind, facts)
            for entry, kind, facts in events
            if (str(entry), kind) not in own_events
        ]

    def events(self, tenant: str) -> list[tuple[Event, str]]:
        """The events and their channels, in the order of the changes, a microsecond apart."""
        return [
            (
                Event(
                    event_id,
                    kind,
                    note.changed_at + timedelta(microseconds=number),
                    tenant,
                    Actor(str(note.actor.get("kind")), str(note.actor.get("name"))),
                    facts,
                ),
                note.actor.get("channel") or ("file" if note.is_from_file else "app"),
            )
            for number, (note, event_id, kind, facts) in enumerate(self._facts)
        ]


async def _derive_batch(
    connection: Connection,
    sides: Sides,
    sources: str,
    pages: Sequence[ChangedPage],
    records: Sequence[ChangedRecord],
) -> _Batch:
    tenant = sides.tenant
    transcript_ids = {EntryId(UUID(record.after.key)) for record in records if record.after.kind == "segment"}
    current = await change_notes.load_current_pages(connection, tenant, transcript_ids) if transcript_ids else {}
    versions = [*(page.before for page in pages), *(page.after for page in pages), *current.values()]
    parents = {version.parent for version in versions if version is not None and version.parent is not None}
    tree = SourceTree(await change_notes.load_ancestors(connection, tenant, parents), sources)
    changes = folder_moves.changes_over_time(tree, pages)
    paths = {path for timed in changes for path in _paths_of(timed.change)}
    ids = {page.note.entry for page in pages} | {record.note.entry for record in records} | transcript_ids
    batch = _Batch(await event_rows.load_command_events(connection, tenant, ids, paths))
    for timed in changes:
        _take_page(batch, timed.page, timed.change)
    for record in records:
        _take_record(batch, record, tree, current)
    for timed in filter(folder_moves.enters_or_leaves, changes):
        note = timed.page.note
        inner = await change_notes.load_folder_pages(connection, tenant, note.entry, note.changed_at)
        batch.add_of_folder(note, folder_moves.events_in_folder(timed, inner))
    return batch


def _take_page(batch: _Batch, page: ChangedPage, change: Change) -> None:
    claims: list[Claim] = []
    for path in _paths_of(change) or (None,):
        of_path = map(claim_of, batch.claims_of(page.note, page.note.entry, path))
        claims += [claim for claim in of_path if claim is not None and claim not in claims]
    remaining, used = remove_claimed(change, claims)
    batch.add(page.note, change_events.events_of(page, remaining), used)


def _take_record(
    batch: _Batch, record: ChangedRecord, whereabouts: SourceTree, current: Mapping[EntryId, PageVersion]
) -> None:
    kind, note = change_events.type_of(record), record.note
    entry, facts = note.entry, {}
    if kind is EventType.SPEAKERS_DETECTED:
        entry = EntryId(UUID(record.after.key))
        source = whereabouts.subject_of(current.get(entry), is_folder=False)
        if source is None or source.sort is not SubjectSort.SOURCE:
            kind = None
        else:
            facts = {"source_id": number_of(entry), "name": source.name, "page_id": str(entry), "path": source.path}
            facts |= change_events.speaker_facts(record)
    elif kind is not None:
        facts = change_events.facts_of(record)
    used = change_events.reporting_events(record, batch.claims_of(note, entry)) if kind is not None else ()
    batch.add(note, [(kind, facts)] if kind is not None and not used else [], used)


def _paths_of(change: Change) -> list[str]:
    return [subject.path for subject in (change.was, change.now) if subject is not None]


def _is_quiet(tree: Tree) -> bool:
    """Whether no command is at work, and no interrupted command has work left to finish. Blocking."""
    try:
        with write_lock(tree, patience=0.0):
            return not batch_rename.has_unfinished_plan(tree)
    except (Busy, Refused, OSError):
        return False
