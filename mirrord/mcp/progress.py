"""Progress notices to clients that request them."""

import time
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
from mcp.server.mcpserver import Context

from mirrord.domain.progress import Progress, ignore_progress

_NOTICE_SECONDS = 0.1  # seconds between two notices: a client shows a bar


def observer_for(context: Context[None, Any] | None) -> Progress:
    """An observer of a call's progress, in a thread of `Caller.perform`, that notifies the client."""
    return ignore_progress if context is None else _Notifier(context)  # the SDK notifies only clients that sent a token


class _Notifier:
    """Sends notices with increasing progress, as the protocol requires."""

    def __init__(self, context: Context[None, Any]) -> None:
        self._context = context
        self._loop = anyio.lowlevel.current_token()
        self._last_done = -1
        self._notified_at = -_NOTICE_SECONDS  # by the monotonic clock

    def __call__(self, done: int, of: int, /) -> None:
        now = time.monotonic()
        if done <= self._last_done or (now - self._notified_at < _NOTICE_SECONDS and done < of):
            return
        self._last_done, self._notified_at = done, now
        with suppress(CancelledError, anyio.RunFinishedError):  # no client waits any more, but the work is finished
            anyio.from_thread.run(self._context.report_progress, done, of, token=self._loop)
