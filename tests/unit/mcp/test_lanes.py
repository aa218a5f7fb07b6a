"""Reads go beside each other, searches leave room for them, and writes keep their order."""

import threading
from collections.abc import Iterator

import anyio.to_thread
import pytest

from mirrord.mcp.tools.tool import MAX_READS, MAX_SEARCHES, Lane, Lanes

PATIENCE_SECONDS = 30


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    new_lanes = Lanes()
    yield new_lanes
    new_lanes.close()


async def test_a_read_does_not_wait_for_searches(lanes: Lanes) -> None:
    go, finished = threading.Event(), list[int]()

    def search(number: int) -> None:
        go.wait()
        finished.append(number)

    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as tasks:
            try:
                for number in range(12):
                    tasks.start_soon(lanes.perform, lambda n=number: search(n), Lane.SEARCH)
                assert await lanes.perform(lambda: list(finished), Lane.READ) == []
            finally:
                go.set()
    assert len(finished) == 12


@pytest.mark.parametrize(("lane", "width"), [(Lane.READ, MAX_READS), (Lane.SEARCH, MAX_SEARCHES), (Lane.WRITE, 1)])
async def test_no_more_is_done_at_once_than_a_lane_is_wide(lanes: Lanes, lane: Lane, width: int) -> None:
    started, go = threading.Semaphore(0), threading.Event()

    def work() -> None:
        started.release()
        go.wait()

    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as tasks:
            try:
                for _ in range(width + 3):
                    tasks.start_soon(lanes.perform, work, lane)
                for _ in range(width):
                    await anyio.to_thread.run_sync(started.acquire)
                assert not started.acquire(blocking=False)
            finally:
                go.set()


async def test_reads_that_follow_each_other_have_one_thread(lanes: Lanes) -> None:
    with anyio.fail_after(PATIENCE_SECONDS):
        threads = {await lanes.perform(threading.get_ident, Lane.READ) for _ in range(50)}
    assert len(threads) == 1


async def test_writes_are_done_in_their_order_and_what_is_read_after_them_sees_them(lanes: Lanes) -> None:
    go, written = threading.Event(), list[int]()

    def write(number: int) -> None:
        go.wait()
        written.append(number)

    snapshots = list[list[int]]()

    async def read() -> None:
        snapshots.append(await lanes.perform(lambda: list(written), Lane.READ))

    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(lanes.perform, lambda n=number: write(n), Lane.WRITE)
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            go.set()
    assert written == list(range(20))
    assert snapshots == [written]


async def test_what_is_cancelled_before_it_began_is_not_done_and_what_began_is_waited_for(lanes: Lanes) -> None:
    started, go, finished = threading.Event(), threading.Event(), list[str]()

    def first() -> None:
        started.set()
        go.wait()
        finished.append("first")

    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lanes.perform, first, Lane.WRITE)
            await anyio.to_thread.run_sync(started.wait)
            async with anyio.create_task_group() as others:
                others.start_soon(lanes.perform, lambda: finished.append("second"), Lane.WRITE)
                await anyio.wait_all_tasks_blocked()
                others.cancel_scope.cancel()
            tasks.cancel_scope.cancel()
            go.set()
    assert finished == ["first"]


async def test_what_goes_wrong_is_told_to_who_asked(lanes: Lanes) -> None:
    with pytest.raises(ZeroDivisionError):
        await lanes.perform(lambda: 1 // 0, Lane.READ)
