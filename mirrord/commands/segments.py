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

_TRIES = 5  # saves of others that may come between

Change = Callable[[Sequence[Segment]], Sequence[Segment]]


@dataclass(frozen=True, slots=True)
class _Found:
    """A record as it is now. digest None: there is none."""

    data: Mapping[str, object]
    digest: Digest | None


@dataclass(frozen=True, slots=True)
class Held:
    """A record of segments. count: None where it cannot be read."""

    path: str
    count: int | None


def segments_of(session: Session, page_id: UUID) -> list[Segment]:
    """
    The segments of a page, in the order of its text; those that are detached too.

    Raises Failed, SEGMENTS_UNREADABLE, where somebody's edit left the record broken.
    """
    return decoded(_load(session, path_of(page_id)).data)


def base_of(session: Session, page_id: UUID) -> dict[str, str]:
    """By its path the digest of the record of a page's segments, as a base of what depends on them; or ABSENT."""
    path = path_of(page_id)
    digest = _load(session, path).digest
    return {path: digest.hex() if digest is not None else ABSENT}


def count(session: Session, page_id: UUID) -> int:
    """How many segments a page has."""
    return len(segments_of(session, page_id))


def rewrite(session: Session, journal: Journal, page_id: UUID, change: Change) -> bool:
    """
    Let *change* say what the segments of a page are, from those there are; whether that was another thing.

    Call it inside `writing()`. It is durable when this returns. A program that does not take the lock may save between
    reading and writing: then *change* is asked again.
    """
    path = path_of(page_id)
    with explained(), records_lock(session.tree):
        for _ in range(_TRIES):
            found = _load(session, path)
            data = encoded(found.data, change(decoded(found.data)))
            if data == found.data:
                return False
            if _put(session, journal, path, _spelled(data), found.digest):
                return True
    raise Failed("BUSY", "busy", f"{path} is saved again and again.", "Try again in a moment.")


def held(session: Session, page_id: UUID) -> Held | None:
    """The record of a page's segments, broken or not; None: there is none."""
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
    """The file that tells of a page's segments."""
    return record_path(f"segment/{page_id}")


def _load(session: Session, path: str) -> _Found:
    with explained():
        try:
            data, _ = session.tree.read(path, LIMIT)
        except FileNotFoundError:
            return _Found({}, None)
    try:
        return _Found(read(Form.JSON, decode(data)), digest_of(data))
    except Damaged as error:
        raise Failed(
            "SEGMENTS_UNREADABLE",
            "invalid",
            f"{path} cannot be read: {error}.",
            "Mend that file, then try again; it is not overwritten.",
        ) from error


def _spelled(data: Mapping[str, object]) -> bytes:
    text = canonical(data)
    if len(text) > MAX_JSON:
        raise invalid("TOO_LARGE", "These segments take more than 8 MB.", "Split the page.")
    return text.encode()


def _put(session: Session, journal: Journal, path: str, data: bytes, over: Digest | None) -> bool:
    """Whether the file has *data* now; False: somebody saved meanwhile, and that save is in its place."""
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
