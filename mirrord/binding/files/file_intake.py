"""Carry the files of an app over to attachments of its pages, in the transaction of a pass; the app is always right."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import psycopg

from mirrord.binding.files.app_file import AppFile, is_attachment_name
from mirrord.binding.files.file_source import FileSource
from mirrord.binding.mappings.mapping import FILE_PREFIX, entry_id_of
from mirrord.binding.new_pages import REFUSALS
from mirrord.binding.row_decision import Act, BoundEntry, decide_row
from mirrord.db import open_issues
from mirrord.db.bindings import binding_rows, bound_files
from mirrord.db.bindings.binding_rows import BindingRow, EntryRow
from mirrord.db.bindings.bound_files import FileWrite, StoredFile
from mirrord.db.content import stored_bytes
from mirrord.db.database import Connection
from mirrord.db.open_issues import Problem
from mirrord.domain.entry import Digest, EntryId, MirrorId, digest_of
from mirrord.errors import Busy, Damaged, Halted, Stale
from mirrord.sync.decisions.guard import check_all, weigh_deletions
from mirrord.sync.writing.entry_bodies import media_type_of

REFUSED, ROW = "bound-edit", "bound-row"  # codes of problems
MAX_PASS_BYTES = 64 << 20  # bytes of files that one transaction reads, and one file more at most


@dataclass(frozen=True, slots=True)
class _FileState:
    """What a pass knows of one file. file: None: the app has none. parent: the page; None: it is not there (yet)."""

    external_id: str
    entry: EntryId
    file: AppFile | None
    bound: BoundEntry | None
    stored: StoredFile | None
    parent: EntryId | None

    @property
    def is_living(self) -> bool:
        """Whether there is an attachment that is not deleted."""
        return self.stored is not None and not self.stored.state.is_deleted


@dataclass(slots=True)
class FileIntake:
    """
    The files of one pass.

    recent: deletions of the last minutes. written, deleted: numbers of attachments. later: ids of files for a later
    pass.
    """

    connection: Connection
    binding: BindingRow
    source: FileSource
    recent: int = 0
    written: int = 0
    deleted: int = 0
    later: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    _read_bytes: int = 0

    async def ids_of_pages(self, pages: Collection[str], entries: Collection[EntryId]) -> set[str]:
        """The ids of all files of the rows *pages*, and of those that are attachments of the pages *entries*."""
        ids = await self.source.load_ids_of_pages(self.connection, pages) if pages else set[str]()
        if entries:
            ids |= await bound_files.load_files_of_pages(self.connection, self.binding, entries)
        return ids

    async def carry_over(self, ids: Collection[str]) -> None:
        """Write attachments, and delete those of files that are gone. Raises Halted if many are, Stale as a page."""
        if not ids:
            return
        states = await self._load_states(ids)
        if any(state.file is None and state.is_living for state in states) and not self.binding.is_loss_meant:
            await self._weigh_losses()
        for state in states:
            if state.file is None:
                await self._carry_deletion(state)
            elif state.parent is not None:  # else it comes with its page
                await self._carry_file(state, state.file, state.parent)
        if self.problems:
            mirror = MirrorId(self.binding.id)
            await open_issues.store_problems(self.connection, self.binding.tenant, mirror, self.problems)

    async def _load_states(self, ids: Collection[str]) -> list[_FileState]:
        files = await self.source.load_files(self.connection, ids)
        pages = {file.page for file in files.values()}
        agreed = await binding_rows.load_entries(self.connection, self.binding, {*ids, *pages})
        entries = {
            each: agreed[each].entry if each in agreed else entry_id_of(self.binding.id, each) for each in sorted(ids)
        }
        stored = await bound_files.load_files(self.connection, self.binding.tenant, entries.values())
        parents = {agreed[page].entry for page in pages & agreed.keys()}
        living = await bound_files.load_living_pages(self.connection, self.binding.tenant, parents)
        states = []
        for external_id, entry in entries.items():
            file = files.get(external_id)
            page = agreed.get(file.page) if file is not None else None
            parent = page.entry if page is not None and page.entry in living else None
            bound = _bound_entry_of(agreed.get(external_id))
            states.append(_FileState(external_id, entry, file, bound, stored.get(entry), parent))
        return states

    async def _weigh_losses(self) -> None:
        """Raise Halted if so many files of living pages are gone from the app that it may be an accident."""
        versions = await self.source.load_versions(self.connection)
        bound = await binding_rows.load_entries_of_kind(self.connection, self.binding, FILE_PREFIX)
        lost = [agreed.entry for external_id, agreed in bound.items() if external_id not in versions]
        stored = await bound_files.load_files(self.connection, self.binding.tenant, lost)
        losses = sum(not each.state.is_deleted for each in stored.values())  # those of deleted pages went with them
        alarm = weigh_deletions("app", losses, self.recent, len(bound)) or check_all("app", losses, len(bound))
        if alarm is not None:
            raise Halted(
                f"{losses} of {len(bound)} files are gone from the app; their attachments stay until you decide. If "
                f"they are meant to be gone, run `mirrord bind resume {self.binding.name} --deletions`."
            )

    async def _carry_deletion(self, state: _FileState) -> None:
        if state.bound is None:
            await self._end_problems(state.entry)
            return
        if state.stored is not None and state.is_living:
            version = state.stored.state.version
            if await bound_files.delete_file(self.connection, self.binding.tenant, state.entry, version) is None:
                raise Stale(f"The attachment {state.stored.state.name!r} changed meanwhile.")
            self.deleted += 1
        await self._end_problems(state.entry)
        await binding_rows.delete_entry(self.connection, self.binding, state.external_id)

    async def _carry_file(self, state: _FileState, file: AppFile, parent: EntryId) -> None:
        version = await self.source.version_of(file)
        if self._is_as_agreed(state, version, parent):
            return
        if self._read_bytes > MAX_PASS_BYTES:
            self.later.add(file.external_id)
            return
        try:
            data = await self.source.read(self.connection, file)
            self._read_bytes += len(data)
            async with self.connection.transaction():
                await self._write(state, replace(file, version=version), parent, data)
        except Busy:
            self.later.add(file.external_id)
        except (Damaged, *REFUSALS) as error:
            reason = error.diag.message_primary if isinstance(error, psycopg.Error) else None
            sentence = f"The file {file.name!r} is not carried over: {reason or error}."
            self.problems.append(Problem(await self._find_path(state, file), ROW, sentence, state.entry))
            if state.bound is not None:  # each comparison of all rows tries it again
                await binding_rows.note_unread_row(self.connection, self.binding, file.external_id)

    def _is_as_agreed(self, state: _FileState, version: str, parent: EntryId) -> bool:
        """Whether neither side changed since both were equal."""
        if state.bound is None or state.stored is None or state.stored.state.is_deleted:
            return False
        is_in_place = state.stored.state.parent == parent
        return is_in_place and (state.bound.app_version, state.bound.version) == (version, state.stored.state.version)

    async def _write(self, state: _FileState, file: AppFile, parent: EntryId, data: bytes) -> None:
        """Give the attachment what the app says, and record that both sides agree."""
        digest = digest_of(data)
        of_row, stored = file.digest_with(digest), state.stored
        act = decide_row(state.bound, of_row, stored.state if stored is not None else None)
        if state.bound is None or state.bound.app_version != file.version:
            await self._end_problems(state.entry)
        if stored is not None and self._is_equal(stored, file, digest, parent, is_edited=act is Act.TAKE_BACK):
            version = stored.state.version
        else:
            version = await self._store(state, file, parent, data, digest)
            if stored is not None and act is Act.TAKE_BACK and stored.state.author != "daemon":
                await self._note_refusal(state, file, stored)
        agreed = EntryRow(file.external_id, state.entry, version, of_row, file.version)
        await binding_rows.store_entries(self.connection, self.binding, [agreed])

    def _is_equal(self, stored: StoredFile, file: AppFile, digest: Digest, parent: EntryId, *, is_edited: bool) -> bool:
        """Whether the attachment is as the app says; the engine may have given it another name that is free."""
        state = stored.state
        if state.is_deleted or (stored.digest, state.parent) != (digest, parent):
            return False
        return is_attachment_name(state.name, file) or (is_edited and state.author == "daemon")

    async def _store(self, state: _FileState, file: AppFile, parent: EntryId, data: bytes, digest: Digest) -> int:
        tenant, stored = self.binding.tenant, state.stored
        is_named = stored is not None and is_attachment_name(stored.state.name, file)
        name = None if is_named else file.attachment_name
        write = FileWrite(state.entry, parent, name, digest, len(data), media_type_of(file.attachment_name))
        await stored_bytes.store_blob(self.connection, tenant, digest, data)
        self.written += 1
        if stored is None:
            return await bound_files.insert_file(self.connection, tenant, write)
        version = await bound_files.update_file(self.connection, tenant, write, stored.state.version)
        if version is None:
            raise Stale(f"The attachment {stored.state.name!r} changed meanwhile.")
        return version

    async def _end_problems(self, entry: EntryId) -> None:
        await binding_rows.delete_problems_of(self.connection, self.binding, [entry])

    async def _note_refusal(self, state: _FileState, file: AppFile, stored: StoredFile) -> None:
        change = "was deleted" if stored.state.is_deleted else "was changed"
        sentence = (
            f"The file {file.name!r} {change}, and is again what the app says: the binding {self.binding.name!r} only "
            f"reads files of the app. What it was is version {stored.state.version} of the attachment."
        )
        self.problems.append(Problem(await self._find_path(state, file), REFUSED, sentence, state.entry))

    async def _find_path(self, state: _FileState, file: AppFile) -> str:
        """The path of the attachment; the name that the app gives it if it has none yet."""
        paths = await open_issues.load_paths(self.connection, self.binding.tenant, [state.entry], 1)
        return paths[0] if paths and paths[0] != str(state.entry) else file.attachment_name


def _bound_entry_of(agreed: EntryRow | None) -> BoundEntry | None:
    if agreed is None:
        return None
    return BoundEntry(agreed.external_id, agreed.entry, agreed.version, Digest(agreed.digest), agreed.app_version)
