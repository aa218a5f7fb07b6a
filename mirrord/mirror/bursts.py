"""What watchfiles' watcher noticed, a burst at a time. It can only be polled: while nothing happens we sleep."""

import threading
import time
from collections.abc import Callable, Iterable

from watchfiles._rust_notify import RustNotify
from watchfiles.main import _default_force_polling

from mirrord.mirror.waking import Sleeper

DEBOUNCE = 50  # milliseconds: a burst is reported after this at the latest
STEP = 3  # milliseconds between looks for news while the watcher is polled
INSTANT = 1  # millisecond without a signal, after which the first news are looked at
SILENCE = 7  # milliseconds that end a burst of which more may come; less shows more renames half done
LAG = 10  # milliseconds that the watcher may need for what a signal told of
FEW = 20  # paths of which it is worth asking whether more may come
HEARTBEAT = 250  # milliseconds after which next() returns whether or not anything happened

Told = Callable[[set[str]], bool]


class Bursts:
    """
    Everything below some directories, watched from when this is made. To be used by the thread that makes it.

    Asleep, a signal tells of a first event. After a burst the watcher is polled in steps until it had nothing to tell
    for DEBOUNCE: it may lag behind the signals where processors are busy. It is polled only a little after signals of
    what it does not tell of (somebody reads files), and always where signals cannot be had.
    """

    def __init__(self, directories: Iterable[str], *, recursive: bool, told: Told) -> None:
        """told: whether nothing more is to come of what happened at these paths, so that no silence is awaited."""
        self._sleeper = Sleeper()
        self._ending = threading.Event()
        self._told = told
        # refusals are told: hiding those for lack of permission would hide those for lack of watches as well
        self._watcher = RustNotify(
            list(directories),
            debug=False,
            force_polling=_default_force_polling(None),  # where the system's events are known not to arrive
            poll_delay_ms=HEARTBEAT,
            recursive=recursive,
            ignore_permission_denied=False,
        )
        self._may_sleep = self._asleep = self._sleeper.adopt()
        self._in_vain = False  # whether what woke it lately was nothing that the watcher tells of

    @property
    def ended(self) -> bool:
        """Whether end() was called: next() has nothing more to tell."""
        return self._ending.is_set()

    def next(self) -> set[str]:
        """
        Where something changed in the next burst; nothing when HEARTBEAT is over, or after end().

        Raises WatchfilesRustInternalError, OSError when the watcher gave up.
        """
        if not self._may_sleep:
            return self._polled(HEARTBEAT)
        found = self._woken() if self._asleep else self._polled_for_long()
        self._asleep = not found
        return found

    def _woken(self) -> set[str]:
        """The next burst; nothing where none begins, and after events that the watcher does not tell of."""
        if not self._sleeper.sleep(HEARTBEAT / 1000):
            self._in_vain = False
            return self._polled(STEP)
        if not self._in_vain and (found := self._begun()):
            return found
        found = self._polled(LAG)
        self._in_vain = not found
        return found

    def _begun(self) -> set[str]:
        """The burst that began just now; nothing if its first events do not come in a moment."""
        end = time.monotonic() + SILENCE / 1000
        while self._sleeper.sleep(INSTANT / 1000):
            if time.monotonic() > end:
                return set()
        return self._whole(self._taken(step=0, patience=1))  # without a step it answers at once, but is busy until then

    def _polled_for_long(self) -> set[str]:
        """The next burst of many; the signals of what was looked at meanwhile are forgotten."""
        self._sleeper.sleep(0)
        if found := self._polled(DEBOUNCE):
            return found
        self._sleeper.sleep(0)
        return self._polled(2 * STEP)

    def end(self) -> None:
        """Let next() return soon, from another thread, while the one that calls it is there."""
        self._ending.set()
        self._sleeper.wake()

    def close(self) -> None:
        """Watch no longer."""
        self._watcher.close()

    def _polled(self, patience: int) -> set[str]:
        return self._whole(self._taken(step=STEP, patience=patience))

    def _whole(self, found: set[str]) -> set[str]:
        """*found*, and what comes until it is silent, if more may come."""
        if not found or (len(found) <= FEW and self._told(found)):
            return found
        return found | self._taken(step=SILENCE, patience=SILENCE)

    def _taken(self, *, step: int, patience: int) -> set[str]:
        """Where something changed until nothing did for a *step*, nothing within *patience*; both in milliseconds."""
        found = self._watcher.watch(DEBOUNCE, step, patience, self._ending)
        return set() if isinstance(found, str) else {path for _, path in found}
