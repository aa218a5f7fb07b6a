"""The change set of one connection of an agent: what it changes outside drafts belongs together."""

import time
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from mirrord.domain.entry import new_id
from mirrord.domain.trust import Trust

if TYPE_CHECKING:
    from mirrord.commands.core.session import Session


class Draft(Protocol):
    """An open draft, as commands in general know it."""

    @property
    def session(self) -> "Session":
        """The session of commands in the draft."""

    def note_level(self, command: str, level: Trust) -> None:
        """Note the trust level of a command that will run in the draft."""

    def close(self) -> None:
        """Leave the draft."""


class ConnectionChanges:
    """
    The change set of a connection, which begins with its first change.

    idle_seconds: without changes, after which the next change begins another one; None: never. Only a token without
    sessions has such a time, because its programs are one connection.
    draft: what the connection works in instead of the tree, if a change set is open. draft_id: of the last one.
    owner: a mark of whom drafts of the connection belong to, besides the actor.
    """

    draft: "Draft | None" = None
    draft_id: str | None = None
    owner: str | None = None

    def __init__(self, idle_seconds: float | None = None) -> None:
        self._idle_seconds = idle_seconds
        self._change_set: UUID | None = None
        self._changed_at = 0.0  # by the monotonic clock

    @property
    def is_shared(self) -> bool:
        """Whether several programs may be at work here: all with the same token, over HTTP without sessions."""
        return self._idle_seconds is not None

    @property
    def change_set(self) -> UUID | None:
        """Its change set; None: nothing was changed yet."""
        return self._change_set

    def finish(self) -> None:
        """Let the next change begin another change set."""
        self._change_set = None

    def event_facts(self, client: str | None) -> Mapping[str, object]:
        """What the events of a change say about it. client: the name of the agent's program."""
        now = time.monotonic()
        is_over = self._idle_seconds is not None and now - self._changed_at > self._idle_seconds
        if self._change_set is None or is_over:
            self._change_set = new_id()
        self._changed_at = now
        return {"change_set": str(self._change_set)} | ({"client": client} if client else {})


_current: ContextVar[tuple[ConnectionChanges, str | None] | None] = ContextVar("connection_changes", default=None)


def current_event_facts() -> Mapping[str, object]:
    """The facts for events of the current connection; none where a person, not an agent, is at work."""
    current = _current.get()
    return current[0].event_facts(current[1]) if current is not None else {}


def current_connection() -> ConnectionChanges | None:
    """The connection that is served in this thread; None: a person, or a test, calls."""
    current = _current.get()
    return current[0] if current is not None else None


def current_client() -> str | None:
    """The name of the agent's program, if it is known."""
    current = _current.get()
    return current[1] if current is not None else None


def sees_drafts_of(owner: str) -> bool:
    """Whether the caller sees drafts that belong to *owner*, and their texts in the trash: that caller, and people."""
    connection = current_connection()
    return connection is None or connection.owner in (None, owner)


class using_changes:  # noqa: N801  (used like a function; a generator would take five times as long, in every call)
    """Let changes within a `with` block, in this thread, belong to *changes*."""

    __slots__ = ("_before", "_source")

    def __init__(self, changes: ConnectionChanges, client: str | None) -> None:
        self._source = changes, client

    def __enter__(self) -> None:
        self._before = _current.set(self._source)

    def __exit__(self, *_: object) -> None:
        _current.reset(self._before)
