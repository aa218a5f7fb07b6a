"""The start of a worker process: it lowers its priority, and makes sure to die with the daemon."""

import ctypes
import os
import signal

from mirrord.mirror.process import prepare_process

_PR_SET_PDEATHSIG = 1  # prctl(2)


def prepare_worker(parent: int, nice: int) -> None:
    """Prepare the worker; called once in every process. parent: the daemon's process id."""
    os.nice(nice)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the daemon died before the line above
        os._exit(1)
    prepare_process()
