"""
Saves displaced by a write, or left in the journal by a crash, are taken in.

Texts of commands that were overwritten before the daemon looked become versions, or are merged.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from psycopg.errors import UniqueViolation

from mirrord.db.content import derived_rows, entry_states, stored_bytes
from mirrord.domain.entry import MAX_FILE_BYTES, Base, Digest, EntryId, Kind, Row, digest_of
from mirrord.domain.long_work import split_into_batches
from mirrord.errors import Busy, Damaged, Refused, Stale
from mirrord.markdown.frontmatter.page_text import decode
from mirrord.merge.edit_merge import merge
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.write import replace as replacing
from mirrord.mirror.write import trash, written_copies
from mirrord.mirror.write.batch_rename import adopt_leftovers
from mirrord.mirror.write.journal import DAEMON_WRITER, JOURNALS_PATH, TRASH_PATH, Leftover, list_writers
from mirrord.mirror.write.journal_labels import Label
from mirrord.mirror.write.replace import DisplacedSave
from mirrord.mirror.write.tree_locks import write_lock
from mirrord.sync.decisions.stale_buffers import merge_base
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.writing.conflict_merge import UnmergedConflict, merge_conflict, store_merged

log = logging.getLogger(__name__)

ROWLESS_SECONDS = 3600.0  # seconds a copy waits for the row of its page; that of a folder holds no text


@dataclass(frozen=True, slots=True)
class _PageStates:
    """Bases and rows of the pages that copies belong to. versions: texts of copies that are in the history."""

    bases: Mapping[EntryId, Base]
    rows: Mapping[EntryId, Row]
    versions: frozenset[tuple[EntryId, Digest]]


async def take_in_copies(sides: Sides, labels: Mapping[str, Label]) -> list[EntryId]:
    """
    Drop copies of texts that became versions; make versions of the others that are not in place. Entries to look at.

    labels: of the copies, by their name in the journal.
    """
    page_states = await _load_states(sides, labels)
    entries = []
    for name, label in labels.items():
        assert label.new is not None
        if (label.entry, label.new) in page_states.versions:
            sides.journal.discard(name)
        elif (row := page_states.rows.get(label.entry)) is not None and row.deleted:
            await asyncio.to_thread(written_copies.move_to_trash, sides.journal, name, label)
        elif row is None or row.kind not in (Kind.PAGE, Kind.RECORD):
            await asyncio.to_thread(_wait_for_row, sides, name, label)
        elif await asyncio.to_thread(_is_overwritten, sides, label, page_states):
            entries += await _take_copy_in(sides, name, label, row)
    return entries


async def _load_states(sides: Sides, labels: Mapping[str, Label]) -> _PageStates:
    pages = list({label.entry for label in labels.values()})
    digests = [(label.entry, label.new) for label in labels.values() if label.new is not None]
    async with sides.database.transaction(sides.tenant) as connection:
        query = entry_states.BaseKeys(entries=pages)
        bases, rows = await entry_states.load_bases_and_rows(connection, sides.tenant, sides.mirror, query, pages)
        versions = await stored_bytes.find_texts(connection, sides.tenant, digests)
    return _PageStates({base.entry: base for base in bases}, rows, versions)


def _wait_for_row(sides: Sides, name: str, label: Label) -> None:
    """Move a copy to the trash once it has waited too long for a row that can hold its text."""
    stat = sides.tree.stat(f"{sides.journal.path}/{name}")
    if stat is not None and time.time() - stat.ctime_ns / 1e9 > ROWLESS_SECONDS:
        written_copies.move_to_trash(sides.journal, name, label)


def _is_overwritten(sides: Sides, label: Label, page_states: _PageStates) -> bool:
    """Whether the file certainly holds another text than the command's, the one that base and row agree on."""
    base, row = page_states.bases.get(label.entry), page_states.rows[label.entry]
    if base is None or base.path is None or (base.version, base.digest) != (row.version, row.digest) or row.ahead:
        return False
    try:
        return sides.tree.digest(base.path)[0] == base.digest
    except (Busy, Refused, OSError):
        return False


async def _take_copy_in(sides: Sides, name: str, label: Label, row: Row) -> list[EntryId]:
    if await asyncio.to_thread(written_copies.was_replaced, sides.tree, label):
        sides.journal.discard(name)
        return []
    if row.kind is Kind.RECORD:  # its key may mean something else now, so a merge would be a guess
        await asyncio.to_thread(written_copies.move_to_trash, sides.journal, name, label)
        return []
    try:
        data = await asyncio.to_thread(sides.journal.read, name)
        if digest_of(data) == label.new:  # else a crash truncated it, and the text never reached its file
            await _store_version(sides, label, row, data)
    except (Stale, Busy):
        return [label.entry]  # another time
    except UniqueViolation as error:
        if error.diag.constraint_name != "page_revision_by_operation":
            raise
    except Damaged as error:
        log.warning("copy_in_trash", extra={"entry": str(label.entry), "error": str(error)})
        await asyncio.to_thread(written_copies.move_to_trash, sides.journal, name, label)
        return []
    sides.journal.discard(name)
    log.info("copy_taken_in", extra={"entry": str(label.entry)})
    return [label.entry]


