"""Processes that parse: what people wait for is never held up by it, and what a text does to a parser stays there."""

import asyncio
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar, TypeVarTuple

from mirrord.sync.worker import begin

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

PATIENCE = 20.0  # seconds for one piece of work
IDLE = 20.0  # seconds after which the workers go home and give their memory back
NICE = 10  # of the workers: people's edits go first


class Workers:
    """Started when there is something to do, sent home when there is not."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._used = 0.0

    async def run(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """
        What *work*, a function of the codec, makes in another process.

        Raises TimeoutError after PATIENCE, and BrokenProcessPool when the worker died or was sent home: perhaps for
        what another text did to it. The next work has new ones.
        """
        self._used = time.monotonic()
        pool = self._pool = self._pool or _started()
        with _uninterrupted():
            future = asyncio.get_running_loop().run_in_executor(pool, work, *arguments)
        done, _ = await asyncio.wait([future], timeout=PATIENCE)
        if not done:
            future.add_done_callback(asyncio.Future.exception)  # nobody waits for it any more
            self._end(pool)
            raise TimeoutError
        if future.cancelled():
            raise BrokenProcessPool("The workers were sent home.")
        try:
            return future.result()
        except BrokenProcessPool:
            self._end(pool)
            raise

    def rest(self) -> None:
        """Send the workers home if nothing came for a while."""
        if self._pool is not None and time.monotonic() - self._used > IDLE:
            self.close()

    def close(self) -> None:
        """Let the workers go home after what they are doing."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def end(self) -> None:
        """
        End the workers, hanging ones too, and return when they are gone.

        The pool has a thread of its own, which the end of the process would meet amid its work.
        """
        if self._pool is not None:
            self._end(self._pool, wait=True)

    def _end(self, pool: ProcessPoolExecutor, *, wait: bool = False) -> None:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=wait, cancel_futures=True)
        if self._pool is pool:  # others may have begun with new ones
            self._pool = None


def _started() -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(max_workers=2, mp_context=context, initializer=begin, initargs=(os.getpid(), NICE))


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Workers started here inherit that SIGINT is blocked: Ctrl-C is the daemon's to handle."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
