"""What mirrors say of themselves in their rows: with every renewal of a lease, and about once a second in long work."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Protocol

import orjson

from mirrord.db import leases
from mirrord.db.connect import Database, Lease
from mirrord.domain.measures import Work
from mirrord.errors import Unavailable
from mirrord.sync.engine import Engine
from mirrord.telemetry.pulses import state_of

BEAT = 1.0  # seconds between two looks at how far long work is


class AtWork(Protocol):
    """One mirror at work."""

    @property
    def engine(self) -> Engine: ...

    def long_work(self) -> list[Work]:
        """What takes long now."""


class States:
    """Those of one daemon. A lease that is lost and taken again has another token: then all is said anew."""

    def __init__(self) -> None:
        self._told: dict[Lease, str] = {}
        self._busy: set[Lease] = set()  # what was told of them last is that long work goes on
        self._under_way: set[Lease] = set()

    @contextmanager
    def telling(self, worked: Iterable[AtWork]) -> Iterator[dict[Lease, str]]:
        """
        What mirrors are to say that they did not say yet, as JSON; they have said it when the block ends well.

        What another block is about to write is left out: the later of two would not be the newer one.
        """
        said = {lease: _said(one) for one in worked if (lease := one.engine.sides.lease) is not None}
        news = {
            lease: state
            for lease, state in said.items()
            if self._told.get(lease) != state and lease not in self._under_way
        }
        self._under_way |= news.keys()
        try:
            yield news
            self._note(news)
        finally:
            self._under_way -= news.keys()

    async def tell(self, database: Database, worked: Iterable[AtWork]) -> None:
        """Say how far long work is, and when it is over; where there is none, nothing, until the next renewal."""
        busy = [one for one in worked if one.long_work() or one.engine.sides.lease in self._busy]
        for one in busy:  # who waits for one mirror's row must not hold up another mirror
            with suppress(Unavailable), self.telling([one]) as news:
                for lease, state in news.items():
                    await leases.tell(database, lease, state)

    def _note(self, told: Mapping[Lease, str]) -> None:
        self._told.update(told)
        for lease, state in told.items():
            (self._busy.add if orjson.loads(state)["work"] else self._busy.discard)(lease)


def _said(one: AtWork) -> str:
    return orjson.dumps(state_of(one.engine, one.long_work())).decode()
