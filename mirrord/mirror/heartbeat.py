"""How daemon and commands talk: small files in `MIRROR_DIR/.mirrord`, no socket, so that agents can too."""

import json
import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from mirrord.errors import Unavailable
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY

FLUSH_SUFFIX, COMPARE_SUFFIX = ".flush", ".compare"  # suffixes of requests
TAKEN_SUFFIX, DONE_SUFFIX = ".taken", ".done"  # of requests that a daemon works on, and has carried out
REQUESTS_DIRECTORY = "requests"  # their directory
STALE_SECONDS = 10.0  # seconds without a beat


class Heartbeat:
    """`daemon.json`: shows that a daemon lives, and its activity."""

    def __init__(self, mirror: Path) -> None:
        self._file = mirror / STATE_DIRECTORY / "daemon.json"

    def beat(self, facts: dict[str, Any]) -> None:
        """Write the facts about the daemon, atomically."""
        self._file.parent.mkdir(exist_ok=True)
        fresh = self._file.with_suffix(".new")
        fresh.write_bytes(_encode_facts({**facts, "beat": time.time()}))
        fresh.replace(self._file)

    def remove(self) -> None:
        """Remove the file: the daemon ended regularly."""
        self._file.unlink(missing_ok=True)

    def read(self) -> dict[str, Any] | None:
        """The last facts of the daemon; None if it ended regularly or never ran."""
        try:
            facts: dict[str, Any] = json.loads(self._file.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        return facts

    def is_alive(self) -> bool:
        """Whether the daemon that wrote this is still running."""
        facts = self.read()
        return (
            facts is not None and _is_process_alive(int(facts["pid"])) and time.time() - facts["beat"] < STALE_SECONDS
        )


def _encode_facts(facts: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(facts)
    except TypeError:  # a path that is not UTF-8, which takes ten times as long
        return json.dumps(facts).encode()


def list_requests(mirror: Path) -> list[Path]:
    """Requests that are not taken yet; their suffix is FLUSH or COMPARE."""
    return sorted(
        path
        for path in (mirror / STATE_DIRECTORY / REQUESTS_DIRECTORY).glob("*")
        if path.suffix in (FLUSH_SUFFIX, COMPARE_SUFFIX)
    )


def request_flush(mirror: Path, patience: float, watch: Callable[[], None] = lambda: None) -> None:
    """
    Return when every change known now is on both sides. watch: called repeatedly until then.

    Raises Unavailable if no daemon runs, TimeoutError after *patience* seconds.
    """
    _send_request(mirror, patience, FLUSH_SUFFIX, watch)


def request_compare(mirror: Path, patience: float) -> None:
    """Like request_flush(), after the daemon has read every file and row again."""
    _send_request(mirror, patience, COMPARE_SUFFIX, lambda: None)


def _send_request(mirror: Path, patience: float, request: str, watch: Callable[[], None]) -> None:
    heartbeat = Heartbeat(mirror)
    if not heartbeat.is_alive():
        raise Unavailable("No daemon is running on this mirror. Start it with `mirrord up`.")
    box = mirror / STATE_DIRECTORY / REQUESTS_DIRECTORY
    box.mkdir(exist_ok=True)
    file = box / f"{uuid.uuid4()}{request}"
    file.write_bytes(b"")
    end = time.monotonic() + patience
    try:
        while not file.with_suffix(DONE_SUFFIX).exists():
            if time.monotonic() > end:
                raise TimeoutError
            if not heartbeat.is_alive():
                raise Unavailable("The daemon ended before everything was on both sides. Start it with `mirrord up`.")
            watch()
            time.sleep(0.005)
    finally:
        for suffix in (request, TAKEN_SUFFIX, DONE_SUFFIX):
            file.with_suffix(suffix).unlink(missing_ok=True)


def _is_process_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
