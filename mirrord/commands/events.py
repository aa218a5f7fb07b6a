"""What commands did, appended to the tenant's event files, where sync takes it up; also what this actor did lately."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

from mirrord.commands.session import Session
from mirrord.domain.entry import Digest, new_id
from mirrord.domain.event import Event, Type, decode, encode, file_of
from mirrord.mirror.appending import append, appending

OWN = timedelta(hours=1)  # how long what an actor wrote counts as seen by it
_TAIL = 256 << 10  # bytes of an event file that are looked at for that


def record(session: Session, kind: Type, data: Mapping[str, object]) -> None:
    """Append that *session*'s actor did something, durably; under the write lock. data: as Type says."""
    file, text = lines(session, [(kind, data)])
    append(session.tree, file, text.encode())


def recording(
    session: Session, kind: Type, data: Mapping[str, object]
) -> AbstractContextManager[Callable[[], Sequence[int]]]:
    """The same, of this moment; what it yields belongs beside the write that it tells of (see `appending`)."""
    file, text = lines(session, [(kind, data)])
    return appending(session.tree, file, text.encode())


def lines(session: Session, happened: Sequence[tuple[Type, Mapping[str, object]]]) -> tuple[str, str]:
    """
    The file, and the lines to be added to it, that say what *session*'s actor did.

    A microsecond lies between two of them: rows are read in the order of their moments, and ids do not tell it.
    """
    now = datetime.now(UTC)
    made = [
        Event(new_id(), kind, moment, session.tenant_name, session.actor, {**data, **session.told})
        for number, (kind, data) in enumerate(happened)
        for moment in [now + timedelta(microseconds=number)]
    ]
    return file_of(now, os.uname().nodename), b"".join(map(encode, made)).decode()


def wrote_lately(session: Session, path: str, digest: Digest) -> bool:
    """Whether this session's actor itself, within the last hour, left *digest* at *path*."""
    now = datetime.now(UTC)
    files = {file_of(moment, os.uname().nodename) for moment in (now, now - OWN)}
    return any(_says_so(session, event, path, digest, now) for file in files for event in _tail(session, file))


def _says_so(session: Session, event: Event, path: str, digest: Digest, now: datetime) -> bool:
    return (
        event.actor == session.actor
        and event.data.get("path") == path
        and event.data.get("digest") == digest.hex()
        and now - event.occurred_at < OWN
    )


def _tail(session: Session, file: str) -> list[Event]:
    try:
        with session.tree.file(file) as descriptor:
            size = os.fstat(descriptor).st_size
            lines = os.pread(descriptor, _TAIL, max(0, size - _TAIL)).splitlines()
    except FileNotFoundError:
        return []
    return [event for line in lines if (event := _event(line)) is not None]


def _event(line: bytes) -> Event | None:
    try:
        return decode(line)
    except ValueError:  # of a reader that begins amid a line, or of somebody's own
        return None
