"""The place of one engine process: its heartbeat and requests, and the trees that it watches."""

import json
import os
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from mirrord.mirror.heartbeat import DONE_SUFFIX, REQUESTS_DIRECTORY, TAKEN_SUFFIX, Heartbeat
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY

_PROCESSES_DIRECTORY = "processes"
_MEASURES_FILE = "measures.json"


class EngineDesk:
    """`MIRROR_DIR/.mirrord/processes/NUMBER`. trees: names of the tenants whose trees its process watches."""

    def __init__(self, mirror: Path, number: int) -> None:
        """mirror: the directory of all trees."""
        self._mirror = mirror
        self.directory = mirror / STATE_DIRECTORY / _PROCESSES_DIRECTORY / str(number)
        self._requests = self.directory / STATE_DIRECTORY / REQUESTS_DIRECTORY
        self.heartbeat = Heartbeat(self.directory)
        self.trees: frozenset[str] = frozenset()

    def prepare(self) -> None:
        """Make its directories, and remove what an earlier process left there."""
        self._requests.mkdir(parents=True, exist_ok=True)
        self.heartbeat.remove()
        (self.directory / _MEASURES_FILE).unlink(missing_ok=True)
        for leftover in self._requests.iterdir():
            leftover.unlink(missing_ok=True)

    def watched_directories(self) -> frozenset[str]:
        """What its process watches, as paths below the directory of all trees."""
        return self.trees | {str(self._requests.relative_to(self._mirror))}

    def place_request(self, suffix: str) -> Path:
        """Place a request with one of the suffixes of heartbeat; take_answer() removes it."""
        request = self._requests / f"{uuid.uuid4()}{suffix}"
        request.write_bytes(b"")
        return request

    def write_measures(self, content: bytes) -> None:
        """Store the measurements of its process, atomically."""
        fresh = self.directory / f"{_MEASURES_FILE}.new"
        fresh.write_bytes(content)
        fresh.replace(self.directory / _MEASURES_FILE)

    def read_measures(self) -> bytes | None:
        """The measurements last stored; None: none yet."""
        with suppress(FileNotFoundError):
            return (self.directory / _MEASURES_FILE).read_bytes()
        return None


def write_answer(accepted: Path, tenants: Iterable[str]) -> None:
    """Write into an accepted request of which tenants its process has carried over everything."""
    with suppress(FileNotFoundError):  # given up
        descriptor = os.open(accepted, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        with os.fdopen(descriptor, "wb") as file:
            file.write(json.dumps(sorted(tenants)).encode())


def read_answer(request: Path) -> frozenset[str] | None:
    """The tenants of an answered request; None: not answered yet."""
    with suppress(FileNotFoundError):
        return frozenset(json.loads(request.with_suffix(DONE_SUFFIX).read_bytes()))
    return None


def remove_request(request: Path) -> None:
    """Remove a request, whether it was answered or not."""
    for suffix in (request.suffix, TAKEN_SUFFIX, DONE_SUFFIX):
        request.with_suffix(suffix).unlink(missing_ok=True)
