"""Segments of pages, in `.records/segments/`: read, counted, written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from mirrord.codec.records import MAX_JSON, canonical, read
from mirrord.codec.text import decode
from mirrord.commands.failure import Failed, explained, invalid
from mirrord.commands.session import Session
from mirrord.commands.writing import file_id
from mirrord.domain.approval import ABSENT
from mirrord.domain.entry import Digest, digest_of
from mirrord.domain.record import Form, record_path
from mirrord.domain.segment import Segment, decoded, encoded
from mirrord.errors import Damaged, Stale
from mirrord.mirror import replace
from mirrord.mirror.card import LIMIT
from mirrord.mirror.journal import Journal
from mirrord.mirror.layout import parent_of
from mirrord.mirror.lock import records_lock

_MAX_TRIES = 5  # attempts despite concurrent saves

Change = Callable[[Sequence[Segment]], Sequence[Segment]]


@dataclass(frozen=True, slots=True)
class _Record:
    """The current content of a record. digest: None if it does not exist."""

    data: Mapping[str, object]
    digest: Digest | None


@dataclass(frozen=True, slots=True)
class Held:
    """A record of segments. count: None if it is unreadable."""

    path: str
    count: int | None


def segments_of(session: Session, page_id: UUID) -> list[Segment]:
    """
    The segments of a page in text order, including detached ones.

    Raises Failed, SEGMENTS_UNREADABLE, for a record broken by an edit.
    """
    return decoded(_load_record(session, path_of(page_id)).data)


def base_of(session: Session, page_id: UUID) -> dict[str, str]:
    """Digest of the record of a page's segments, or ABSENT, by its path: the base for a preview."""
    path = path_of(page_id)
    digest = _load_record(session, path).digest
    return {path: digest.hex() if digest is not None else ABSENT}


def count(session: Session, page_id: UUID) -> int:
    """Number of segments of a page."""
    return len(segments_of(session, page_id))


def rewrite(session: Session, journal: Journal, page_id: UUID, change: Change) -> bool:
    """
    Replace the segments of a page by *change* of the present ones; return whether they changed.

    Call it inside `writing()`. Durable on return. After a save by a program that does not take the lock, *change* is
    called again.
    """
    path = path_of(page_id)
    with explained(), records_lock(session.tree):
        for _ in range(_MAX_TRIES):
            record = _load_record(session, path)
            data = encoded(record.data, change(decoded(record.data)))
            if data == record.data:
                return False
            if _try_write(session, journal, path, _to_bytes(data), record.digest):
                return True
    raise Failed("BUSY", "busy", f"{path} is saved again and again.", "Try again in a moment.")


def held(session: Session, page_id: UUID) -> Held | None:
    """The record of a page's segments, readable or not; None if it does not exist."""
    path = path_of(page_id)
    try:
        with explained():
            data, _ = session.tree.read(path, LIMIT)
    except FileNotFoundError:
        return None
    try:
        return Held(path, len(decoded(read(Form.JSON, decode(data)))))
    except Damaged:
        return Held(path, None)


def path_of(page_id: UUID) -> str:
    """Path of the record of a page's segments."""
    return record_path(f"segment/{page_id}")


def _load_record(session: Session, path: str) -> _Record:
    with explained():
        try:
            data, _ = session.tree.read(path, LIMIT)
        except FileNotFoundError:
            return _Record({}, None)
    try:
        return _Record(read(Form.JSON, decode(data)), digest_of(data))
    except Damaged as error:
        raise Failed(
            "SEGMENTS_UNREADABLE",
            "invalid",
            f"{path} cannot be read: {error}.",
            "Mend that file, then try again; it is not overwritten.",
        ) from error


def _to_bytes(data: Mapping[str, object]) -> bytes:
    text = canonical(data)
    if len(text) > MAX_JSON:
        raise invalid("TOO_LARGE", "These segments take more than 8 MB.", "Split the page.")
    return text.encode()


def _try_write(session: Session, journal: Journal, path: str, data: bytes, over: Digest | None) -> bool:
    """Write *data*; return False after a concurrent save, which is kept in place."""
    if over is None:
        session.tree.make_directories(parent_of(path))
    try:
        written = replace.write(session.tree, journal, path, data, entry=file_id(session, path), over=over)
    except Stale:
        return False
    if written.displaced is None:
        return True
    replace.retract(session.tree, journal, path, written.displaced, ours=digest_of(data))
    return False
