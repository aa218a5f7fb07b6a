"""What a process sets before it works on trees, and how another mirrord process is started."""

import ctypes
import gc
import os
import resource
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1  # prctl(2)


def prepare_process() -> None:
    """
    Make leases harmless, allow many open files, and collect garbage rarely. Call it once, in the main thread.

    The kernel sends SIGIO to the holder of a lease when the file is opened; by default that kills the process.
    """
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    gc.set_threshold(100_000, 20, 100)  # values live as long as a pass and have no cycles to collect
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def end_with_parent(parent: int) -> None:
    """Let the kernel kill this process when *parent*, the process that started it, ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the line above
        os._exit(1)


def command_line() -> tuple[str, ...]:
    """The command line that starts this mirrord, independent of working directory and `PATH`."""
    beside = Path(sys.executable).with_name("mirrord")
    return (str(beside),) if beside.exists() else (sys.executable, "-P", "-m", "mirrord.cli")
