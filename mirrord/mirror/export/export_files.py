"""
What an exported tree remembers in `.mirrord-export/`: owner, progress, written files; and removing such files.

The list of files has the format of coreutils: `b2sum --check .mirrord-export/files.b2`.
Files are removed that are known by their digests and no others: moved out of place first, then checked.
"""

import fcntl
import hashlib
import json
import os
import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field

from mirrord.domain.entry import Digest
from mirrord.errors import Busy, Damaged, Refused
from mirrord.mirror.tree import contained_files, kernel
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import parent_of
from mirrord.mirror.write.bulk_create import raise_fatal
from mirrord.mirror.write.journal import PRIVATE_MODE

EXPORT_DIRECTORY = ".mirrord-export"
MANIFEST_PATH = f"{EXPORT_DIRECTORY}/manifest.json"
FILE_LIST_PATH = f"{EXPORT_DIRECTORY}/files.b2"
BUILD_PATH = f"{EXPORT_DIRECTORY}/new"

_FORMAT = 1
_LINE = re.compile(rb"(\\?)([0-9a-f]{64})  (.+)")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_ESCAPED = re.compile(r"\\([\\nr])")
_UNESCAPED = {"\\": "\\", "n": "\n", "r": "\r"}


@dataclass(frozen=True, slots=True)
class Manifest:
    """
    tenant, tenant_id: the owner of the rows. seq: of the tenant's change feed at the start; begun: UTC, ISO 8601.
    complete: False while an export runs, after an interruption, or if it left something out. counts: of the tenant's
    entries, by kind. folders: directories that are rows themselves. digest: of the list of files, in hex.
    """

    tenant: str
    tenant_id: str
    seq: int
    begun: str
    complete: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)
    folders: Sequence[str] = ()
    digest: str | None = None


def encode_manifest(manifest: Manifest) -> bytes:
    """The bytes of the manifest file."""
    return json.dumps({"format": _FORMAT, **asdict(manifest)}, indent=2, ensure_ascii=False).encode() + b"\n"


def decode_manifest(text: bytes) -> Manifest:
    """Parse the manifest file. Raises Damaged for other content, or a manifest of a later mirrord."""
    try:
        raw = json.loads(text)
        if raw.pop("format") == _FORMAT:
            return Manifest(**raw)
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise Damaged(f"{MANIFEST_PATH} is no manifest that this mirrord understands.")


def line_of(path: str, digest: Digest) -> bytes:
    """The line of a file in the list; line breaks and backslashes of a path are escaped as in coreutils."""
    escaped = "".join(_ESCAPES.get(sign, sign) for sign in path)
    mark = "\\" if escaped != path else ""
    return f"{mark}{digest.hex()}  {escaped}\n".encode("utf-8", "surrogateescape")


def parse_lines(lines: Iterable[bytes]) -> Iterator[tuple[str, Digest]]:
    """(path, digest) of every line; a line torn by a crash is skipped."""
    for line_bytes in lines:
        match = _LINE.fullmatch(line_bytes.removesuffix(b"\n")) if line_bytes.endswith(b"\n") else None
        if match is not None:
            path = match[3].decode("utf-8", "surrogateescape")
            if match[1]:
                path = _ESCAPED.sub(lambda escape: _UNESCAPED[escape[1]], path)
            yield path, Digest(bytes.fromhex(match[2].decode("ascii")))


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
        self._lines.append(line_of(path, digest))

    def flush_notes(self) -> None:
        """Write the notes; durable with the next sync of the file system."""
        kernel.write(self._files, b"".join(self._lines))
        self._lines.clear()

    def write_manifest(self, facts: Manifest) -> None:
        """Write the manifest of the export, atomically and durably."""
        self._replace_file(MANIFEST_PATH, [encode_manifest(facts)])
        kernel.fsync(self._directory)

    def write_list(self, files: Mapping[str, Digest]) -> Digest:
        """Replace the list by *files* and return its digest. Durable with the next state()."""
        paths = sorted(files)
        parts = (paths[at : at + _MAX_LINES] for at in range(0, len(paths), _MAX_LINES))
        return self._replace_file(
            FILE_LIST_PATH, (b"".join(line_of(path, files[path]) for path in part) for part in parts)
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
            return decode_manifest(self._tree.snapshot(MANIFEST_PATH, _MAX_FACTS_BYTES)[0])
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
            for path, digest in parse_lines(lines):
                digests[path] = (*digests.get(path, ()), digest)
        return digests


_ASIDE_PREFIX = "w."  # of the names of files moved aside


def remove_exported(tree: Tree, path: str, digests: Collection[Digest], aside: int) -> bool | None:
    """
    Remove the file at *path* if it has one of *digests*. False: it has another one, and stays; None: no file is there.

    aside: descriptor of a directory of the same file system, where the file is verified. A save whose place is taken
    again stays there, and so does one when this process dies. Raises OSError if the disk is full, read-only or broken.
    """
    name, hidden = path.rpartition("/")[2], f"{_ASIDE_PREFIX}{secrets.token_hex(8)}"
    try:
        stat = tree.stat(path)
        if stat is None or stat.is_directory:
            return None
        if tree.digest_now(path) not in digests:
            return False
        with tree.open_directory(parent_of(path)) as directory:
            tree.rename_new(directory, name, aside, hidden)
            if drop_known(aside, hidden, digests):
                return True
            with suppress(FileExistsError):
                tree.rename_new(aside, hidden, directory, name)
    except FileNotFoundError:
        return None
    except (OSError, Refused) as error:
        raise_fatal(error)
    return False


def drop_known(directory: int, name: str, digests: Collection[Digest]) -> bool:
    """Remove the file *name* if it has one of *digests* and no writer. Return whether it was removed."""
    try:
        descriptor = os.open(name, contained_files.FILE_FLAGS | os.O_CLOEXEC, dir_fd=directory)
    except OSError:  # a symbolic link, or unreadable
        return False
    try:
        is_known = not kernel.has_writer(descriptor) and contained_files.digest_now(descriptor) in digests
    finally:
        os.close(descriptor)
    if is_known:
        kernel.unlink(directory, name)
    return is_known
