"""Requests of commands: files by which they ask the daemon to look, and are told when it has caught up."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from mirrord.mirror.heartbeat import COMPARE
from mirrord.sync.pausing import pause

PAUSE = 0.02  # seconds between looks whether everything is done


class Look(Protocol):
    """Mark whatever may have changed; thoroughly: read what looks unchanged, too."""

    def __call__(self, *, thoroughly: bool) -> None: ...


async def answer(request: Path, look: Look, is_idle: Callable[[], bool], stop: asyncio.Event) -> None:
    """Carry out one request, and say that it is done when nothing known by then waits. None of it outlives *stop*."""
    taken = request.with_suffix(".taken")
    try:
        request.rename(taken)
    except FileNotFoundError:  # taken already, or given up
        return
    look(thoroughly=request.suffix == COMPARE)
    while not (is_idle() or stop.is_set()):
        await pause(stop, PAUSE)
    with suppress(FileNotFoundError):
        taken.rename(request.with_suffix(".done"))
