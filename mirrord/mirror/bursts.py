"""What watchfiles' watcher noticed, as soon as it may. It can only be polled: while nothing happens we sleep."""

import threading
import time
from collections.abc import Iterable
from pathlib import Path

from watchfiles._rust_notify import RustNotify
from watchfiles.main import _default_force_polling

from mirrord.mirror.gathering import Gathering, Told
from mirrord.mirror.waking import Sleeper

STEP = 3  # milliseconds between looks for news while the watcher is polled
INSTANT = 1  # millisecond without a signal, after which the first news are looked at
FLURRY = 7  # milliseconds that such an instant is awaited
LOOKING = 6  # milliseconds after news in which signals are mostly of our own looking at it
NAP = 8  # milliseconds; how long a sleep soon after news may be
SOON = 50  # milliseconds for which it is soon
LOOKS = 2  # of the watcher at what it noticed, by which it knows that no more is coming
LAG = 10  # milliseconds that the watcher may need for what a signal told of
FOREVER = 0  # in the watcher's terms
HEARTBEAT = 250  # milliseconds after which next() returns whether or not anything happened


class Bursts:
    """
    Everything below some directories, watched from when this is made. To be used by the thread that makes it.

    A signal tells of a first event. After news the watcher is polled until it had nothing to tell for a while, signals
    or not: we are looking at what it told of, which signals too. Then we sleep, but for a time not long: it may lag
    behind the signals where processors are busy. It is polled only a little after signals of what it does not tell of
    (somebody reads files), and always where signals cannot be had.
    """

    def __init__(self, directories: Iterable[str], *, recursive: bool, root: Path, told: Told) -> None:
        """root: what the directories are or lie below; in it are the trees. told: see Gathering."""
        self._sleeper = Sleeper()
        self._ending = threading.Event()
        self._root = str(root)
        self._gathering = Gathering(told)
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
        Where below the root something changed, each tree's as a whole; nothing when HEARTBEAT is over, or after end().

        The root itself is "".

        Raises WatchfilesRustInternalError, OSError when the watcher gave up.
        """
        while not (whole := self._gathering.take(time.monotonic())):
            left = self._gathering.seconds_left(time.monotonic())
            found = self._first() if left is None else self._taken(step=INSTANT, patience=left * 1000)
            if self.ended or (left is None and not found):
                return set()
            self._gathering.add(map(self._below, found), time.monotonic())
        return whole

    def end(self) -> None:
        """Let next() return soon, from another thread, while the one that calls it is there."""
        self._ending.set()
        self._sleeper.wake()

    def close(self) -> None:
        """Watch no longer."""
        self._watcher.close()

    def _below(self, path: str) -> str:
        return path.removeprefix(self._root).removeprefix("/")

    def _first(self) -> set[str]:
        """News after none; nothing when HEARTBEAT is over."""
        if not self._may_sleep:
            return self._taken(step=STEP, patience=HEARTBEAT)
        found = self._woken(HEARTBEAT) if self._asleep else self._woken_soon()
        self._asleep = not found
        return found

    def _woken_soon(self) -> set[str]:
        """News after others; the signals of what was looked at meanwhile are forgotten."""
        self._sleeper.sleep(0)
        found = self._taken(step=STEP, patience=LOOKING)
        self._sleeper.sleep(0)
        end = time.monotonic() + SOON / 1000
        while not (found or self.ended) and time.monotonic() < end:
            found = self._woken(NAP)
        return found

    def _woken(self, patience: int) -> set[str]:
        """News after a sleep; nothing where none come, and after events that the watcher does not tell of."""
        if not self._sleeper.sleep(patience / 1000):
            self._in_vain = False
            return self._taken(step=INSTANT, patience=INSTANT)
        if not self._in_vain and (found := self._begun()):
            return found
        found = self._taken(step=STEP, patience=LAG)
        self._in_vain = not found
        return found

    def _begun(self) -> set[str]:
        """News of what began just now; nothing if its first events do not come in a moment."""
        end = time.monotonic() + FLURRY / 1000
        while self._sleeper.sleep(INSTANT / 1000):
            if time.monotonic() > end:
                return set()
        return self._taken(step=0, patience=1)  # without a step it answers at once, but is busy until then

    def _taken(self, *, step: int, patience: float) -> set[str]:
        """Where something changed, a moment's worth; nothing if nothing did within *patience*, in milliseconds."""
        found = self._seen(step, _Patience(patience, self._ending, 0)) if step else set()
        # what came with the last step is looked for at once: its signals are forgotten soon
        return found or self._seen(0, _Patience(0 if step else patience, self._ending, LOOKS))

    def _seen(self, step: int, patience: "_Patience") -> set[str]:
        try:
            found = self._watcher.watch(2 * STEP, step, FOREVER, patience)
        except _Over:
            return set()
        return set() if isinstance(found, str) else {path for _, path in found}


class _Over(Exception):
    """No news within the patience."""


class _Patience:
    """
    What the watcher asks at each step whether to stop.

    Its own timeout forgets what it noticed since it last counted, and so do its stops; an error leaves that to the
    next question.
    """

    def __init__(self, milliseconds: float, ending: threading.Event, looks: int) -> None:
        """looks: how often the watcher sees what there is, in any case."""
        self._end = time.monotonic() + milliseconds / 1000
        self._left = looks
        self._ending = ending

    def is_set(self) -> bool:
        """Raises _Over when the time is over. It asks before it looks."""
        if self._ending.is_set() or (self._left <= 0 and time.monotonic() >= self._end):
            raise _Over
        self._left -= 1
        return False
