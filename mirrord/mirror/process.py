"""What a process must set before it works on trees."""

import gc
import resource
import signal


def prepare_process() -> None:
    """
    Make leases harmless, allow many open files, and collect garbage seldom. Call once, in the main thread.

    The kernel sends SIGIO to a lease's holder when somebody opens the file; by default that kills.
    """
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    gc.set_threshold(100_000, 20, 100)  # values live as long as a pass: looking for cycles among them finds none
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
