"""What a process must set before it works on trees, and how another one of this mirrord is started."""

import gc
import resource
import signal
import sys
from pathlib import Path


def prepare_process() -> None:
    """
    Make leases harmless, allow many open files, and collect garbage seldom. Call once, in the main thread.

    The kernel sends SIGIO to a lease's holder when somebody opens the file; by default that kills.
    """
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    gc.set_threshold(100_000, 20, 100)  # values live as long as a pass: looking for cycles among them finds none
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def program() -> tuple[str, ...]:
    """The words that start this very mirrord, whatever the working directory and `PATH` are then."""
    beside = Path(sys.executable).with_name("mirrord")
    return (str(beside),) if beside.exists() else (sys.executable, "-P", "-m", "mirrord.cli")
