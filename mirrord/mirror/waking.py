"""Sleeping until the kernel has an event for a descriptor that another thread reads: a signal tells of each."""

import fcntl
import os
import signal
import struct
import threading
from contextlib import suppress

_SIGNAL = signal.SIGURG  # ignored where nobody waits for it, and used by nothing else here
_F_SETOWN_EX, _F_GETOWN_EX, _F_OWNER_TID = 15, 16, 0  # of fcntl(2)
_OWNER = struct.Struct("ii")  # struct f_owner_ex


class Sleeper:
    """
    The thread that makes it can sleep until an inotify descriptor of this process has an event.

    Whoever reads the descriptor may have read the event by then: the signal comes all the same, which polling the
    descriptor beside its reader does not promise. Signals that nobody waited for are one when somebody does.
    """

    def __init__(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {_SIGNAL})
        self._thread = threading.get_ident()

    def adopt(self) -> bool:
        """Be woken by every inotify descriptor that wakes nobody yet; whether there is one, and it can."""
        adopted = False
        for descriptor in _inotify_descriptors():
            with suppress(OSError):
                if _OWNER.unpack(fcntl.fcntl(descriptor, _F_GETOWN_EX, bytes(_OWNER.size)))[1] == 0:
                    _signal_events(descriptor, threading.get_native_id())
                    adopted = True
        return adopted

    def sleep(self, seconds: float) -> bool:
        """Whether an event came, or somebody called wake(), within *seconds* or since the last sleep."""
        return signal.sigtimedwait({_SIGNAL}, seconds) is not None

    def wake(self) -> None:
        """End the sleep, from another thread, while the one that sleeps is there."""
        signal.pthread_kill(self._thread, _SIGNAL)


def _inotify_descriptors() -> list[int]:
    found = []
    with suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):  # closed meanwhile
                if os.readlink(f"/proc/self/fd/{name}") == "anon_inode:inotify":
                    found.append(int(name))
    return found


def _signal_events(descriptor: int, thread: int) -> None:
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, _SIGNAL)
    fcntl.fcntl(descriptor, _F_SETOWN_EX, _OWNER.pack(_F_OWNER_TID, thread))
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)
