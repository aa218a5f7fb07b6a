"""Collects what watchfiles noticed as soon as possible, sleeping in the kernel while nothing happens."""

import fcntl
import os
import signal
import struct
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from watchfiles._rust_notify import RustNotify
from watchfiles.main import _default_force_polling

from mirrord.mirror.change_batches import Gathering, IsComplete

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


STEP_MS = 3  # milliseconds between two polls of the watcher
INSTANT_MS = 1  # millisecond without a signal, after which the first news is read
FLURRY_MS = 7  # milliseconds to wait for such an instant at most
OWN_READING_MS = 6  # milliseconds after news in which most signals come from our own reading
NAP_MS = 8  # milliseconds; the longest sleep soon after news
SOON_MS = 50  # milliseconds after news that count as soon
MIN_LOOKS = 2  # by the watcher at its events, until it knows that a burst has ended
LAG_MS = 10  # milliseconds that the watcher may lag behind a signal
NO_TIMEOUT = 0  # in the watcher's terms
HEARTBEAT_MS = 250  # milliseconds after which next_changes() returns in any case


class Bursts:
    """
    Changes below some directories since construction. Use it only in the thread that creates it.

    A signal announces a first event. After news the watcher is polled until it has been quiet for a while, with or
    without signals: our own reading of the changed files signals too. Then we sleep, for short times at first: on busy
    processors the watcher lags behind the signals. It is polled only briefly after signals of events that it does not
    report (reading of files), and always if signals are unavailable.
    """

    def __init__(self, directories: Iterable[str], *, recursive: bool, root: Path, is_complete: IsComplete) -> None:
        """root: the parent of the trees; the directories are it or lie below it. is_complete: see Gathering."""
        self._sleeper = Sleeper()
        self._ending = threading.Event()
        self._root = str(root)
        self._gathering = Gathering(is_complete)
        # report refusals: hiding those for lack of permission would hide those for lack of watches as well
        self._watcher = RustNotify(
            list(directories),
            debug=False,
            force_polling=_default_force_polling(None),  # on systems whose events are known not to arrive
            poll_delay_ms=HEARTBEAT_MS,
            recursive=recursive,
            ignore_permission_denied=False,
        )
        self._may_sleep = self._asleep = self._sleeper.claim_descriptors()
        self._last_wake_was_empty = False  # no event of the watcher followed

    @property
    def is_stopped(self) -> bool:
        """Whether end() was called: next_changes() returns no more paths."""
        return self._ending.is_set()

    def next_changes(self) -> set[str]:
        """
        Changed paths below the root, complete for each tree; empty after HEARTBEAT without news, or after end().

        The root itself is "".

        Raises WatchfilesRustInternalError or OSError if the watcher fails.
        """
        while not (complete_paths := self._gathering.take_complete(time.monotonic())):
            seconds_left = self._gathering.seconds_left(time.monotonic())
            paths = (
                self._first() if seconds_left is None else self._taken(step=INSTANT_MS, patience=seconds_left * 1000)
            )
            if self.is_stopped or (seconds_left is None and not paths):
                return set()
            self._gathering.add(map(self._relative_path, paths), time.monotonic())
        return complete_paths

    def stop(self) -> None:
        """
        Make next_changes() return soon. Called from another thread, while the calling thread of next_changes() lives.
        """
        self._ending.set()
        self._sleeper.wake()

    def close(self) -> None:
        """Stop watching."""
        self._watcher.close()

    def _relative_path(self, path: str) -> str:
        return path.removeprefix(self._root).removeprefix("/")

    def _first(self) -> set[str]:
        """The first news after silence; empty after HEARTBEAT."""
        if not self._may_sleep:
            return self._taken(step=STEP_MS, patience=HEARTBEAT_MS)
        paths = self._wait_for_signal(HEARTBEAT_MS) if self._asleep else self._wait_soon_after_news()
        self._asleep = not paths
        return paths

    def _wait_soon_after_news(self) -> set[str]:
        """News soon after others; signals of our own reading in between are dropped."""
        self._sleeper.sleep(0)
        paths = self._taken(step=STEP_MS, patience=OWN_READING_MS)
        self._sleeper.sleep(0)
        end = time.monotonic() + SOON_MS / 1000
        while not (paths or self.is_stopped) and time.monotonic() < end:
            paths = self._wait_for_signal(NAP_MS)
        return paths

    def _wait_for_signal(self, patience: int) -> set[str]:
        """News after a sleep; empty if none come, or if the watcher does not report the event."""
        if not self._sleeper.sleep(patience / 1000):
            self._last_wake_was_empty = False
            return self._taken(step=INSTANT_MS, patience=INSTANT_MS)
        if not self._last_wake_was_empty and (paths := self._collect_starting_burst()):
            return paths
        paths = self._taken(step=STEP_MS, patience=LAG_MS)
        self._last_wake_was_empty = not paths
        return paths

    def _collect_starting_burst(self) -> set[str]:
        """News of a burst that has just begun; empty if its first events take too long."""
        end = time.monotonic() + FLURRY_MS / 1000
        while self._sleeper.sleep(INSTANT_MS / 1000):
            if time.monotonic() > end:
                return set()
        return self._taken(step=0, patience=1)  # without a step it answers at once, but is busy until then

    def _taken(self, *, step: int, patience: float) -> set[str]:
        """The changed paths of a moment; empty if nothing changed within *patience*, in milliseconds."""
        paths = self._ask_watcher(step, _Patience(patience, self._ending, 0)) if step else set()
        # events of the last step are read at once: their signals are dropped soon
        return paths or self._ask_watcher(0, _Patience(0 if step else patience, self._ending, MIN_LOOKS))

    def _ask_watcher(self, step: int, patience: "_Patience") -> set[str]:
        try:
            changes = self._watcher.watch(2 * STEP_MS, step, NO_TIMEOUT, patience)
        except _PatienceOver:
            return set()
        return set() if isinstance(changes, str) else {path for _, path in changes}


class _PatienceOver(Exception):
    """No news within the patience."""


class _Patience:
    """
    The stop event that the watcher checks at each step.

    The watcher's own timeout and its stops lose the events since its last count; an error keeps them for the next call.
    """

    def __init__(self, milliseconds: float, ending: threading.Event, looks: int) -> None:
        """looks: the minimum number of looks of the watcher."""
        self._end = time.monotonic() + milliseconds / 1000
        self._looks_left = looks
        self._ending = ending

    def is_set(self) -> bool:
        """Raises _PatienceOver when the time is over. The watcher calls this before each look."""
        if self._ending.is_set() or (self._looks_left <= 0 and time.monotonic() >= self._end):
            raise _PatienceOver
        self._looks_left -= 1
        return False
