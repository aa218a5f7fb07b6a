"""A transaction waits for a connection as long as others get theirs, and no longer."""

import asyncio

import pytest

from mirrord.db.transactions import Places
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
