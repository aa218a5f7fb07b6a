"""Requests of commands: files that ask the daemon to look, and that it renames when it has caught up."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from mirrord.mirror.heartbeat import COMPARE_SUFFIX
from mirrord.sync.pausing import pause

CHECK_SECONDS = 0.02  # seconds between checks whether everything is done


class MarkAll(Protocol):
    """Mark everything that may have changed; thoroughly: read unchanged-looking files, too."""

    def __call__(self, *, thoroughly: bool) -> None: ...


async def answer_request(request: Path, mark_all: MarkAll, is_idle: Callable[[], bool], stop: asyncio.Event) -> None:
    """Carry out one request, and mark it done when no change known by then waits. Returns on *stop* as well."""
    accepted = request.with_suffix(".taken")
    try:
        request.rename(accepted)
    except FileNotFoundError:  # accepted already, or given up
        return
    mark_all(thoroughly=request.suffix == COMPARE_SUFFIX)
    while not (is_idle() or stop.is_set()):
        await pause(stop, CHECK_SECONDS)
    with suppress(FileNotFoundError):
        accepted.rename(request.with_suffix(".done"))