async def _store_version(sides: Sides, label: Label, row: Row, data: bytes) -> None:
    """
    Store the command's text as a version, then the row's text as the newest again.

    If the text that overwrote it was made without it, the newest has the command's change as well.
    """
    command_text, expected_text = decode(data), None
    async with sides.database.transaction(sides.tenant) as connection:
        version, row_text = (await derived_rows.load_texts(connection, sides.tenant, [label.entry])).get(
            label.entry, (0, None)
        )
        if label.expected is not None:
            expected_text = await derived_rows.load_text_of_digest(
                connection, sides.tenant, label.entry, label.expected
            )
    if version != row.version or row_text is None:
        raise Stale("The row changed meanwhile.")
    merged = None
    if (
        expected_text is not None
        and await asyncio.to_thread(merge_base, [expected_text], command_text, row_text) is not None
    ):
        merged = await asyncio.to_thread(merge, expected_text, row_text, command_text, sides.dialect)
    clash = UnmergedConflict(row, row.place.name, row.place, data, label.expected, None, None)
    await store_merged(
        sides, clash, merged if merged is not None else row_text, (expected_text, command_text, row_text)
    )


MAX_QUERY_FILES = 500  # replaced files of one query
JOURNAL_LOOK_SECONDS = 1.0  # seconds between looks at the journals of commands


@dataclass(frozen=True, slots=True)
class _Save:
    """A save that is only in the journal. over: digest of the text that it was made from; None: not known."""

    entry: EntryId
    name: str
    path: str
    over: Digest | None


