"""What engines report: plain values for the heartbeat, measurements, and mirrors' status rows."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import orjson

from mirrord.db import mirror_leases
from mirrord.db.database import Database, Lease
from mirrord.domain.measures import Latencies, Measures, Work
from mirrord.errors import Unavailable
from mirrord.sync.engine import Engine
from mirrord.sync.observation.file_look import Looker


def pulse_of(engine: Engine, work: Sequence[Work], *, derived: bool) -> dict[str, Any]:
    """
    The heartbeat's facts of one tenant. work: the long work under way.

    file_to_row, row_to_file: {count, last, median, p99} in seconds, None if there was nothing recently. lately: a list
    of [time, direction, path], the newest last. untaken: {files, endings, example, attachments}, of files that are
    neither pages nor attachments, by the last scan, None before it; attachments: the patterns in force.
    """
    pulse, looker = engine.pulse, engine.sides.looker
    return {
        "files": len(looker.index),
        "pending": engine.pending_count,
        "moves": pulse.moves,
        "last_file_to_row": pulse.last_file_to_row,
        "last_row_to_file": pulse.last_row_to_file,
        "file_to_row": _recent_facts(pulse.file_to_row),
        "row_to_file": _recent_facts(pulse.row_to_file),
        "lately": list(pulse.recent_moves),
        "derived": derived,
        "work": [asdict(part) for part in work],
        "problems": engine.problems.first_sentences(),
        "halted": engine.halts.is_halted,
        "untaken": _untaken_facts(looker),
    }


class Pulses:
    """The heartbeat's facts of many tenants; those of tenants at rest are not collected again."""

    def __init__(self) -> None:
        self._resting = WeakKeyDictionary[Engine, tuple[float, dict[str, Any]]]()

    def pulse_of(self, mirror: "AtWork", *, derived: bool) -> dict[str, Any]:
        """As pulse_of()."""
        engine = mirror.engine
        collected = self._resting.get(engine)
        if collected is not None and derived and _is_still_resting(mirror, collected[0]):
            return collected[1]
        work = mirror.long_work()
        pulse, rested_since = pulse_of(engine, work, derived=derived), _rested_since(engine, work)
        if derived and rested_since is not None:
            self._resting[engine] = rested_since, pulse
        return pulse


def _rested_since(engine: Engine, work: Sequence[Work]) -> float | None:
    """The time of the last step of an engine that has nothing to do, and did nothing recently; None: it has, or did."""
    pulse, now = engine.pulse, time.monotonic()
    if work or not engine.is_idle or pulse.file_to_row.recent(now) or pulse.row_to_file.recent(now):
        return None
    return pulse.stepped_at


def _is_still_resting(mirror: "AtWork", rested_since: float | None) -> bool:
    """Whether the engine took no step since *rested_since*, its last step at rest (None: it was not at rest)."""
    is_unmoved = rested_since is not None and mirror.engine.pulse.stepped_at == rested_since
    return is_unmoved and not mirror.works_beside_engine


def _untaken_facts(looker: Looker) -> dict[str, Any] | None:
    if looker.untaken is None:
        return None
    return looker.untaken.as_facts() | {"attachments": list(looker.tree.attachments)}


def state_of(engine: Engine, work: Sequence[Work]) -> dict[str, Any]:
    """The state in the mirror's own row, as docs/rows.md describes it; it stays the same while nothing happens."""
    since = engine.waiting_since
    return {
        "waits": engine.pending_count,
        "since": _wall_time(since) if since is not None else None,
        "file_to_row": _rounded_recent(engine.pulse.file_to_row),
        "row_to_file": _rounded_recent(engine.pulse.row_to_file),
        "work": [asdict(part) for part in work],
    }


def measures_of(engine: Engine) -> Measures:
    """The measurements of one engine. Nothing is copied: read them before the engine goes on."""
    pulse = engine.pulse
    return Measures(
        tenant=engine.sides.name,
        moves=pulse.moves,
        pending=engine.pending_count,
        leases=int(engine.sides.lease is not None),
        feed_seconds=engine.feed_delay_seconds,
        feed_changes=engine.feed.unread_changes,
        file_to_row=pulse.file_to_row,
        row_to_file=pulse.row_to_file,
        scans=pulse.scans,
    )


def dump_measures(several: Sequence[Measures]) -> bytes:
    """Measurements as JSON for another process, without single values and counts of rows."""
    return orjson.dumps(several)


def load_measures(content: bytes) -> list[Measures]:
    """What dump_measures() wrote."""
    return [_loaded_measures(facts) for facts in orjson.loads(content)]


def _loaded_measures(facts: dict[str, Any]) -> Measures:
    histograms = {name: Latencies(**facts[name]) for name in ("file_to_row", "row_to_file", "scans")}
    return Measures(**{**facts, **histograms, "waiting": None})


def _wall_time(monotonic: float) -> str:
    seconds = time.time() - (time.monotonic() - monotonic)
    return datetime.fromtimestamp(round(seconds), UTC).isoformat()


def _rounded_recent(latencies: Latencies) -> dict[str, Any] | None:
    """The recent latencies, rounded to tenths of a millisecond: people read them, and they are written often."""
    recent = _recent_facts(latencies)
    return {name: round(value, 4) for name, value in recent.items()} if recent is not None else None


def _recent_facts(latencies: Latencies) -> dict[str, Any] | None:
    recent = latencies.recent(time.monotonic())
    return asdict(recent) if recent is not None else None


BEAT_SECONDS = 1.0  # seconds between two looks at the progress of long work


class AtWork(Protocol):
    """One running mirror."""

    @property
    def engine(self) -> Engine: ...

    @property
    def works_beside_engine(self) -> bool:
        """Whether long work is under way that is not the engine's."""

    def long_work(self) -> list[Work]:
        """The long work under way."""


class States:
    """The states of one daemon's mirrors. A lease taken again has a new token: then its state is written again."""

    def __init__(self) -> None:
        self._written: dict[Lease, str] = {}
        self._rested_since: dict[Lease, float] = {}  # of mirrors at rest, with the state that is written
        self._with_long_work: set[Lease] = set()  # leases whose last written state has long work
        self._being_written: set[Lease] = set()

    @contextmanager
    def new_states(self, running: Iterable[AtWork]) -> Iterator[dict[Lease, str]]:
        """
        The new states of mirrors as JSON, to be written in the block; they count as written if it ends without error.

        States that another block is writing are left out: the later write would not have the newer state.
        """
        states = {
            lease: state
            for mirror in running
            if (lease := mirror.engine.sides.lease) is not None and (state := self._new_state(lease, mirror))
        }
        news = {lease: state for lease, state in states.items() if lease not in self._being_written}
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
                    await mirror_leases.store_state(database, lease, state)

    def _new_state(self, lease: Lease, mirror: AtWork) -> str | None:
        """The state as JSON; None: it is written. That of a mirror at rest is not compared again."""
        if _is_still_resting(mirror, self._rested_since.get(lease)):
            return None
        self._rested_since.pop(lease, None)  # what is written from now on is another state
        work = mirror.long_work()
        rested_since = _rested_since(mirror.engine, work)
        state = orjson.dumps(state_of(mirror.engine, work)).decode()
        if self._written.get(lease) != state:
            return state
        if rested_since is not None:
            self._rested_since[lease] = rested_since
        return None

    def _note_written(self, states: Mapping[Lease, str]) -> None:
        self._written.update(states)
        for lease, state in states.items():
            (self._with_long_work.add if orjson.loads(state)["work"] else self._with_long_work.discard)(lease)
