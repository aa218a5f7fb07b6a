"""
The start of a parsing process: lower its priority, and end with the daemon. Small, because every worker loads it.
"""

import ctypes
import os
import signal

from mirrord.mirror.process_setup import prepare_process

_PR_SET_PDEATHSIG = 1  # prctl(2)


def prepare_worker(parent: int, nice: int) -> None:
    """Prepare the worker; called once in every process. parent: the daemon's process id."""
    os.nice(nice)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the daemon died before the line above
        os._exit(1)
    prepare_process()
