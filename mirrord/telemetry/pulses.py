"""What an engine tells: for the heartbeat as plain values, for measurements as such."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from mirrord.domain.latency import Latencies
from mirrord.domain.measures import Measures, Waiting, Work
from mirrord.sync.engine import Engine
from mirrord.sync.look import Looker


def pulse_of(engine: Engine, work: Sequence[Work], *, derived: bool) -> dict[str, Any]:
    """
    What the heartbeat says of one tenant. work: what takes long now.

    file_to_row, row_to_file: {count, last, median, p99} in seconds, None if there was nothing lately. lately: a list of
    [when, the direction, the path], the newest last. untaken: {files, endings, example, attachments}, of files that
    are neither pages nor attachments, by the last scan, None before it; attachments: the patterns in force.
    """
    pulse, looker = engine.pulse, engine.sides.looker
    return {
        "files": len(looker.index),
        "pending": engine.pending,
        "moves": pulse.moves,
        "last_file_to_row": pulse.last_file_to_row,
        "last_row_to_file": pulse.last_row_to_file,
        "file_to_row": _recent(pulse.file_to_row),
        "row_to_file": _recent(pulse.row_to_file),
        "lately": list(pulse.lately),
        "derived": derived,
        "work": [asdict(one) for one in work],
        "problems": engine.problems.sentences(),
        "halted": engine.brake.halted,
        "untaken": _untaken(looker),
    }


def _untaken(looker: Looker) -> dict[str, Any] | None:
    if looker.untaken is None:
        return None
    return looker.untaken.facts() | {"attachments": list(looker.tree.attachments)}


def state_of(engine: Engine, work: Sequence[Work]) -> dict[str, Any]:
    """What the mirror's own row says of it, as docs/rows.md describes it; it stays the same while nothing happens."""
    since = engine.waits_since
    return {
        "waits": engine.pending,
        "since": _moment(since) if since is not None else None,
        "file_to_row": _rounded(engine.pulse.file_to_row),
        "row_to_file": _rounded(engine.pulse.row_to_file),
        "work": [asdict(one) for one in work],
    }


def measures_of(engine: Engine, waiting: Waiting | None) -> Measures:
    """Nothing is copied: read it before the engine goes on."""
    pulse = engine.pulse
    return Measures(
        tenant=engine.sides.name,
        moves=pulse.moves,
        pending=engine.pending,
        leases=int(engine.sides.lease is not None),
        feed_seconds=engine.feed_seconds,
        feed_changes=engine.feed.behind,
        file_to_row=pulse.file_to_row,
        row_to_file=pulse.row_to_file,
        scans=pulse.scans,
        waiting=waiting,
    )


def _moment(monotonic: float) -> str:
    seconds = time.time() - (time.monotonic() - monotonic)
    return datetime.fromtimestamp(round(seconds), UTC).isoformat()


def _rounded(latencies: Latencies) -> dict[str, Any] | None:
    """To tenths of a millisecond: people read it, and it is written again and again."""
    recent = _recent(latencies)
    return {name: round(value, 4) for name, value in recent.items()} if recent is not None else None


def _recent(latencies: Latencies) -> dict[str, Any] | None:
    recent = latencies.recent(time.monotonic())
    return asdict(recent) if recent is not None else None
