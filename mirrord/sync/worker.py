"""What a worker process does first: it is nice, and it dies with the daemon, however that dies."""

import ctypes
import os
import signal

from mirrord.mirror.process import prepare_process

_PR_SET_PDEATHSIG = 1  # prctl(2)


def begin(parent: int, nice: int) -> None:
    """Called once in every worker. parent: the daemon's process id."""
    os.nice(nice)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)
    prepare_process()
