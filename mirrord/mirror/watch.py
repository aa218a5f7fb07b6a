"""Tells where below a directory something changed. Hints only: what happened is found by looking."""

import asyncio
import logging
import os
import stat
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path

import watchfiles
from watchfiles._rust_notify import WatchfilesRustInternalError
from watchfiles.main import FileChange

from mirrord.mirror.layout import printable

DEBOUNCE = 50  # milliseconds: a burst is reported after this at the latest
STEP = 5  # milliseconds of silence that end a burst; a shorter one shows more renames half done
HEARTBEAT = 250  # milliseconds between looks at the root; a fresh watch is known to be live after this
LARGE = 10_000  # paths in one batch from which looking everywhere is cheaper
REWATCH_PAUSE = 1.0  # seconds before watching again after the watcher gave up
POLL_PAUSE = 30.0  # seconds between looks everywhere while the system refuses to watch

log = logging.getLogger(__name__)

Report = Callable[[str | None], None]


async def watch(root: Path, stop: asyncio.Event, report: Report | None = None) -> AsyncGenerator[set[str] | None, None]:
    """
    Yield paths below *root* (relative to it) that may have changed; None means "look everywhere".

    None comes first, as soon as the watch is live, and whenever changes may have been missed: the root was
    replaced or vanished, the watcher gave up, too many paths at once. A directory's path stands for all below it.

    stop: ends the iteration within milliseconds.
    report: called with a sentence when watching is limited, with None when it is whole.
    """
    report = report or _quiet
    missing = False
    while not stop.is_set():
        live = False
        try:
            async with aclosing(_watched(root, stop, report)) as batches:
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


async def _watched(root: Path, stop: asyncio.Event, report: Report) -> AsyncGenerator[set[str] | None, None]:
    """One watch, until it has to be made anew."""
    run = asyncio.get_running_loop().run_in_executor
    thread = ThreadPoolExecutor(1, thread_name_prefix="mirrord-watch")
    ending = threading.Event()
    forward = asyncio.create_task(_forward(stop, ending))
    changes: Generator[set[FileChange], None, None] | None = None
    try:
        span = await run(thread, _span, root)
        changes = _changes(span, ending)
        _, outdated = await run(thread, _look, changes, span)  # returns once the watch is live
        report(span.problem)
        yield None
        while not (outdated or ending.is_set()):
            found, outdated = await run(thread, _look, changes, span)
            paths = _below(root, found)
            if len(paths) > LARGE or "" in paths:
                yield None
            elif paths:
                yield paths
    finally:
        ending.set()
        forward.cancel()
        if changes is not None:
            thread.submit(changes.close)
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


def _changes(span: _Span, ending: threading.Event) -> Generator[set[FileChange], None, None]:
    return watchfiles.watch(
        *span.paths,
        watch_filter=None,
        debounce=DEBOUNCE,
        step=STEP,
        stop_event=ending,
        rust_timeout=HEARTBEAT,
        yield_on_timeout=True,
        raise_interrupt=False,
        recursive=span.recursive,
        ignore_permission_denied=False,  # it would hide a refusal for lack of watches as well
    )


def _look(changes: Generator[set[FileChange], None, None], span: _Span) -> tuple[set[FileChange], bool]:
    """What changed since, and whether the watch has to be made anew."""
    found = next(changes, set())  # it ends when told to
    grew = not span.recursive and any(path not in span.paths and _is_real_directory(path) for _, path in found)
    return found, grew or _identity(span.root) != span.identity


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


def _is_real_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _below(root: Path, changes: set[FileChange]) -> set[str]:
    prefix = f"{root}/"
    return {path.removeprefix(prefix) if path != str(root) else "" for _, path in changes}


def _refusal(root: Path, error: Exception) -> str:
    return (
        f"{root} cannot be watched ({error}); it is looked through every {POLL_PAUSE:.0f} s instead. "
        "Raising fs.inotify.max_user_watches or max_user_instances helps."
    )


async def _forward(stop: asyncio.Event, ending: threading.Event) -> None:
    await stop.wait()
    ending.set()


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


def _quiet(_: str | None) -> None:
    pass
