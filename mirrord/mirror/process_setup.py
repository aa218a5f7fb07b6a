"""What a process sets before it works on trees, and how another mirrord process is started."""

import ctypes
import gc
import mmap
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path

# A terminal sends them to all its processes, by Ctrl-C and when it is closed; the daemon alone decides what follows.
TERMINAL_SIGNALS = frozenset({signal.SIGINT, signal.SIGHUP})
_PR_SET_PDEATHSIG = 1  # prctl(2)
RESERVE_BYTES = 16 << 20  # a process that cannot get so much is of no use
LOOK_SECONDS = 1.0  # seconds between two looks at the memory
MAX_LOOKS = 3  # looks without memory, one after the other
_NO_MEMORY_LINE = b"mirrord: there is no memory left; the process ends.\n"


def prepare_process() -> None:
    """
    Make leases harmless, allow many open files, and collect garbage rarely. Call it once, in the main thread.

    The kernel sends SIGIO to the holder of a lease when the file is opened; by default that kills the process.
    """
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    gc.set_threshold(100_000, 20, 100)  # values live as long as a pass and have no cycles to collect
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def list_stop_signals() -> list[signal.Signals]:
    """The signals at which a daemon finishes its work and ends: SIGHUP unless it is ignored, as by nohup."""
    is_hangup_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([] if is_hangup_ignored else [signal.SIGHUP])]


def end_with_parent(parent: int) -> None:
    """Let the kernel kill this process when *parent*, the process that started it, ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the line above
        os._exit(1)


def end_without_memory() -> None:
    """
    Let this process end when it has had no memory for MAX_LOOKS looks: it would wait for ever, for a thread that cannot
    begin for instance.

    A thread that has begun looks, because nothing else need be able to. Call it once, in a process that is started
    again when it ends.
    """
    threading.Thread(target=_watch_memory, name="memory", daemon=True).start()


def _watch_memory() -> None:
    looks = 0
    while looks < MAX_LOOKS:
        time.sleep(LOOK_SECONDS)
        looks = 0 if has_memory() else looks + 1
    os.write(2, _NO_MEMORY_LINE)
    os._exit(1)


def has_memory() -> bool:
    """Whether this process can still get RESERVE_BYTES: if so, what failed for want of memory wanted too much."""
    try:
        mmap.mmap(-1, RESERVE_BYTES).close()
    except (MemoryError, OSError):
        return False
    return True


def return_free_memory() -> None:
    """Give the kernel back what this process has freed, where the C library can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if trim is not None:
        trim(0)


def command_line() -> tuple[str, ...]:
    """The command line that starts this mirrord, independent of working directory and `PATH`."""
    beside = Path(sys.executable).with_name("mirrord")
    return (str(beside),) if beside.exists() else (sys.executable, "-P", "-m", "mirrord.cli")
