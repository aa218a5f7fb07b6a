"""Waiting that ends when the daemon stops."""

import asyncio


async def pause(stop: asyncio.Event, seconds: float | None, *sooner: asyncio.Event) -> None:
    """Return after so many *seconds* (None: not before), or when *stop* or one of *sooner* is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in (stop, *sooner)]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