class Recovery:
    """The saves that wait in the journal of one mirror."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._pending: list[_Save] = []
        self._late_stats: dict[str, Stat] = {}
        self._adopted_at = 0.0
        self._journals_alone: Stat | None = None  # the directory of all journals when it held only ours

    def add_save(self, entry: EntryId, path: str, over: Digest | None, displaced: DisplacedSave) -> None:
        """Add a save that a write displaced."""
        self._pending.append(_Save(entry, displaced.name, path, over))

    async def clean_up_leftovers(self) -> list[EntryId]:
        """
        Clean up after a crash or a failed write: drop unwritten texts, keep replaced ones, take in the others.

        Returns entries to look at.
        """
        await self._settle(await asyncio.to_thread(self._unpark_and_list))
        return await self.absorb_pending()

    async def sweep_trash(self) -> list[EntryId]:
        """Take in files of the trash that were written after their replacement; delete those past their time."""
        tree = self._sides.tree
        entries: list[EntryId] = []
        saves = await asyncio.to_thread(self._look_at_trash)
        for name, label, digest in saves:
            if not await self._is_known(label.entry, digest):
                data, _ = await asyncio.to_thread(tree.read, f"{TRASH_PATH}/{name}", MAX_FILE_BYTES)
                entries += await self._take_in(_Save(label.entry, name, name, label.expected), data)
            await asyncio.to_thread(trash.accept_late_save, tree, name, digest)
        await self._drop_recorded_versions()
        if saves:  # they are stored by now
            await asyncio.to_thread(trash.purge, tree, time.time())
        return entries

    def _look_at_trash(self) -> list[tuple[str, Label, Digest]]:
        """Blocking: files that were written after their replacement; without any, those past their time go."""
        saves = trash.late_saves(self._sides.tree, self._late_stats)
        if not saves:
            trash.purge(self._sides.tree, time.time())
        return saves

    async def _drop_recorded_versions(self) -> None:
        """Delete replaced files from the trash that are versions of their page or record."""
        tree, sides = self._sides.tree, self._sides
        for batch in split_into_batches(
            trash.expired_replacements(self._late_stats, time.time()), lambda _: 1, size=MAX_QUERY_FILES
        ):
            texts = {name: (label.entry, label.expected) for name, label in batch if label.expected is not None}
            async with sides.database.transaction(sides.tenant) as connection:
                recorded = await stored_bytes.find_texts(connection, sides.tenant, list(texts.values()))
            droppable = [(name, label) for name, label in batch if texts.get(name) in recorded]
            await asyncio.to_thread(trash.purge_versions, tree, droppable)

    async def absorb_stray(self, path: str, page: Base, reason: str) -> tuple[Digest, list[EntryId]]:
        """
        Merge a save of a page that has another file by now, and trash it for *reason*.

        page: its base, with the text that the save was made from. Returns the digest of the save, and entries to look
        at. Raises Busy or Stale if that has to wait.
        """
        tree = self._sides.tree
        data, _ = await asyncio.to_thread(tree.read, path, MAX_FILE_BYTES)
        digest, entries = digest_of(data), [page.entry]
        if digest != page.digest and not await self._is_known(page.entry, digest):
            entries += await self._take_in(_Save(page.entry, path, path, page.digest), data)
        expected, removal = replacing.ExpectedFile(page.entry, digest), replacing.Removal(reason)
        await asyncio.to_thread(replacing.remove, tree, self._sides.journal, path, expected, removal)
        self._sides.looker.index.forget(path)
        return digest, entries

    async def absorb_pending(self) -> list[EntryId]:
        """Take in every save that is no longer being written, of other writers too; returns entries to look at."""
        entries = await self._take_over_journals()
        pending, self._pending = self._pending, []
        for save in pending:
            try:
                entries += await self._absorb_save(save)
            except (Busy, Stale):
                self._pending.append(save)
        return entries

    async def _take_over_journals(self) -> list[EntryId]:
        """Take in leftovers of dead commands and copies of live ones; returns entries to look at."""
        if time.monotonic() - self._adopted_at < JOURNAL_LOOK_SECONDS:
            return []
        self._adopted_at = time.monotonic()
        adopted, labels = await asyncio.to_thread(self._look_at_journals)
        if adopted:
            await self._settle(await asyncio.to_thread(self._sides.journal.leftovers))
            labels = await asyncio.to_thread(written_copies.list_copies, self._sides.journal)
        return await take_in_copies(self._sides, labels) if labels else []

    def _look_at_journals(self) -> tuple[bool, dict[str, Label]]:
        """Blocking: whether leftovers of other writers were taken over, and the waiting copies of texts."""
        return self._adopt_dead_journals(), written_copies.list_copies(self._sides.journal)

    def _adopt_dead_journals(self) -> bool:
        tree, started_ns = self._sides.tree, time.time_ns()
        journals = tree.stat(JOURNALS_PATH)
        if journals is not None and journals == self._journals_alone:
            return False
        if list_writers(tree) == [DAEMON_WRITER]:
            self._journals_alone = journals if journals is not None and journals.is_settled(started_ns) else None
            return False
        with suppress(Busy), write_lock(tree, patience=0.0):
            return adopt_leftovers(tree, self._sides.journal, include_living=True)
        return False

    def _unpark_and_list(self) -> list[Leftover]:
        self._sides.journal.unpark_all()  # it failed before if the disk was full
        return self._sides.journal.leftovers()

    async def _settle(self, leftovers: Iterable[Leftover]) -> None:
        waiting = {save.name for save in self._pending}
        for leftover in leftovers:
            if leftover.name not in waiting:
                await self._settle_leftover(leftover)

    async def _settle_leftover(self, leftover: Leftover) -> None:
        label, journal = leftover.label, self._sides.journal
        if leftover.digest is None:
            log.warning("leftover_kept", extra={"leftover": leftover.name})
        elif leftover.digest == label.new:
            await asyncio.to_thread(written_copies.drop_unwritten, journal, label)
            await asyncio.to_thread(journal.dispose, leftover.name, keep=False)
        elif leftover.digest == label.expected or await self._is_known(label.entry, leftover.digest):
            await asyncio.to_thread(journal.dispose, leftover.name, keep=True, digest=leftover.digest)
        else:
            self._pending.append(_Save(label.entry, leftover.name, leftover.name, label.expected))

    async def _is_known(self, entry: EntryId, digest: Digest) -> bool:
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            return bool(await stored_bytes.newest_versions(connection, self._sides.tenant, [(entry, digest)]))

    async def _absorb_save(self, save: _Save) -> list[EntryId]:
        journal = self._sides.journal
        data = await asyncio.to_thread(journal.read, save.name)
        entries = await self._take_in(save, data)
        await asyncio.to_thread(journal.dispose, save.name, keep=True, digest=digest_of(data))
        return entries

    async def _take_in(self, save: _Save, data: bytes) -> list[EntryId]:
        row = await self._load_row(save.entry)
        # an emptied file holds no edit, and without a row there is no page to put it beside: both stay in the trash
        if not data or row is None or row.digest == digest_of(data):
            return []
        log.info("save_taken_in", extra={"entry": str(save.entry)})
        try:
            return await merge_conflict(
                self._sides, UnmergedConflict(row, save.path, row.place, data, save.over, None, None)
            )
        except Damaged as error:
            log.warning("save_in_trash", extra={"entry": str(save.entry), "error": str(error)})
            return []

    async def _load_row(self, entry: EntryId) -> Row | None:
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            return (await entry_states.load_rows(connection, self._sides.tenant, [entry])).get(entry)
