"""States of mirrors in their rows: written with every renewal of a lease, and about once a second during long work."""

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

BEAT_SECONDS = 1.0  # seconds between two looks at the progress of long work


class AtWork(Protocol):
    """One running mirror."""

    @property
    def engine(self) -> Engine: ...

    def long_work(self) -> list[Work]:
        """The long work under way."""


class States:
    """The states of one daemon's mirrors. A lease taken again has a new token: then its state is written again."""

    def __init__(self) -> None:
        self._written: dict[Lease, str] = {}
        self._with_long_work: set[Lease] = set()  # leases whose last written state has long work
        self._being_written: set[Lease] = set()

    @contextmanager
    def new_states(self, running: Iterable[AtWork]) -> Iterator[dict[Lease, str]]:
        """
        The new states of mirrors as JSON, to be written in the block; they count as written if it ends without error.

        States that another block is writing are left out: the later write would not have the newer state.
        """
        states = {lease: _state_json(mirror) for mirror in running if (lease := mirror.engine.sides.lease) is not None}
        news = {
            lease: state
            for lease, state in states.items()
            if self._written.get(lease) != state and lease not in self._being_written
        }
        self._being_written |= news.keys()
        try:
            yield news
            self._note_written(news)
        finally:
            self._being_written -= news.keys()

    async def write_long_work(self, database: Database, running: Iterable[AtWork]) -> None:
        """Write the progress of long work, and its end; other mirrors write nothing until the next renewal."""
        busy = [mirror for mirror in running if mirror.long_work() or mirror.engine.sides.lease in self._with_long_work]
        for mirror in busy:  # a wait for one mirror's row must not delay another mirror
            with suppress(Unavailable), self.new_states([mirror]) as news:
                for lease, state in news.items():
                    await leases.store_state(database, lease, state)

    def _note_written(self, states: Mapping[Lease, str]) -> None:
        self._written.update(states)
        for lease, state in states.items():
            (self._with_long_work.add if orjson.loads(state)["work"] else self._with_long_work.discard)(lease)


def _state_json(mirror: AtWork) -> str:
    return orjson.dumps(state_of(mirror.engine, mirror.long_work())).decode()
