"""Sleep until the kernel has an event for a descriptor that another thread reads: each event sends a signal."""

import fcntl
import os
import signal
import struct
import threading
from contextlib import suppress

_SIGNAL = signal.SIGURG  # ignored by default, and not used elsewhere here
_F_SETOWN_EX, _F_GETOWN_EX, _F_OWNER_TID = 15, 16, 0  # of fcntl(2)
_OWNER = struct.Struct("ii")  # struct f_owner_ex


class Sleeper:
    """
    Lets the creating thread sleep until an inotify descriptor of this process has an event.

    The signal comes even if the reader of the descriptor has read the event by then; polling the descriptor beside its
    reader could miss it. Pending signals coalesce into one wake-up.
    """

    def __init__(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {_SIGNAL})
        self._thread = threading.get_ident()

    def claim_descriptors(self) -> bool:
        """Claim unowned inotify descriptors. Return False if there are none or the kernel refuses."""
        is_adopted = False
        for descriptor in _inotify_descriptors():
            with suppress(OSError):
                if _OWNER.unpack(fcntl.fcntl(descriptor, _F_GETOWN_EX, bytes(_OWNER.size)))[1] == 0:
                    _signal_events(descriptor, threading.get_native_id())
                    is_adopted = True
        return is_adopted

    def sleep(self, seconds: float) -> bool:
        """Sleep up to *seconds*. Return whether an event or wake() came, also since the last sleep."""
        return signal.sigtimedwait({_SIGNAL}, seconds) is not None

    def wake(self) -> None:
        """End the sleep. Called from another thread, while the sleeping thread lives."""
        signal.pthread_kill(self._thread, _SIGNAL)


def _inotify_descriptors() -> list[int]:
    descriptors = []
    with suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):  # closed meanwhile
                if os.readlink(f"/proc/self/fd/{name}") == "anon_inode:inotify":
                    descriptors.append(int(name))
    return descriptors


def _signal_events(descriptor: int, thread: int) -> None:
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, _SIGNAL)
    fcntl.fcntl(descriptor, _F_SETOWN_EX, _OWNER.pack(_F_OWNER_TID, thread))
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)
