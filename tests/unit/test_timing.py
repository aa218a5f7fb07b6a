"""Waiting for an event that many tasks wait for."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from mirrord.sync.timing import StopEvent, pause


@given(st.lists(st.booleans(), max_size=50))
def test_all_waits_end_when_the_event_is_set_and_those_that_ended_before_leave_nothing(
    ended_before: list[bool],
) -> None:
    asyncio.run(_wait_in_many_tasks(ended_before))


async def _wait_in_many_tasks(ended_before: list[bool]) -> None:
    stop = StopEvent()
    waits = [asyncio.ensure_future(stop.wait()) for _ in ended_before]
    await asyncio.sleep(0)
    for wait, is_ended in zip(waits, ended_before, strict=True):
        if is_ended:
            wait.cancel()
    await asyncio.sleep(0)
    assert len(stop._futures) == ended_before.count(False)
    stop.set()
    outcomes = await asyncio.gather(*waits, return_exceptions=True)
    assert [isinstance(outcome, asyncio.CancelledError) for outcome in outcomes] == ended_before
    assert not stop._futures
    assert await stop.wait()


async def test_an_event_that_is_set_and_cleared_is_waited_for_again() -> None:
    stop = StopEvent()
    stop.set()
    stop.clear()
    wait = asyncio.ensure_future(stop.wait())
    await asyncio.sleep(0)
    assert not wait.done()
    stop.set()
    assert await wait


async def test_a_wait_that_is_cancelled_as_the_event_is_set_ends() -> None:
    stop = StopEvent()
    wait = asyncio.ensure_future(stop.wait())
    await asyncio.sleep(0)
    stop.set()
    wait.cancel()
    assert isinstance((await asyncio.gather(wait, return_exceptions=True))[0], asyncio.CancelledError)
    assert not stop._futures


async def test_a_pause_ends_at_the_event_and_leaves_no_wait_behind() -> None:
    stop, sooner = StopEvent(), asyncio.Event()
    paused = asyncio.ensure_future(pause(stop, None, sooner))
    await asyncio.sleep(0)
    sooner.set()
    await paused
    await asyncio.sleep(0)
    assert not stop._futures
    paused = asyncio.ensure_future(pause(stop, None))
    await asyncio.sleep(0)
    stop.set()
    await paused
