"""What one session was shown of the pages: the ground on which it may replace them."""

import threading
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mirrord.domain.entry import Digest

MAX_DIGESTS_PER_PAGE = 16


class ShownDigests:
    """By path, the digests of the texts that were shown whole, the newest last; safe to use from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._digests: dict[str, deque[Digest]] = defaultdict(lambda: deque(maxlen=MAX_DIGESTS_PER_PAGE))

    def add(self, path: str, digest: Digest) -> None:
        """The whole text of *path* with this digest was shown."""
        with self._guard:
            if digest not in self._digests[path]:
                self._digests[path].append(digest)

    def has(self, path: str, digest: Digest) -> bool:
        """Whether this text was shown whole."""
        with self._guard:
            return path in self._digests and digest in self._digests[path]

    def move(self, path: str, target: str) -> None:
        """The page at *path* is at *target* now."""
        with self._guard:
            if path in self._digests:
                self._digests[target] = self._digests.pop(path)


class Memory:
    """
    What one session was shown; safe to use from several threads.

    seen: by path, the digest of each page as this session last saw or left it.
    """

    def __init__(self, digests: ShownDigests | None = None) -> None:
        """*digests*: of whom the texts count as shown; None: of this session alone."""
        self.seen: dict[str, Digest] = {}
        self._shown_until: dict[str, int | None] = {}
        self._digests = digests or ShownDigests()
        self._guard = threading.RLock()

    def note(self, path: str, digest: Digest, until: int | None) -> None:
        """The page was shown up to the character *until*; None: whole."""
        with self._guard:
            self.seen[path] = digest
            self._shown_until[path] = until
            if until is None:
                self._digests.add(path, digest)

    def note_part(self, path: str, digest: Digest, first: int, last: int, total: int) -> None:
        """
        The page was shown from character *first* to *last*, of *total*.

        Parts that follow each other add up; only who saw all may replace all.
        """
        with self._guard:
            until = self.shown_until(path, digest)
            if self.seen.get(path) == digest and self.may_replace(path):
                return
            if first <= until:
                until = max(until, last)
            self.note(path, digest, None if until >= total else until)

    def note_edit(self, path: str, digest: Digest) -> None:
        """
        The session changed a part of the page, and was shown that change only.

        Another mind behind the same session may still hold the text from before, so only the digest of this answer, not
        the memory, allows to replace the whole page.
        """
        with self._guard:
            seen = self.seen.get(path)
            is_known = seen is not None and self.was_shown(path, seen)
            self.note(path, digest, until=0)
            if is_known:
                self._digests.add(path, digest)

    def shown_until(self, path: str, digest: Digest) -> int:
        """How many characters from the beginning on were shown of a page as it is now."""
        return (self._shown_until.get(path) or 0) if self.seen.get(path) == digest else 0

    def may_replace(self, path: str) -> bool:
        """Whether a write without an expected digest may replace the page: its last text was shown, not only edited."""
        return self._shown_until.get(path, 0) is None

    def was_shown(self, path: str, digest: Digest) -> bool:
        """Whether this text of the page was shown whole, or came from the session."""
        return self._digests.has(path, digest)

    def move(self, path: str, target: str, digest: Digest | None) -> None:
        """What was seen at *path* is at *target* now; digest: what it holds since; None: the same."""
        with self._guard:
            seen, until = self.seen.pop(path), self._shown_until.pop(path)
            is_shown = self.was_shown(path, seen)
            self._digests.move(path, target)
            self.note(target, digest or seen, until)
            if is_shown and digest is not None:
                self._digests.add(target, digest)

    def forget(self, path: str) -> None:
        """The page is gone."""
        with self._guard:
            self.seen.pop(path, None)
            self._shown_until.pop(path, None)


_current: ContextVar[Memory | None] = ContextVar("memory", default=None)


def current_memory() -> Memory | None:
    """The memory that counts for what runs now; None: that of the connection."""
    return _current.get()


@contextmanager
def remembering(memory: Memory) -> Iterator[None]:
    """Let *memory* count for the length of a `with`, in this thread."""
    before = _current.set(memory)
    try:
        yield
    finally:
        _current.reset(before)
