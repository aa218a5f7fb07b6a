"""What commands did, appended to the tenant's event files, where sync takes it up."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

from mirrord.commands.session import Session
from mirrord.domain.entry import new_id
from mirrord.domain.event import Event, Type, encode, file_of
from mirrord.mirror.appending import append, appending


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
