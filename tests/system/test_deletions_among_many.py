"""A deletion waits for its own silence, not for the looks at roots, which are rare where a daemon has many mirrors."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mirrord.sync.decisions.guard import QUIET_SECONDS
from tests.support.entries import delete
from tests.support.harness import eventually
from tests.support.mirrors import Mirror

OTHERS = 2_000  # further mirrors of the daemon: each root is looked at every 30 seconds
PATIENCE = QUIET_SECONDS + 23.0  # seconds

PAGES = {"Page.md": "text\n"} | {f"Other {number}.md": f"other {number}\n" for number in range(20)}


@asynccontextmanager
async def running_among_many(mirror: Mirror) -> AsyncIterator[None]:
    """The engine runs as in a daemon with many other mirrors."""
    for _ in range(OTHERS):
        mirror.engine.fair_shares.join()
    stop = asyncio.Event()
    run = asyncio.create_task(mirror.engine.run(stop))
    try:
        yield
    finally:
        stop.set()
        mirror.engine.queue.wake()
        await run


async def test_a_deleted_file_takes_its_row_along_soon(mirror: Mirror) -> None:
    mirror.write(PAGES)
    await mirror.settle()
    async with running_among_many(mirror):
        (mirror.root / "Page.md").unlink()
        mirror.engine.queue.mark(["Page.md"])
        await asyncio.to_thread(
            eventually, lambda: "Page.md" not in mirror.rows(), "a row that is deleted", PATIENCE, pause=0.2
        )


async def test_a_deleted_row_takes_its_file_along_soon(mirror: Mirror) -> None:
    mirror.write(PAGES)
    await mirror.settle()
    page = mirror.page("Page.md").id
    async with running_among_many(mirror):
        delete(mirror.app, page)
        mirror.engine.notify()
        await asyncio.to_thread(
            eventually, lambda: not (mirror.root / "Page.md").exists(), "a file that is removed", PATIENCE, pause=0.2
        )
