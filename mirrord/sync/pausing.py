"""Pauses that end when the daemon stops."""

import asyncio


async def pause(stop: asyncio.Event, seconds: float | None, *sooner: asyncio.Event) -> None:
    """Return after *seconds* (None: never), or as soon as *stop* or one of *sooner* is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in (stop, *sooner)]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
