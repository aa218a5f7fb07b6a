"""What an exported tree remembers: a directory `.mirrord-export` in it, of which one export at a time writes."""

import fcntl
import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress

from mirrord.domain.entry import Digest
from mirrord.errors import Busy, Damaged
from mirrord.mirror import kernel, manifest
from mirrord.mirror.journal import PRIVATE
from mirrord.mirror.manifest import BUILDING, DIRECTORY, FACTS, FILES, Manifest
from mirrord.mirror.tree import Tree

_NEXT = ".next"  # ends the name of what is to take the place of a file
_FACTS_BYTES = 1 << 28
_LINES = 10_000  # of the list, written at once


class Ledger:
    """
    The files `manifest` tells of, and a directory to build in, locked until close().

    earlier: what the export before said of itself; None: there was none. known: all that exports wrote, or were about
    to, by path; of one that died in the middle there may be two digests.
    """

    def __init__(self, tree: Tree) -> None:
        """Makes what lacks. Raises Busy while another export works here, Damaged for a manifest nobody can read."""
        self._tree = tree
        self._lines: list[bytes] = []
        with ExitStack() as opened:
            tree.make_directories(BUILDING, PRIVATE)
            self._directory = self._opened(opened, DIRECTORY)
            self._lock()
            self.building = self._opened(opened, BUILDING)
            self._files = self._opened_list()
            opened.callback(os.close, self._files)
            self.earlier = self._read_facts()
            self.known = self._read_list()
            self._close = opened.pop_all()

    def close(self) -> None:
        """Give the lock back."""
        self._close.close()

    def note(self, path: str, digest: Digest) -> None:
        """A file is about to be written; write() tells the disk."""
        self.known[path] = (*self.known.get(path, ()), digest)
        self._lines.append(manifest.line(path, digest))

    def write(self) -> None:
        """Write down what was noted; durable with the next sync of the file system."""
        kernel.write(self._files, b"".join(self._lines))
        self._lines.clear()

    def state(self, facts: Manifest) -> None:
        """What the export says of itself, all at once and durably."""
        self._put(FACTS, [manifest.encoded(facts)])
        kernel.fsync(self._directory)

    def settle(self, files: Mapping[str, Digest]) -> Digest:
        """The list of *files* and nothing else; its digest. Durable with the next state()."""
        paths = sorted(files)
        parts = (paths[at : at + _LINES] for at in range(0, len(paths), _LINES))
        return self._put(FILES, (b"".join(manifest.line(path, files[path]) for path in part) for part in parts))

    def _put(self, path: str, pieces: Iterable[bytes]) -> Digest:
        name = path.rpartition("/")[2]
        with suppress(FileNotFoundError):  # of an export that died
            kernel.unlink(self._directory, name + _NEXT)
        descriptor, state = kernel.create(self._directory, name + _NEXT, 0o600), hashlib.blake2b(digest_size=32)
        try:
            for piece in pieces:
                kernel.write(descriptor, piece)
                state.update(piece)
            kernel.fsync(descriptor)
        finally:
            os.close(descriptor)
        kernel.rename(self._directory, name + _NEXT, self._directory, name)
        return Digest(state.digest())

    def _opened(self, opened: ExitStack, path: str) -> int:
        with self._tree.directory(path) as found:
            descriptor = os.dup(found)
        opened.callback(os.close, descriptor)
        return descriptor

    def _opened_list(self) -> int:
        flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CREAT | os.O_CLOEXEC
        return os.open(FILES.rpartition("/")[2], flags, 0o600, dir_fd=self._directory)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(f"Another export writes into {self._tree.root} now.") from None

    def _read_facts(self) -> Manifest | None:
        try:
            return manifest.decoded(self._tree.snapshot(FACTS, _FACTS_BYTES)[0])
        except FileNotFoundError:
            return None
        except Damaged as error:
            raise Damaged(
                f"{error} Delete {self._tree.root / DIRECTORY} and export with --force: what is equal is recognised."
            ) from None

    def _read_list(self) -> dict[str, tuple[Digest, ...]]:
        known: dict[str, tuple[Digest, ...]] = {}
        with open(os.dup(self._files), "rb") as lines:
            lines.seek(0)
            for path, digest in manifest.listed(lines):
                known[path] = (*known.get(path, ()), digest)
        return known
