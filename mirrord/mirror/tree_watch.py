"""Reports where below a directory something changed. Hints only: what happened is found by looking."""

import asyncio
import logging
import os
import stat
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mirrord.mirror.change_batches import IsComplete
from mirrord.mirror.tree.tree_layout import printable
from mirrord.mirror.watch_bursts import HEARTBEAT_MS, Bursts

MAX_BATCH_PATHS = 10_000  # paths in one batch beyond which a full scan is cheaper
REWATCH_SECONDS = 1.0  # seconds before a new watch after the watcher failed
POLL_SECONDS = 30.0  # seconds between full scans while the system refuses a watch

log = logging.getLogger(__name__)

IDENTITY_SECONDS = 1.0  # seconds between two looks whether selected directories are still the same

Report = Callable[[str | None], None]
Selection = Callable[[], frozenset[str]]  # directories below the root, as paths relative to it


async def watch(
    root: Path,
    stop: asyncio.Event,
    report: Report | None = None,
    is_complete: IsComplete | None = None,
    select: Selection | None = None,
) -> AsyncGenerator[set[str] | None, None]:
    """
    Yield paths below *root* (relative to it) that may have changed; None means "scan everything".

    None comes first, as soon as the watch is live, and whenever changes may have been missed: the root was replaced or
    vanished, the watcher failed, too many paths changed at once. The path of a directory includes everything below it.

    stop: ends the iteration within milliseconds.
    report: called with a sentence when watching is limited, with None when it is complete.
    is_complete: whether the changes at these paths are complete, so that they need not wait for a silent tree; called
    in a
        thread.
    select: the only directories to watch, those of them that exist; called in a thread, again and again, since it may
        change. None: all below *root*.
    """
    report, is_complete = report or _ignore_report, is_complete or _never_complete
    is_missing = False
    while not stop.is_set():
        is_live = False
        try:
            async with aclosing(_watch_once(root, stop, report, is_complete, select)) as batches:
                async for batch in batches:
                    is_live, is_missing = True, False
                    yield batch
            continue
        except FileNotFoundError:
            pause, is_lost = HEARTBEAT_MS / 1000, not is_missing
            if is_missing := not root.exists():  # else a directory vanished while its watch was set up
                report(f"{root} is missing; mirrord waits for it to come back.")
        except (OSError, RuntimeError) as error:  # the latter is watchfiles' own
            pause, is_lost = REWATCH_SECONDS if is_live else POLL_SECONDS, True
            log.warning("watch_lost", extra={"root": str(root), "error": str(error)})
            if not is_live:
                report(_refusal_sentence(root, error))
        if is_lost:
            yield None
        await _wait_for_stop(stop, pause)


async def _watch_once(
    root: Path, stop: asyncio.Event, report: Report, is_complete: IsComplete, select: Selection | None
) -> AsyncGenerator[set[str] | None, None]:
    """One watch, until it has to be set up again."""
    loop, batches = asyncio.get_running_loop(), asyncio.Queue[set[str]]()
    if select is None:
        coverage = await asyncio.to_thread(_measure_coverage, root)
        is_outdated: Callable[[set[str]], bool] = partial(_is_outdated, coverage)
    else:
        selected = await asyncio.to_thread(_SelectedDirectories.measure, root, select)
        coverage, is_outdated = selected.coverage, selected.is_outdated
    bursts = Bursts(root, is_complete, is_outdated, lambda paths: loop.call_soon_threadsafe(batches.put_nowait, paths))
    with _running(partial(bursts.run, coverage.paths, recursive=coverage.recursive), bursts.stop, stop) as ended:
        ended.add_done_callback(lambda _: batches.put_nowait(set()))
        await batches.get()
        if not ended.done():
            report(coverage.problem)
            yield None
        while not ended.done():
            paths = await _take_all(batches)
            if len(paths) > MAX_BATCH_PATHS or "" in paths:
                yield None
            elif paths:
                yield paths
        await ended


