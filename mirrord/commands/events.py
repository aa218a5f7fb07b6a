"""Events of commands, appended to the event files of the tenant, which sync imports."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

from mirrord.commands.session import Session
from mirrord.domain.entry import new_id
from mirrord.domain.event import Event, Type, encode, file_of
from mirrord.mirror.appending import append, appending


def record(session: Session, kind: Type, data: Mapping[str, object]) -> None:
    """Append an event of *session*'s actor durably, under the write lock. data: see Type."""
    file, text = lines(session, [(kind, data)])
    append(session.tree, file, text.encode())


def recording(
    session: Session, kind: Type, data: Mapping[str, object]
) -> AbstractContextManager[Callable[[], Sequence[int]]]:
    """As record(), with the current time; the yielded callable is passed to the described write (see `appending`)."""
    file, text = lines(session, [(kind, data)])
    return appending(session.tree, file, text.encode())


def lines(session: Session, happened: Sequence[tuple[Type, Mapping[str, object]]]) -> tuple[str, str]:
    """
    The event file, and the lines to append to it, for events of *session*'s actor.

    Events are a microsecond apart: rows are read in time order, which ids do not give.
    """
    now = datetime.now(UTC)
    new_events = [
        Event(new_id(), kind, moment, session.tenant_name, session.actor, {**data, **session.told})
        for number, (kind, data) in enumerate(happened)
        for moment in [now + timedelta(microseconds=number)]
    ]
    return file_of(now, os.uname().nodename), b"".join(map(encode, new_events)).decode()
