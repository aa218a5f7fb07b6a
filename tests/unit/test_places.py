"""A transaction waits for a connection as long as others get theirs, and no longer."""

import asyncio
from contextlib import nullcontext

import pytest

from mirrord.db import connection_places
from mirrord.db.connection_places import Places, deferrable_transactions
from mirrord.errors import Unavailable

PATIENCE_SECONDS = 0.2


async def take_turn(places: Places, order: list[int], number: int, seconds: float) -> None:
    async with places.take():
        order.append(number)
        await asyncio.sleep(seconds)


async def test_a_wait_of_many_turns_ends_well_and_in_order() -> None:
    places, order = Places(2, PATIENCE_SECONDS), list[int]()
    turns = [take_turn(places, order, number, PATIENCE_SECONDS / 4) for number in range(24)]
    await asyncio.gather(*turns)
    assert order == list(range(24))


async def test_without_a_turn_that_ends_the_wait_ends() -> None:
    places = Places(1, PATIENCE_SECONDS)
    async with places.take():
        with pytest.raises(Unavailable, match="gave no connection"):
            await take_turn(places, [], 1, 0.0)
    order = list[int]()
    await take_turn(places, order, 2, 0.0)
    assert order == [2]


async def test_turns_that_fail_do_not_keep_others_waiting() -> None:
    places = Places(1, PATIENCE_SECONDS)

    async def fail() -> None:
        async with places.take():
            await asyncio.sleep(PATIENCE_SECONDS / 2)
            raise Unavailable("Postgres is out of reach.")

    outcomes = await asyncio.gather(*(fail() for _ in range(12)), return_exceptions=True)
    sentences = [str(outcome) for outcome in outcomes]
    assert "Postgres gave no connection within 0 s." in sentences


async def test_what_can_wait_lets_edits_that_come_later_go_first() -> None:
    places, order = Places(2, PATIENCE_SECONDS), list[int]()
    with deferrable_transactions():
        deferred = [asyncio.create_task(take_turn(places, order, 100 + number, 0.01)) for number in range(4)]
    await asyncio.sleep(0)
    edits = [asyncio.create_task(take_turn(places, order, number, 0.01)) for number in range(4)]
    await asyncio.gather(*deferred, *edits)
    assert order == [100, 0, 1, 2, 3, 101, 102, 103]


async def test_what_can_wait_leaves_half_of_the_places_free() -> None:
    places, end, order = Places(4, PATIENCE_SECONDS), asyncio.Event(), list[int]()
    with deferrable_transactions():
        deferred = [asyncio.create_task(hold_place(places, order, end)) for _ in range(4)]
    await asyncio.sleep(0)
    assert len(order) == 2
    await take_turn(places, [], 1, 0.0)
    end.set()
    await asyncio.gather(*deferred)
    assert len(order) == 4


async def hold_place(places: Places, order: list[int], end: asyncio.Event) -> None:
    async with places.take():
        order.append(1)
        await end.wait()


async def test_what_can_wait_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_places, "MAX_DEFER_SECONDS", PATIENCE_SECONDS)
    places, order, end = Places(1, 60.0), list[int](), asyncio.Event()

    async def edit_on() -> None:
        while not end.is_set():
            await take_turn(places, [], 1, 0.001)

    edits = [asyncio.create_task(edit_on()) for _ in range(3)]
    await asyncio.sleep(0)
    with deferrable_transactions():
        await asyncio.wait_for(take_turn(places, order, 1, 0.0), 60)
    end.set()
    await asyncio.gather(*edits)
    assert order == [1]


@pytest.mark.parametrize("is_deferrable", [False, True])
async def test_a_wait_that_is_cancelled_keeps_no_place(*, is_deferrable: bool) -> None:
    """Also if the place came in the moment of the cancellation."""
    places, order, end = Places(1, 60.0), list[int](), asyncio.Event()
    for is_given in (False, True):
        holding = asyncio.create_task(hold_place(places, order, end))
        await asyncio.sleep(0)
        with deferrable_transactions() if is_deferrable else nullcontext():
            waiting = asyncio.create_task(take_turn(places, order, 2, 0.0))
        await asyncio.sleep(0)
        if is_given:
            end.set()
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        end.set()
        await holding
        end.clear()
    await asyncio.wait_for(take_turn(places, order, 3, 0.0), 60)
    assert order[-1] == 3
