"""Asks a separate process which files match a regular expression; that process may die or be killed."""

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
from mirrord.mirror.read.page_catalogue import Snapshot
from mirrord.mirror.tree import contained_files
from mirrord.mirror.tree.kernel import Stat, stat_of
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import SUFFIX

ANSWER_SECONDS = 10.0  # seconds for one answer
_PIECE_BYTES = 1 << 20  # bytes
_NO_HOME = "/nonexistent"  # without the user's own list of ignored files


_PATH_PREFIX = "./"  # of each path in requests and answers
_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")

_Key = tuple[tuple[Stat, ...], frozenset[str]]


@dataclass(frozen=True, slots=True)
class MatchingFiles:
    """Paths of matching files, hidden ones too. is_complete: no others match, but for those of ignore files."""

    paths: frozenset[str]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class MatchingLine:
    """A matching line; number: 1 is the first."""

    number: int
    text: str


class Grep:
    """
    Searches below one tree's root; safe to use from several threads, which wait for each other.

    Patterns are those of Rust's regex, matched line by line. Results are hints, never proof: files change meanwhile,
    and files that `.gitignore` and the like exclude are searched only if the request names their paths.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="grep")
        self._worker: _Worker | None = None
        self._left_out: tuple[_Key, frozenset[str]] | None = None

    def matching_files(self, pattern: str, limit: int | None = None) -> Future[MatchingFiles]:
        """
        The files that match, at most *limit* of them.

        The future raises Damaged with a sentence for an invalid *pattern*, Busy without an answer.
        """
        return self._threads.submit(self._search_files, pattern, limit)

    def matching_lines(self, pattern: str, paths: Sequence[str]) -> Future[dict[str, MatchingLine]]:
        """The first matching line of each of *paths* that has one; raises as files() does."""
        return self._threads.submit(self._search_lines, pattern, paths)

    def excluded_pages(self, snapshot: Snapshot) -> frozenset[str]:
        """Pages that files() skips because of ignore files for other programs. Raises as files() does."""
        above = _stat_outer_ignore_files(self._tree)
        if not above and not snapshot.has_patterns:
            return frozenset()
        key = above, frozenset(snapshot.pages)
        if snapshot.has_patterns or self._left_out is None or key != self._left_out[0]:
            searched_paths = self.matching_files("").result().paths
            self._left_out = key, frozenset(path for path in snapshot.pages if path not in searched_paths)
        return self._left_out[1]

    def close(self) -> None:
        """End the process; pending requests get no answer."""
        if self._worker is not None:
            self._worker.kill()
        self._threads.shutdown(cancel_futures=True)
        if self._worker is not None:
            self._worker.end()

    def _search_files(self, pattern: str, limit: int | None) -> MatchingFiles:
        answer = self._ask_worker({"pattern": pattern, "limit": limit})
        paths = frozenset(path.removeprefix(_PATH_PREFIX) for path in answer)
        return MatchingFiles(paths, limit is None or len(answer) < limit)

    def _search_lines(self, pattern: str, paths: Sequence[str]) -> dict[str, MatchingLine]:
        answer = self._ask_worker({"pattern": pattern, "files": [_PATH_PREFIX + path for path in paths]})
        return {file.removeprefix(_PATH_PREFIX): _parse_line(line.removeprefix(file + ":")) for file, line in answer}

    def _live_worker(self) -> "_Worker":
        if self._worker is not None and not self._worker.is_alive():
            self._worker.end()
            self._worker = None
        if self._worker is None:
            self._worker = _Worker(self._tree)
        return self._worker

    def _ask_worker(self, request: dict[str, object]) -> list[Any]:
        answer = self._live_worker().ask(json.dumps(request).encode() + b"\n")
        if "error" in answer:
            raise Damaged(answer["error"])
        matches: list[Any] = answer["found"]
        return matches


class DraftGrep(Grep):
    """Searches a draft: the tree that it lies over, and its own files."""

    def __init__(self, tree: Tree, lower: Tree) -> None:
        super().__init__(tree)
        self._lower = Grep(lower)
        self._lower_tree = lower

    def close(self) -> None:
        """As in Grep."""
        self._lower.close()
        super().close()

    def _search_files(self, pattern: str, limit: int | None) -> MatchingFiles:
        """
        All pages of the draft's own count as matches, they are few; so do matches that the draft changed or removed.

        Matches are only hints. To ask of each file whether it is the draft's would take as long as a fifth of a search.
        """
        matching = self._lower.matching_files(pattern, limit).result()
        return MatchingFiles(matching.paths | self._own_pages(), matching.is_complete)

    def _search_lines(self, pattern: str, paths: Sequence[str]) -> dict[str, MatchingLine]:
        lower_paths = [path for path in paths if self._is_lower(path)]
        pending = self._lower.matching_lines(pattern, lower_paths)
        own_paths = [path for path in paths if not self._is_lower(path)]
        own_lines = super()._search_lines(pattern, own_paths) if own_paths else {}
        lines = {**own_lines, **pending.result()}
        return {path: lines[path] for path in paths if path in lines}

    def _is_lower(self, path: str) -> bool:
        return self._tree.layer_of(path) is self._lower_tree

    def _own_pages(self) -> frozenset[str]:
        return frozenset(path for path in self._tree.own_paths() if path.endswith(SUFFIX))


class ScopedGrep(Grep):
    """Searches what *tree* shows of a whole tree; what it hides changes no answer, not even by its number."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        self._whole = open_grep(tree.whole)

    def close(self) -> None:
        """As in Grep."""
        self._whole.close()
        super().close()

    def _search_files(self, pattern: str, limit: int | None) -> MatchingFiles:
        matching = self._whole.matching_files(pattern).result()
        paths = sorted(filter(self._tree.shows, matching.paths))
        return MatchingFiles(frozenset(paths[:limit]), matching.is_complete and (limit is None or len(paths) < limit))

    def _search_lines(self, pattern: str, paths: Sequence[str]) -> dict[str, MatchingLine]:
        return self._whole.matching_lines(pattern, list(filter(self._tree.shows, paths))).result()


