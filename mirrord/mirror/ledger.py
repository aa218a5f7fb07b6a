"""The record of an exported tree: a directory `.mirrord-export` in it, with one writing export at a time."""

import fcntl
import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress

from mirrord.domain.entry import Digest
from mirrord.errors import Busy, Damaged
from mirrord.mirror import kernel, manifest
from mirrord.mirror.journal import PRIVATE_MODE
from mirrord.mirror.manifest import BUILD_PATH, EXPORT_DIRECTORY, FILE_LIST_PATH, MANIFEST_PATH, Manifest
from mirrord.mirror.tree import Tree

_NEXT_SUFFIX = ".next"  # of the new version of a file
_MAX_FACTS_BYTES = 1 << 28
_MAX_LINES = 10_000  # of the list in one write


class ExportLedger:
    """
    The files that `manifest` describes, and a directory to build in, locked until close().

    earlier: the manifest of the previous export; None: there was none. known: digests of all files that exports wrote,
    or were about to write, by path; an interrupted export may leave two digests of a file.
    """

    def __init__(self, tree: Tree) -> None:
        """Create missing files. Raises Busy while another export works here, Damaged for an unreadable manifest."""
        self._tree = tree
        self._lines: list[bytes] = []
        with ExitStack() as resources:
            tree.make_directories(BUILD_PATH, PRIVATE_MODE)
            self._directory = self._open_directory(resources, EXPORT_DIRECTORY)
            self._lock_directory()
            self.building = self._open_directory(resources, BUILD_PATH)
            self._files = self._open_list()
            resources.callback(os.close, self._files)
            self.earlier = self._read_facts()
            self.known = self._read_list()
            self._close = resources.pop_all()

    def close(self) -> None:
        """Release the lock."""
        self._close.close()

    def note_file(self, path: str, digest: Digest) -> None:
        """Note that a file is about to be written; write() puts the notes on disk."""
        self.known[path] = (*self.known.get(path, ()), digest)
        self._lines.append(manifest.line_of(path, digest))

    def flush_notes(self) -> None:
        """Write the notes; durable with the next sync of the file system."""
        kernel.write(self._files, b"".join(self._lines))
        self._lines.clear()

    def write_manifest(self, facts: Manifest) -> None:
        """Write the manifest of the export, atomically and durably."""
        self._replace_file(MANIFEST_PATH, [manifest.encode_manifest(facts)])
        kernel.fsync(self._directory)

    def write_list(self, files: Mapping[str, Digest]) -> Digest:
        """Replace the list by *files* and return its digest. Durable with the next state()."""
        paths = sorted(files)
        parts = (paths[at : at + _MAX_LINES] for at in range(0, len(paths), _MAX_LINES))
        return self._replace_file(
            FILE_LIST_PATH, (b"".join(manifest.line_of(path, files[path]) for path in part) for part in parts)
        )

    def _replace_file(self, path: str, pieces: Iterable[bytes]) -> Digest:
        name = path.rpartition("/")[2]
        with suppress(FileNotFoundError):  # of an interrupted export
            kernel.unlink(self._directory, name + _NEXT_SUFFIX)
        descriptor, state = kernel.create(self._directory, name + _NEXT_SUFFIX, 0o600), hashlib.blake2b(digest_size=32)
        try:
            for piece in pieces:
                kernel.write(descriptor, piece)
                state.update(piece)
            kernel.fsync(descriptor)
        finally:
            os.close(descriptor)
        kernel.rename(self._directory, name + _NEXT_SUFFIX, self._directory, name)
        return Digest(state.digest())

    def _open_directory(self, opened: ExitStack, path: str) -> int:
        with self._tree.open_directory(path) as directory:
            descriptor = os.dup(directory)
        opened.callback(os.close, descriptor)
        return descriptor

    def _open_list(self) -> int:
        flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CREAT | os.O_CLOEXEC
        return os.open(FILE_LIST_PATH.rpartition("/")[2], flags, 0o600, dir_fd=self._directory)

    def _lock_directory(self) -> None:
        try:
            fcntl.flock(self._directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(f"Another export writes into {self._tree.root} now.") from None

    def _read_facts(self) -> Manifest | None:
        try:
            return manifest.decode_manifest(self._tree.snapshot(MANIFEST_PATH, _MAX_FACTS_BYTES)[0])
        except FileNotFoundError:
            return None
        except Damaged as error:
            directory = self._tree.root / EXPORT_DIRECTORY
            remedy = f"Delete {directory} and export with --force: equal files are recognised."
            raise Damaged(f"{error} {remedy}") from None

    def _read_list(self) -> dict[str, tuple[Digest, ...]]:
        digests: dict[str, tuple[Digest, ...]] = {}
        with open(os.dup(self._files), "rb") as lines:
            lines.seek(0)
            for path, digest in manifest.parse_lines(lines):
                digests[path] = (*digests.get(path, ()), digest)
        return digests