@contextmanager
def _running(run: Callable[[], None], end: Callable[[], None], stop: asyncio.Event) -> Iterator["asyncio.Future[None]"]:
    """*run* in a thread of its own, which *end* ends: at *stop*, and with this block."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="mirrord-watch")
    ended = asyncio.get_running_loop().run_in_executor(thread, run)
    forward = asyncio.create_task(_forward_stop(stop, end))
    try:
        yield ended
    finally:
        forward.cancel()
        end()
        thread.shutdown(wait=False)


async def _take_all(batches: "asyncio.Queue[set[str]]") -> set[str]:
    """Wait for a batch. Return the paths of all batches that wait by then."""
    paths = await batches.get()
    while not batches.empty():
        paths |= batches.get_nowait()
    return paths


@dataclass(frozen=True, slots=True)
class _Coverage:
    """
    The coverage of one watch.

    paths: directories given to the watcher. problem: why they are not just the root.
    """

    root: Path
    identity: tuple[int, int]
    paths: frozenset[str]
    recursive: bool = True
    problem: str | None = None


def _measure_coverage(root: Path) -> _Coverage:
    identity = _identity_of(root)
    if identity is None:
        raise FileNotFoundError(root)
    directories, problem = _list_directories(root)
    if problem is None:
        return _Coverage(root, identity, frozenset([str(root)]))
    problem += "; new directories are noticed more slowly because of it."
    return _Coverage(root, identity, directories, recursive=False, problem=problem)


class _SelectedDirectories:
    """The coverage of a watch of selected directories."""

    def __init__(self, select: Selection, names: frozenset[str], coverage: _Coverage) -> None:
        self._select, self._names, self.coverage = select, names, coverage
        self._identities = self._look()
        self._looked_at = time.monotonic()

    @classmethod
    def measure(cls, root: Path, select: Selection) -> "_SelectedDirectories":
        """Measure them now. Raises FileNotFoundError if the root is missing."""
        names, identity = select(), _identity_of(root)
        if identity is None:
            raise FileNotFoundError(root)
        places = sorted(root / name for name in names if (root / name).is_dir())
        measured = [_list_directories(place) for place in places]
        problem = next((problem for _, problem in measured if problem is not None), None)
        if problem is None:
            paths = frozenset(map(str, places))
            return cls(select, names, _Coverage(root, identity, paths))
        problem += "; new directories are noticed more slowly because of it."
        paths = frozenset(path for directories, _ in measured for path in directories)
        return cls(select, names, _Coverage(root, identity, paths, recursive=False, problem=problem))

    def is_outdated(self, paths: set[str]) -> bool:
        """Whether the watch has to be set up again, because others are selected or one was replaced."""
        if self._select() != self._names or _is_outdated(self.coverage, paths):
            return True
        if time.monotonic() - self._looked_at < IDENTITY_SECONDS:
            return False
        self._looked_at = time.monotonic()
        return self._look() != self._identities

    def _look(self) -> list[tuple[int, int] | None]:
        return [_identity_of(self.coverage.root / name) for name in sorted(self._names)]


def _is_outdated(coverage: _Coverage, paths: set[str]) -> bool:
    """Whether the watch has to be set up again."""
    has_new_directory = not coverage.recursive and any(
        _is_unwatched(coverage, str(coverage.root / path)) for path in paths
    )
    return has_new_directory or _identity_of(coverage.root) != coverage.identity


def _list_directories(root: Path) -> tuple[frozenset[str], str | None]:
    """
    All watchable real directories from *root* down, and why the watcher must not find them itself.

    It would follow symbolic links, and fail completely at an unreadable directory.
    """
    directories, pending, problem = [], [str(root)], None
    while pending:
        path = pending.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    elif entry.is_symlink() and entry.is_dir():
                        problem = f"{printable(entry.path)} is a symbolic link to a directory and is not followed"
            directories.append(path)
        except PermissionError:
            problem = f"{printable(path)} cannot be read"
        except OSError:
            continue  # removed meanwhile
    return frozenset(directories), problem


def _identity_of(root: Path) -> tuple[int, int] | None:
    try:
        status = root.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def _is_unwatched(coverage: _Coverage, path: str) -> bool:
    """Whether *path* is a real directory that the watch does not cover."""
    try:
        return path not in coverage.paths and stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _refusal_sentence(root: Path, error: Exception) -> str:
    return (
        f"{root} cannot be watched ({error}); it is scanned every {POLL_SECONDS:.0f} s instead. "
        "Raising fs.inotify.max_user_watches or max_user_instances helps."
    )


async def _forward_stop(stop: asyncio.Event, end: Callable[[], None]) -> None:
    await stop.wait()
    end()


async def _wait_for_stop(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


def _ignore_report(_: str | None) -> None:
    pass


def _never_complete(_: set[str]) -> bool:
    return False