def open_grep(tree: Tree) -> Grep:
    """The search over *tree*, which may be a draft, or seen through a scope."""
    if tree.whole is not tree:
        return ScopedGrep(tree)
    return DraftGrep(tree, tree.lower) if tree.lower is not None else Grep(tree)


class _Worker:
    """The process. It works in the open root of the tree: a directory that takes its name is not searched."""

    def __init__(self, tree: Tree) -> None:
        # a separate descriptor: one that shares the locks of the tree's would keep them
        descriptor = os.open(".", contained_files.DIRECTORY_FLAGS | os.O_CLOEXEC, dir_fd=tree.descriptor)
        try:
            self._process = subprocess.Popen(
                # -P: no imports from the working directory
                [sys.executable, "-P", "-m", "mirrord.mirror.read.grep_worker", str(descriptor)],
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
        """The answer to *request*. Raises Busy and ends the process if none comes."""
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(request)
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._receive_answer())
        except (OSError, ValueError) as error:
            self.end()
            sentence = f"The search did not answer within {ANSWER_SECONDS:.0f} seconds; search for something rarer."
            raise Busy(sentence) from error
        return answer

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        self.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # unwritten data
                pipe.close()  # type: ignore[union-attr]  # both are pipes

    def _receive_answer(self) -> bytes:
        assert self._process.stdout is not None
        descriptor, deadline, data = self._process.stdout.fileno(), time.monotonic() + ANSWER_SECONDS, bytearray()
        while not data.endswith(b"\n"):
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            piece = os.read(descriptor, _PIECE_BYTES) if ready else b""
            if not piece:
                raise TimeoutError
            data += piece
        return bytes(data)


def _stat_outer_ignore_files(tree: Tree) -> tuple[Stat, ...]:
    """Stats of ignore files above the root: they apply to everything below them."""
    stats = []
    above = os.path.realpath(tree.root)
    while above != "/":
        above = os.path.dirname(above)
        for name in _IGNORE_FILES:
            with contextlib.suppress(OSError):
                stats.append(stat_of(os.stat(os.path.join(above, name))))
    return tuple(stats)


def _parse_line(text_line: str) -> MatchingLine:
    number, _, text = text_line.partition(":")
    return MatchingLine(int(number), text)
