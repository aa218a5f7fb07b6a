"""
The start of a parsing process: lower its priority, and end with the daemon. Small, because every worker loads it.
"""

import os
import signal
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

from mirrord.mirror.process_setup import end_with_parent, prepare_process

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_AGAIN_SECONDS = 1.0  # seconds of processor time until a limit is reported once more: Python may drop an error


def prepare_worker(parent: int, nice: int) -> None:
    """Prepare the worker; called once in every process. parent: the daemon's process id."""
    os.nice(nice)
    end_with_parent(parent)
    prepare_process()


def run_limited(seconds: float, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """
    Run *work* in this worker. Raises TimeoutError when it has used so many seconds of processor time.

    The time of day says nothing: on a busy machine a worker, whose priority is low, may wait for minutes.
    """
    signal.signal(signal.SIGPROF, _raise_timeout)
    signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN_SECONDS)
    try:
        return work(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _raise_timeout(_number: int, _frame: object) -> None:
    raise TimeoutError
