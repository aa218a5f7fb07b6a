"""Reports of an engine: for the heartbeat and the mirror's row as plain values, for monitoring as measurements."""

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


def measures_of(engine: Engine, waiting: Waiting | None) -> Measures:
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
        waiting=waiting,
    )


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
