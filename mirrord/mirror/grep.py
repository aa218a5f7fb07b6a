"""Which files hold what matches a regular expression: asked of a process of its own, which may die or be killed."""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from mirrord.errors import Busy, Damaged
from mirrord.mirror import contained
from mirrord.mirror.catalogue import Snapshot
from mirrord.mirror.kernel import Stat, stat_of
from mirrord.mirror.tree import Tree

PATIENCE = 10.0  # seconds for one answer
_PIECE = 1 << 20  # bytes
_NO_HOME = "/nonexistent"  # where the user's own list of ignored files would be looked for


_HERE = "./"  # before each path that is asked for or answered
_PATTERNS = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")

_Key = tuple[tuple[Stat, ...], frozenset[str]]


@dataclass(frozen=True, slots=True)
class Matching:
    """Paths of files that match, hidden ones too. is_complete: no others do, but for those that patterns leave out."""

    paths: frozenset[str]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A line that matches; number: 1 is the first."""

    number: int
    text: str


class Grep:
    """
    Searches below one tree's root; safe to use from several threads, which wait for each other.

    Patterns are those of Rust's regex, matched line by line. What is found is a hint, never proof: files change
    meanwhile, and those that `.gitignore` and its like name are left out unless they are asked for by their paths.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="grep")
        self._worker: _Worker | None = None
        self._left_out: tuple[_Key, frozenset[str]] | None = None

    def files(self, pattern: str, limit: int | None = None) -> Future[Matching]:
        """
        The files that match, at most *limit* of them.

        The future raises Damaged if *pattern* is none, with a sentence; Busy if no answer comes.
        """
        return self._threads.submit(self._files, pattern, limit)

    def lines(self, pattern: str, paths: Sequence[str]) -> Future[dict[str, Line]]:
        """The first line that matches of each of *paths* that has one; raises as files() does."""
        return self._threads.submit(self._lines, pattern, paths)

    def left_out(self, snapshot: Snapshot) -> frozenset[str]:
        """Pages that files() does not look into, since patterns meant for other programs keep it out. Raises as it."""
        above = _patterns_above(self._tree)
        if not above and not snapshot.has_patterns:
            return frozenset()
        key = above, frozenset(snapshot.pages)
        if snapshot.has_patterns or self._left_out is None or key != self._left_out[0]:
            seen = self.files("").result().paths
            self._left_out = key, frozenset(path for path in snapshot.pages if path not in seen)
        return self._left_out[1]

    def close(self) -> None:
        """End the process; what is still asked gets no answer."""
        if self._worker is not None:
            self._worker.kill()
        self._threads.shutdown(cancel_futures=True)
        if self._worker is not None:
            self._worker.end()

    def _files(self, pattern: str, limit: int | None) -> Matching:
        found = self._ask({"pattern": pattern, "limit": limit})
        paths = frozenset(path.removeprefix(_HERE) for path in found)
        return Matching(paths, limit is None or len(found) < limit)

    def _lines(self, pattern: str, paths: Sequence[str]) -> dict[str, Line]:
        found = self._ask({"pattern": pattern, "files": [_HERE + path for path in paths]})
        return {file.removeprefix(_HERE): _line(written.removeprefix(file + ":")) for file, written in found}

    def _working(self) -> "_Worker":
        if self._worker is not None and not self._worker.is_alive():
            self._worker.end()
            self._worker = None
        if self._worker is None:
            self._worker = _Worker(self._tree)
        return self._worker

    def _ask(self, request: dict[str, object]) -> list[Any]:
        answer = self._working().ask(json.dumps(request).encode() + b"\n")
        if "error" in answer:
            raise Damaged(answer["error"])
        found: list[Any] = answer["found"]
        return found


class _Worker:
    """The process. It works in the tree's root as it is open here: what takes its name meanwhile is not searched."""

    def __init__(self, tree: Tree) -> None:
        # a descriptor of its own: one that shares its locks with the tree's would keep them
        descriptor = os.open(".", contained.DIRECTORY | os.O_CLOEXEC, dir_fd=tree.descriptor)
        try:
            self._process = subprocess.Popen(
                # -P: nothing from where somebody stands
                [sys.executable, "-P", "-m", "mirrord.mirror.grep_worker", str(descriptor)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=[descriptor],
                start_new_session=True,
                env={**os.environ, "HOME": _NO_HOME, "XDG_CONFIG_HOME": _NO_HOME},
            )
        finally:
            os.close(descriptor)

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: bytes) -> dict[str, Any]:
        """The answer, which raises Busy and ends the process if it does not come."""
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(request)
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._received())
        except (OSError, ValueError) as error:
            self.end()
            sentence = f"The search did not answer within {PATIENCE:.0f} seconds; search for something rarer."
            raise Busy(sentence) from error
        return answer

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        self.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what was still to be written
                pipe.close()  # type: ignore[union-attr]  # both were asked for

    def _received(self) -> bytes:
        assert self._process.stdout is not None
        descriptor, deadline, data = self._process.stdout.fileno(), time.monotonic() + PATIENCE, bytearray()
        while not data.endswith(b"\n"):
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            piece = os.read(descriptor, _PIECE) if ready else b""
            if not piece:
                raise TimeoutError
            data += piece
        return bytes(data)


def _patterns_above(tree: Tree) -> tuple[Stat, ...]:
    """The files above the root that keep programs out of what is below them."""
    found = []
    above = os.path.realpath(tree.root)
    while above != "/":
        above = os.path.dirname(above)
        for name in _PATTERNS:
            with contextlib.suppress(OSError):
                found.append(stat_of(os.stat(os.path.join(above, name))))
    return tuple(found)


def _line(written: str) -> Line:
    number, _, text = written.partition(":")
    return Line(int(number), text)
