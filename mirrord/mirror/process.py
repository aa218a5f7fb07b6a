"""What a process must set before it works on trees."""

import resource
import signal


def prepare_process() -> None:
    """
    Make leases harmless and allow many open files. Call once, in the main thread.

    The kernel sends SIGIO to a lease's holder when somebody opens the file; by default that kills.
    """
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
