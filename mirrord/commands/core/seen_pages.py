"""The pages a session was shown, and so may replace."""

import threading
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mirrord.domain.entry import Digest

MAX_DIGESTS_PER_PAGE = 16


class ShownDigests:
    """Digests of texts shown whole, by path, newest last; thread-safe."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._digests: dict[str, deque[Digest]] = defaultdict(lambda: deque(maxlen=MAX_DIGESTS_PER_PAGE))

    def add(self, path: str, digest: Digest) -> None:
        """Note that the whole text of *path* with this digest was shown."""
        with self._guard:
            if digest not in self._digests[path]:
                self._digests[path].append(digest)

    def has(self, path: str, digest: Digest) -> bool:
        """Whether this text was shown whole."""
        with self._guard:
            return path in self._digests and digest in self._digests[path]

    def move(self, path: str, target: str) -> None:
        """Note that the page at *path* moved to *target*."""
        with self._guard:
            if path in self._digests:
                self._digests[target] = self._digests.pop(path)


class Memory:
    """
    Page texts shown to one session; thread-safe.

    last_digests: digest of each page as this session last saw or wrote it, by path.
    """

    def __init__(self, digests: ShownDigests | None = None) -> None:
        """*digests*: shared digests that count as shown; None: those of this session alone."""
        self.last_digests: dict[str, Digest] = {}
        self._shown_until: dict[str, int | None] = {}
        self._digests = digests or ShownDigests()
        self._guard = threading.RLock()

    def note_shown(self, path: str, digest: Digest, until: int | None) -> None:
        """Note that the page was shown up to the character *until*; None: whole."""
        with self._guard:
            self.last_digests[path] = digest
            self._shown_until[path] = until
            if until is None:
                self._digests.add(path, digest)

    def note_part(self, path: str, digest: Digest, first: int, last: int, total: int) -> None:
        """
        Note that the page was shown from character *first* to *last*, of *total*.

        Consecutive parts add up; only a session that saw the whole text may replace it.
        """
        with self._guard:
            until = self.shown_until(path, digest)
            if self.last_digests.get(path) == digest and self.may_replace(path):
                return
            if first <= until:
                until = max(until, last)
            self.note_shown(path, digest, None if until >= total else until)

    def note_edit(self, path: str, digest: Digest) -> None:
        """
        Note that the session changed a part of the page and was shown only that change.

        Another client of the session may still hold the old text, so only the digest of this answer, not the memory,
        permits the replacement of the whole page.
        """
        with self._guard:
            digest_before = self.last_digests.get(path)
            is_known = digest_before is not None and self.was_shown(path, digest_before)
            self.note_shown(path, digest, until=0)
            if is_known:
                self._digests.add(path, digest)

    def permit_replacement(self, path: str, digest: Digest) -> None:
        """Note that a call which expects *digest* may replace the page, though its text was not shown."""
        self._digests.add(path, digest)

    def shown_until(self, path: str, digest: Digest) -> int:
        """Number of characters shown from the beginning of the page with this digest."""
        return (self._shown_until.get(path) or 0) if self.last_digests.get(path) == digest else 0

    def may_replace(self, path: str) -> bool:
        """Whether a write without an expected digest may replace the page: its last text was shown whole."""
        return self._shown_until.get(path, 0) is None

    def was_shown(self, path: str, digest: Digest) -> bool:
        """Whether this text of the page was shown whole, or came from the session."""
        return self._digests.has(path, digest)

    def move(self, path: str, target: str, digest: Digest | None) -> None:
        """Note that the page at *path* moved to *target*. digest: of its new text; None: unchanged."""
        with self._guard:
            digest_before, until = self.last_digests.pop(path), self._shown_until.pop(path)
            is_shown = self.was_shown(path, digest_before)
            self._digests.move(path, target)
            self.note_shown(target, digest or digest_before, until)
            if is_shown and digest is not None:
                self._digests.add(target, digest)

    def forget(self, path: str) -> None:
        """Note that the page was removed."""
        with self._guard:
            self.last_digests.pop(path, None)
            self._shown_until.pop(path, None)


_current: ContextVar[Memory | None] = ContextVar("memory", default=None)


def current_memory() -> Memory | None:
    """The memory set for the current context; None: use that of the connection."""
    return _current.get()


@contextmanager
def using_memory(memory: Memory) -> Iterator[None]:
    """Use *memory* within a `with` block, in this thread."""
    before = _current.set(memory)
    try:
        yield
    finally:
        _current.reset(before)
