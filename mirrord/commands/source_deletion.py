"""People and agents delete sources: page, segments and files go to the trash together, or none of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from mirrord.commands import discarding, events, segments, writing
from mirrord.commands.belongings import own_attachments
from mirrord.commands.failure import Failed, explained
from mirrord.commands.holdings import Reference, Source, holdings
from mirrord.commands.session import Session
from mirrord.commands.sources import source_of
from mirrord.domain.approval import ABSENT, MOST_LINES, Preview
from mirrord.domain.event import Type
from mirrord.errors import Stale
from mirrord.mirror import relocation
from mirrord.mirror.journal import Journal
from mirrord.mirror.label import new_key
from mirrord.mirror.lock import records_lock
from mirrord.mirror.plan import Plan

_CODE = "SOURCE_NOT_DELETED"


@dataclass(frozen=True, slots=True)
class DeletedSource:
    """
    A source in the trash. trash_id: what restore_page takes. warnings: sentences.

    deleted_segments_count: 0 where the record of them cannot be read, which a warning says.
    """

    success: bool
    deleted_segments_count: int
    trash_id: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Doomed:
    """A source and what goes with it. record: of its segments; None: there is none."""

    source: Source
    page: writing.Page
    record: segments.Held | None
    attachments: Sequence[str]

    @property
    def count(self) -> int:
        """Of segments, as far as they can be counted."""
        return (self.record.count or 0) if self.record is not None else 0

    @property
    def is_broken(self) -> bool:
        """Whether they cannot be counted."""
        return self.record is not None and self.record.count is None

    @property
    def along(self) -> list[str]:
        """The paths of what goes with the page."""
        return [*([self.record.path] if self.record is not None else []), *self.attachments]


def delete_source(session: Session, source_id: Reference) -> DeletedSource:
    """
    Move a source to the trash with its segments and the attachments that only it uses, such as what it was made from.

    restore_page brings all of it back.
    """
    with session.writing() as journal, explained(), records_lock(session.tree):
        doomed = _doomed(session, source_id)
        trash_id = new_key()
        left = _carry_out(session, journal, doomed, trash_id)
        session.memory.forget(doomed.page.path)
        warnings = [f"{path} was saved just now, or is open, and stays." for path in left]
        if doomed.is_broken:
            warnings.append(f"{segments.path_of(doomed.source.entry)} cannot be read, and went to the trash as it is.")
        return DeletedSource(True, doomed.count, trash_id, tuple(warnings))


def preview_delete_source(session: Session, source_id: Reference) -> Preview:
    """What delete_source would do."""
    doomed = _doomed(session, source_id)
    source, count = doomed.source, doomed.count
    facts = {"source_id": source.number, "name": source.name, "path": source.path, "deleted_segments_count": count}
    along = ["1 segment" if count == 1 else f"{count or 'no'} segments"]
    along = ["a record of segments that cannot be read"] if doomed.is_broken else along
    number = len(doomed.attachments)
    along += [f"{number} attached file{'s' if number > 1 else ''}"] if number else []
    sentence = f"The source {source.name!r} would go to the trash with {' and '.join(along)}."
    lines = tuple((source.path, *doomed.attachments)[:MOST_LINES])
    paths = (source.path, segments.path_of(source.entry), *doomed.attachments)
    return Preview(sentence, facts, lines, {path: _digest(session, path) for path in paths})


def _doomed(session: Session, source_id: Reference) -> _Doomed:
    """Raises Failed if there is no such source, or pages are below it."""
    source = source_of(holdings(session), source_id, f"{_CODE}/NOT_FOUND")
    pages = len(discarding.below(session.tree, source.path))
    if pages:
        count = "1 page" if pages == 1 else f"{pages} pages"
        sentence = f"The source {source.name!r} has {count} below it."
        instruction = "Move or delete those first; list_pages shows them."
        raise Failed(f"{_CODE}/NOT_EMPTY", "conflict", sentence, instruction, {"pages": pages})
    page, attachments = writing.read(session, source.path), own_attachments(session, source.path)
    return _Doomed(source, page, segments.held(session, source.entry), attachments)


def _carry_out(session: Session, journal: Journal, doomed: _Doomed, trash_id: str) -> list[str]:
    """What could not go along. Raises Failed, CONFLICT, if the page was saved meanwhile: then nothing went."""
    source, page = doomed.source, doomed.page
    facts = {"source_id": source.number, "name": source.name, "page_id": str(source.entry), "path": source.path}
    told = {**facts, "trash_id": trash_id, "segments_removed": doomed.count}
    followers = {path: discarding.follower(session, path, trash_id) for path in doomed.along}
    plan = Plan(
        removal=discarding.removal_of(session, page, trash_id),
        followers=[one for one in followers.values() if one is not None],
        emptied=discarding.directories_of(session.tree, page.path),
        note=events.lines(session, [(Type.SOURCE_DELETED, told)]),
    )
    try:
        left = relocation.carry_out(session.tree, journal, plan, lambda _: None)
    except Stale:
        raise writing.changed_now(session, page.path) from None
    busy = [path for path, one in followers.items() if one is None and session.tree.stat(path) is not None]
    return [*left, *busy]


def _digest(session: Session, path: str) -> str:
    digest = writing.digest_now(session, path)
    return digest.hex() if digest is not None else ABSENT
