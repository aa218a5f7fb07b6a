"""Processes that parse, so that a text's effect on a parser stays there."""

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

from mirrord.documents.parser_worker import prepare_worker

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

WORK_SECONDS = 20.0  # seconds for one piece of work
IDLE_SECONDS = 20.0  # seconds after which the workers end and give their memory back
WORKER_NICENESS = 10  # priority of the workers: people's edits go first


class Workers:
    """A pool of worker processes, started when there is work and ended when there is none."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._used_at = 0.0

    async def run(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """
        Run *work*, a function of the codec, in another process, and return its result.

        Raises TimeoutError after PATIENCE, and BrokenProcessPool when the worker died or was ended, perhaps because of
        another text. The next call has new workers.
        """
        self._used_at = time.monotonic()
        pool = self._pool = self._pool or _start_pool()
        with _block_interrupts():
            future = asyncio.get_running_loop().run_in_executor(pool, work, *arguments)
        finished, _ = await asyncio.wait([future], timeout=WORK_SECONDS)
        if not finished:
            future.add_done_callback(asyncio.Future.exception)  # its result is not awaited any more
            self._end_pool(pool)
            raise TimeoutError
        if future.cancelled():
            raise BrokenProcessPool("The workers were sent home.")
        try:
            return future.result()
        except BrokenProcessPool:
            self._end_pool(pool)
            raise

    def close_idle(self) -> None:
        """End the workers if there was no work for a while."""
        if self._pool is not None and time.monotonic() - self._used_at > IDLE_SECONDS:
            self.close()

    def close(self) -> None:
        """Let the workers end after their present work."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def terminate(self) -> None:
        """
        End the workers, hanging ones too, and return when they have ended.

        The pool has a thread of its own, which would still be at work when the process ends.
        """
        if self._pool is not None:
            self._end_pool(self._pool, wait=True)

    def _end_pool(self, pool: ProcessPoolExecutor, *, wait: bool = False) -> None:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=wait, cancel_futures=True)
        if self._pool is pool:  # else another call has started a new pool
            self._pool = None


def _start_pool() -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(
        max_workers=2, mp_context=context, initializer=prepare_worker, initargs=(os.getpid(), WORKER_NICENESS)
    )


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Block SIGINT while workers are started; they inherit that, so only the daemon handles Ctrl-C."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
