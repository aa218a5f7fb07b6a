"""The command that deletes a source with its segments and files, all or none."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from mirrord.commands.core import command_events
from mirrord.commands.core.command_plan import Plan, command
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.page_paths import own_attachments
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_trash, page_writes
from mirrord.domain.approval import ABSENT_DIGEST, MAX_PREVIEW_LINES, Preview
from mirrord.domain.event import EventType
from mirrord.errors import Stale
from mirrord.mirror.write import batch_rename
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import new_key
from mirrord.mirror.write.rename_plan import BatchPlan
from mirrord.mirror.write.tree_locks import records_lock
from mirrord.research.segments import segment_records
from mirrord.research.sources.source_listing import Reference, Source, check_rights, read_holdings

_CODE = "SOURCE_NOT_DELETED"


@dataclass(frozen=True, slots=True)
class DeletedSource:
    """
    A source in the trash. trash_id: argument of restore_page. warnings: sentences.

    deleted_segments_count: 0 for an unreadable record of segments, which a warning reports.
    """

    success: bool
    deleted_segments_count: int
    trash_id: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _SourceDeletion(Plan[DeletedSource]):
    """A source for the trash, with its files. record: of its segments, or None."""

    source: Source
    page: page_writes.Page
    record: segment_records.SegmentRecord | None
    attachments: Sequence[str]

    def preview(self, session: Session) -> Preview:
        source, count, number = self.source, self._segments_count, len(self.attachments)
        facts = {"source_id": source.number, "name": source.name, "path": source.path, "deleted_segments_count": count}
        parts = ["1 segment" if count == 1 else f"{count or 'no'} segments"]
        parts = ["a record of segments that cannot be read"] if self._is_record_broken else parts
        parts += [f"{number} attached file{'s' if number > 1 else ''}"] if number else []
        sentence = f"The source {source.name!r} would go to the trash with {' and '.join(parts)}."
        lines = tuple((source.path, *self.attachments)[:MAX_PREVIEW_LINES])
        paths = (source.path, segment_records.segments_path(source.entry), *self.attachments)
        return Preview(sentence, facts, lines, {path: _digest_or_absent(session, path) for path in paths})

    def carry_out(self, session: Session, journal: Journal) -> DeletedSource:
        trash_id = new_key()
        skipped = self._trash(session, journal, trash_id)
        session.memory.forget(self.page.path)
        warnings = [f"{path} was saved just now, or is open, and stays." for path in skipped]
        if self.record is not None and self._is_record_broken:
            warnings.append(f"{self.record.path} cannot be read, and went to the trash as it is.")
        return DeletedSource(True, self._segments_count, trash_id, tuple(warnings))

    def _trash(self, session: Session, journal: Journal, trash_id: str) -> list[str]:
        """Move all to the trash; return files left. Raises Failed, CONFLICT, and moves nothing after a save."""
        source, page = self.source, self.page
        facts = {"source_id": source.number, "name": source.name, "page_id": str(source.entry), "path": source.path}
        event_facts = {**facts, "trash_id": trash_id, "segments_removed": self._segments_count}
        companion_paths = [*([self.record.path] if self.record is not None else []), *self.attachments]
        followers = {path: page_trash.follower_removal(session, path, trash_id) for path in companion_paths}
        plan = BatchPlan(
            removal=page_trash.removal_of(session, page, trash_id),
            followers=[removal for removal in followers.values() if removal is not None],
            emptied=page_trash.directories_of(session.tree, page.path),
            appended_lines=command_events.event_lines(session, [(EventType.SOURCE_DELETED, event_facts)]),
        )
        try:
            skipped = batch_rename.carry_out_plan(session.tree, journal, plan, lambda _: None)
        except Stale:
            raise page_writes.concurrent_change(session, page.path) from None
        busy = [path for path, removal in followers.items() if removal is None and session.tree.stat(path) is not None]
        return [*skipped, *busy]

    @property
    def _segments_count(self) -> int:
        """0 if they cannot be counted."""
        return (self.record.count or 0) if self.record is not None else 0

    @property
    def _is_record_broken(self) -> bool:
        return self.record is not None and self.record.count is None


@contextmanager
def _writing_with_records(session: Session) -> Iterator[Journal]:
    with session.writing() as journal, records_lock(session.tree):
        yield journal


@command("delete_source", lock=_writing_with_records)
def delete_source(session: Session, source_id: Reference) -> Plan[DeletedSource]:
    """
    Move a source to the trash with its segments and the attachments that only it uses, such as its original.

    restore_page restores all of it. Raises Failed for a source with pages below it.
    """
    source = read_holdings(session).find_source(source_id, f"{_CODE}/NOT_FOUND")
    check_rights(session, source.path)
    pages = len(page_trash.pages_below(session.tree, source.path))
    if pages:
        count = "1 page" if pages == 1 else f"{pages} pages"
        sentence = f"The source {source.name!r} has {count} below it."
        instruction = "Move or delete those first; list_pages shows them."
        raise Failed(f"{_CODE}/NOT_EMPTY", "conflict", sentence, instruction, {"pages": pages})
    page, attachments = page_writes.read_page_file(session, source.path), own_attachments(session, source.path)
    return _SourceDeletion(source, page, segment_records.find_segment_record(session, source.entry), attachments)


def _digest_or_absent(session: Session, path: str) -> str:
    digest = page_writes.current_digest(session, path)
    return digest.hex() if digest is not None else ABSENT_DIGEST
