"""Where the daemons of one host of a campaign come from: to import takes a second, most of what their life costs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.loaded import PROGRAM, Copy, Loaded

USES = 40  # daemons of one process: those that come of one order sets alike

_QUICK = "from tests.faults.quick import serve_quick; serve_quick({descriptor})"


class Forks:
    """Begins daemons as copies of one loaded process, and now and then of a new one."""

    def __init__(self, *, hurried: bool) -> None:
        """*hurried*: whether their waits for stillness are short."""
        self._program = _QUICK if hurried else PROGRAM
        self._loaded: Loaded | None = None
        self._left = 0

    def start(self, words: Sequence[str], *, log: Path, cwd: Path, env: Mapping[str, str]) -> Copy:
        """A daemon; *words* follow `mirrord`."""
        if self._left == 0 or self._loaded is None:
            self.close()
            self._loaded, self._left = Loaded(self._program), USES
        self._left -= 1
        return self._loaded.begin(words, log=log, cwd=cwd, env=env)

    def close(self) -> None:
        """No more come; those that did go on."""
        if self._loaded is not None:
            self._loaded.close()
            self._loaded, self._left = None, 0
