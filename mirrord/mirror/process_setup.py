"""What a process sets before it works on trees, and how another mirrord process is started."""

import gc
import resource
import signal
import sys
from pathlib import Path


def prepare_process() -> None:
    """
    Make leases harmless, allow many open files, and collect garbage rarely. Call it once, in the main thread.

    The kernel sends SIGIO to the holder of a lease when the file is opened; by default that kills the process.
    """
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    gc.set_threshold(100_000, 20, 100)  # values live as long as a pass and have no cycles to collect
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def command_line() -> tuple[str, ...]:
    """The command line that starts this mirrord, independent of working directory and `PATH`."""
    beside = Path(sys.executable).with_name("mirrord")
    return (str(beside),) if beside.exists() else (sys.executable, "-P", "-m", "mirrord.cli")
