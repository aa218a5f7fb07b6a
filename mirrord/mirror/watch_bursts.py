"""Collects what watchfiles noticed as soon as possible, sleeping in the kernel while nothing happens."""

import fcntl
import os
import signal
import struct
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import watchfiles

from mirrord.mirror.change_batches import Gathering, IsComplete

_SIGNAL = signal.SIGURG  # ignored by default, and not used elsewhere here
_F_SETOWN_EX, _F_GETOWN_EX, _F_OWNER_TID = 15, 16, 0  # of fcntl(2)
_OWNER = struct.Struct("ii")  # struct f_owner_ex

INSTANT_MS = 1  # millisecond without a signal, after which changes are looked at; the first sleep after changes
FLURRY_MS = 6  # milliseconds to wait for such an instant at most
HEARTBEAT_MS = 250  # milliseconds of sleep at most
MAX_SAVE_SIGNALS = 8  # of one save; after more, a flurry is waited for without waking for each signal


class Sleeper:
    """
    Lets the creating thread sleep until an inotify descriptor of this process has an event.

    The signal comes even if the reader of the descriptor has read the event by then, which polling it could miss.
    """

    def __init__(self) -> None:
        """Claims unowned inotify descriptors. Without any, or if the kernel refuses, every sleep is short."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {_SIGNAL})
        self._thread = threading.get_ident()
        owned = [_claim_descriptor(descriptor) for descriptor in _inotify_descriptors()]
        self._max_ms = HEARTBEAT_MS if any(owned) else INSTANT_MS

    def sleep(self, milliseconds: int) -> bool:
        """Sleep. Return whether an event or wake() ended it; one since the last sleep ends it at once."""
        return signal.sigtimedwait({_SIGNAL}, min(milliseconds, self._max_ms) / 1000) is not None

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


def _claim_descriptor(descriptor: int) -> bool:
    """Have events of *descriptor* signalled to this thread, unless it has an owner."""
    with suppress(OSError):
        if _OWNER.unpack(fcntl.fcntl(descriptor, _F_GETOWN_EX, bytes(_OWNER.size)))[1] == 0:
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, _SIGNAL)
            fcntl.fcntl(descriptor, _F_SETOWN_EX, _OWNER.pack(_F_OWNER_TID, threading.get_native_id()))
            fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)
            return True
    return False


def sleep_through_flurry(sleeper: Sleeper) -> None:
    """Sleep until an instant without a signal. The files that an import opens give thousands of signals a second."""
    end = time.monotonic() + FLURRY_MS / 1000
    for _ in range(MAX_SAVE_SIGNALS):
        if time.monotonic() >= end or not sleeper.sleep(INSTANT_MS):
            return
    time.sleep(max(0.0, end - time.monotonic()))


class Bursts:
    """Changes below a directory, noticed in the thread that calls run()."""

    def __init__(
        self,
        root: Path,
        is_complete: IsComplete,
        is_outdated: Callable[[set[str]], bool],
        deliver: Callable[[set[str]], object],
    ) -> None:
        """
        root: the parent of the trees. is_complete: see Gathering.

        is_outdated: whether run() must end because of these changes, or of anything else.
        deliver: receives changed paths below the root, complete for each tree; the root itself is "". Both are called
        with no paths when the watch is live and after HEARTBEAT without changes.
        """
        self._root = str(root)
        self._gathering = Gathering(is_complete)
        self._is_outdated, self._deliver = is_outdated, deliver
        self._ending = threading.Event()
        self._sleeper: Sleeper | None = None
        self._next_heartbeat = 0.0
        self._sleep_ms, self._is_second_look = INSTANT_MS, True

    def run(self, directories: Iterable[str], *, recursive: bool) -> None:
        """
        Watch the directories, which are the root or lie below it, until stop().

        Raises OSError or RuntimeError if the watch fails.
        """
        for changes in watchfiles.watch(
            *directories,
            watch_filter=None,
            debounce=FLURRY_MS,
            step=0,  # is_set() waits instead
            stop_event=self,
            rust_timeout=0,  # none: watchfiles loses changes that come as a timeout ends
            poll_delay_ms=HEARTBEAT_MS,
            recursive=recursive,
            ignore_permission_denied=False,  # hides refusals for lack of watches, too
        ):
            paths = (path.removeprefix(self._root).removeprefix("/") for _, path in changes)
            self._gathering.add(paths, time.monotonic())
            self._hand_out()

    def stop(self) -> None:
        """End run() soon. Called from another thread, while that of run() lives."""
        self._ending.set()
        if self._sleeper is not None:
            self._sleeper.wake()

    def is_set(self) -> bool:
        """Whether to end. watchfiles asks before each look and reports what two show; we sleep before the first."""
        self._is_second_look = not self._is_second_look
        if not self._is_second_look:
            self._hand_out()
            self._sleep()
        return self._ending.is_set()

    def _sleep(self) -> None:
        """Sleep until a burst has ended; longer and longer, since on busy processors watchfiles lags behind signals."""
        self._sleeper = sleeper = self._sleeper or Sleeper()
        milliseconds = self._sleep_ms if self._gathering.seconds_left(0) is None else INSTANT_MS
        if self._ending.is_set() or not sleeper.sleep(milliseconds):
            self._sleep_ms = min(2 * milliseconds, HEARTBEAT_MS)
            return
        self._sleep_ms = INSTANT_MS
        sleep_through_flurry(sleeper)

    def _hand_out(self) -> None:
        now = time.monotonic()
        paths = self._gathering.take_complete(now)
        if paths or now >= self._next_heartbeat:
            self._next_heartbeat = now + HEARTBEAT_MS / 1000
            if self._is_outdated(paths):
                self._ending.set()
            self._deliver(paths)
