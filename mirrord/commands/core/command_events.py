"""Append the events of commands to the tenant's event files."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

from mirrord.commands.core.connection_changes import current_event_facts
from mirrord.commands.core.session import Session
from mirrord.domain.entry import new_id
from mirrord.domain.event import Event, EventType, encode_event, event_file_path
from mirrord.mirror.write.append_only_files import append, prepare_append


def record_event(session: Session, kind: EventType, data: Mapping[str, object]) -> None:
    """Append an event of *session*'s actor durably, under the write lock. data: see Type."""
    file, text = event_lines(session, [(kind, data)])
    append(session.tree, file, text.encode())


def recording_event(
    session: Session, kind: EventType, data: Mapping[str, object]
) -> AbstractContextManager[Callable[[], Sequence[int]]]:
    """As record(), with the current time; the yielded callable is passed to the described write (see `appending`)."""
    file, text = event_lines(session, [(kind, data)])
    return prepare_append(session.tree, file, text.encode())


def event_lines(session: Session, happened: Sequence[tuple[EventType, Mapping[str, object]]]) -> tuple[str, str]:
    """
    The event file, and the lines to append to it, for events of *session*'s actor.

    Events are a microsecond apart: rows are read in time order, which ids do not give.
    """
    now = datetime.now(UTC)
    facts = {**current_event_facts(), **session.event_facts} if happened else {}
    new_events = [
        Event(new_id(), kind, moment, session.tenant_name, session.actor, {**data, **facts})
        for number, (kind, data) in enumerate(happened)
        for moment in [now + timedelta(microseconds=number)]
    ]
    return event_file_path(now, os.uname().nodename), b"".join(map(encode_event, new_events)).decode()
