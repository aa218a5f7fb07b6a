"""Segment files in `.records/segments/`: read, count and write them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from mirrord.commands.core.failure import Failed, invalid_argument, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages.page_writes import id_of_file
from mirrord.domain.approval import ABSENT_DIGEST
from mirrord.domain.entry import MAX_FILE_BYTES, Digest, digest_of
from mirrord.domain.place import RecordFormat, record_path
from mirrord.errors import Damaged, Stale
from mirrord.markdown.frontmatter.page_text import decode
from mirrord.markdown.frontmatter.record_text import MAX_JSON_CHARACTERS, canonical_json, read_record
from mirrord.mirror.tree.tree_layout import parent_of
from mirrord.mirror.write import replace
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.tree_locks import records_lock
from mirrord.research.segments.segment import Segment, decode_segments, encode_segments

_MAX_TRIES = 5  # attempts despite concurrent saves

SegmentChange = Callable[[Sequence[Segment]], Sequence[Segment]]


@dataclass(frozen=True, slots=True)
class _Record:
    """The current content of a record. digest: None if it does not exist."""

    data: Mapping[str, object]
    digest: Digest | None


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """A record of segments. count: None if it is unreadable."""

    path: str
    count: int | None


def segments_of(session: Session, page_id: UUID) -> list[Segment]:
    """
    The segments of a page in text order, including detached ones.

    Raises Failed, SEGMENTS_UNREADABLE, for a record broken by an edit.
    """
    return decode_segments(_load_record(session, segments_path(page_id)).data)


def preview_base(session: Session, page_id: UUID) -> dict[str, str]:
    """Digest of the record of a page's segments, or ABSENT, by its path: the base for a preview."""
    path = segments_path(page_id)
    digest = _load_record(session, path).digest
    return {path: digest.hex() if digest is not None else ABSENT_DIGEST}


def count_segments(session: Session, page_id: UUID) -> int:
    """Number of segments of a page."""
    return len(segments_of(session, page_id))


def rewrite_segments(session: Session, journal: Journal, page_id: UUID, change: SegmentChange) -> bool:
    """
    Replace the segments of a page by *change* of the present ones; return whether they changed.

    Call it inside `writing()`. Durable on return. After a save by a program that does not take the lock, *change* is
    called again.
    """
    path = segments_path(page_id)
    with translating_errors(), records_lock(session.tree):
        for _ in range(_MAX_TRIES):
            record = _load_record(session, path)
            data = encode_segments(record.data, change(decode_segments(record.data)))
            if data == record.data:
                return False
            if _try_write(session, journal, path, _to_bytes(data), record.digest):
                return True
    raise Failed("BUSY", "busy", f"{path} is saved again and again.", "Try again in a moment.")


def find_segment_record(session: Session, page_id: UUID) -> SegmentRecord | None:
    """The record of a page's segments, readable or not; None if it does not exist."""
    path = segments_path(page_id)
    try:
        with translating_errors():
            data, _ = session.tree.read(path, MAX_FILE_BYTES)
    except FileNotFoundError:
        return None
    try:
        return SegmentRecord(path, len(decode_segments(read_record(RecordFormat.JSON, decode(data)))))
    except Damaged:
        return SegmentRecord(path, None)


def segments_path(page_id: UUID) -> str:
    """Path of the record of a page's segments."""
    return record_path(f"segment/{page_id}")


def _load_record(session: Session, path: str) -> _Record:
    with translating_errors():
        try:
            data, _ = session.tree.read(path, MAX_FILE_BYTES)
        except FileNotFoundError:
            return _Record({}, None)
    try:
        return _Record(read_record(RecordFormat.JSON, decode(data)), digest_of(data))
    except Damaged as error:
        raise Failed(
            "SEGMENTS_UNREADABLE",
            "invalid",
            f"{path} cannot be read: {error}.",
            "Mend that file, then try again; it is not overwritten.",
        ) from error


def _to_bytes(data: Mapping[str, object]) -> bytes:
    text = canonical_json(data)
    if len(text) > MAX_JSON_CHARACTERS:
        raise invalid_argument("TOO_LARGE", "These segments take more than 8 MB.", "Split the page.")
    return text.encode()


def _try_write(session: Session, journal: Journal, path: str, data: bytes, over: Digest | None) -> bool:
    """Write *data*; return False after a concurrent save, which is kept in place."""
    if over is None:
        session.tree.make_directories(parent_of(path))
    try:
        written = replace.write(
            session.tree, journal, path, data, replace.ExpectedFile(id_of_file(session, path), over)
        )
    except Stale:
        return False
    if written.displaced is None:
        return True
    replace.retract(session.tree, journal, path, written.displaced, ours=digest_of(data))
    return False
