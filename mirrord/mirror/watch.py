"""Tells where below a directory something changed. Hints only: what happened is found by looking."""

import asyncio
import logging
import os
import stat
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path

from watchfiles._rust_notify import WatchfilesRustInternalError

from mirrord.mirror.bursts import HEARTBEAT, Bursts
from mirrord.mirror.gathering import Told
from mirrord.mirror.layout import printable

LARGE = 10_000  # paths in one batch from which looking everywhere is cheaper
REWATCH_PAUSE = 1.0  # seconds before watching again after the watcher gave up
POLL_PAUSE = 30.0  # seconds between looks everywhere while the system refuses to watch

log = logging.getLogger(__name__)

Report = Callable[[str | None], None]


async def watch(
    root: Path, stop: asyncio.Event, report: Report | None = None, told: Told | None = None
) -> AsyncGenerator[set[str] | None, None]:
    """
    Yield paths below *root* (relative to it) that may have changed; None means "look everywhere".

    None comes first, as soon as the watch is live, and whenever changes may have been missed: the root was
    replaced or vanished, the watcher gave up, too many paths at once. A directory's path stands for all below it.

    stop: ends the iteration within milliseconds.
    report: called with a sentence when watching is limited, with None when it is whole.
    told: whether nothing more is to come of what happened at these paths, so that they need not wait until the
    tree is silent; called in a thread.
    """
    report, told = report or _quiet, told or _never
    missing = False
    while not stop.is_set():
        live = False
        try:
            async with aclosing(_watched(root, stop, report, told)) as batches:
                async for batch in batches:
                    live, missing = True, False
                    yield batch
            continue
        except FileNotFoundError:
            pause, lost = HEARTBEAT / 1000, not missing
            if missing := not root.exists():  # else a directory went while its watch was made
                report(f"{root} is missing; mirrord waits for it to come back.")
        except (OSError, WatchfilesRustInternalError) as error:
            pause, lost = REWATCH_PAUSE if live else POLL_PAUSE, True
            log.warning("watch_lost", extra={"root": str(root), "error": str(error)})
            if not live:
                report(_refusal(root, error))
        if lost:
            yield None
        await _wait(stop, pause)


async def _watched(
    root: Path, stop: asyncio.Event, report: Report, told: Told
) -> AsyncGenerator[set[str] | None, None]:
    """One watch, until it has to be made anew."""
    run = asyncio.get_running_loop().run_in_executor
    thread = ThreadPoolExecutor(1, thread_name_prefix="mirrord-watch")
    forward: asyncio.Task[None] | None = None
    bursts: Bursts | None = None
    try:
        span = await run(thread, _span, root)
        bursts = await run(thread, _bursts, span, told)
        forward = asyncio.create_task(_forward(stop, bursts))
        report(span.problem)
        outdated = _identity(root) != span.identity
        yield None
        while not (outdated or stop.is_set()):
            paths, outdated = await run(thread, _look, bursts, span)
            if len(paths) > LARGE or "" in paths:
                yield None
            elif paths:
                yield paths
    finally:
        if forward is not None:
            forward.cancel()
        if bursts is not None:
            bursts.end()
            thread.submit(bursts.close)
        thread.shutdown(wait=False)


@dataclass(frozen=True, slots=True)
class _Span:
    """
    What one watch covers.

    paths: directories given to the watcher. problem: why they are not simply the root.
    """

    root: Path
    identity: tuple[int, int]
    paths: frozenset[str]
    recursive: bool = True
    problem: str | None = None


def _span(root: Path) -> _Span:
    identity = _identity(root)
    if identity is None:
        raise FileNotFoundError(root)
    directories, problem = _directories(root)
    if problem is None:
        return _Span(root, identity, frozenset([str(root)]))
    problem += "; new directories are noticed more slowly because of it."
    return _Span(root, identity, directories, recursive=False, problem=problem)


def _bursts(span: _Span, told: Told) -> Bursts:
    return Bursts(span.paths, recursive=span.recursive, root=span.root, told=told)


def _look(bursts: Bursts, span: _Span) -> tuple[set[str], bool]:
    """What changed since, and whether the watch has to be made anew. Returns when there is anything to tell."""
    found, outdated = set[str](), False
    while not (found or outdated or bursts.ended):
        found = bursts.next()
        grew = not span.recursive and any(_is_unwatched(span, str(span.root / path)) for path in found)
        outdated = grew or _identity(span.root) != span.identity
    return found, outdated


def _directories(root: Path) -> tuple[frozenset[str], str | None]:
    """
    Every real directory from *root* down that may be watched, and why the watcher must not find them itself.

    It would follow symbolic links, and fail as a whole where it may not look.
    """
    found, pending, problem = [], [str(root)], None
    while pending:
        path = pending.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    elif entry.is_symlink() and entry.is_dir():
                        problem = f"{printable(entry.path)} is a symbolic link to a directory and is not followed"
            found.append(path)
        except PermissionError:
            problem = f"{printable(path)} cannot be read"
        except OSError:
            continue  # gone meanwhile
    return frozenset(found), problem


def _identity(root: Path) -> tuple[int, int] | None:
    try:
        found = root.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def _is_unwatched(span: _Span, path: str) -> bool:
    """Whether *path* is a real directory that was made since."""
    try:
        return path not in span.paths and stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _refusal(root: Path, error: Exception) -> str:
    return (
        f"{root} cannot be watched ({error}); it is looked through every {POLL_PAUSE:.0f} s instead. "
        "Raising fs.inotify.max_user_watches or max_user_instances helps."
    )


async def _forward(stop: asyncio.Event, bursts: Bursts) -> None:
    await stop.wait()
    bursts.end()


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


def _quiet(_: str | None) -> None:
    pass


def _never(_: set[str]) -> bool:
    return False
