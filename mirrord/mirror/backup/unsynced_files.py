"""Files of a tree that are in no row: edits on their way, files not synced, trash."""

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from mirrord.domain.entry import Digest
from mirrord.errors import Busy, Refused
from mirrord.mirror.backup.backup_directory import Backups
from mirrord.mirror.tree import contained_files, kernel
from mirrord.mirror.tree.kernel import stat_of
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY, parent_of
from mirrord.mirror.write.journal import PRIVATE_MODE, TRASH_PATH

COLUMNS = ("path", "size", "digest", "parts")
PART_BYTES = 1 << 20  # bytes
_TRIES = 5  # at a file that keeps changing; the last read is kept
_UNFINISHED_NAME = ".mirrord-restored"  # of a file under construction; never synced


@dataclass(frozen=True, slots=True)
class UnsyncedFile:
    """One file of a backup. digest: of its bytes, in hex; parts: the names of its objects, in order."""

    path: str
    size: int
    digest: str
    parts: tuple[str, ...]

    def encode(self) -> bytes:
        """The encoded line; names that are not UTF-8 keep their bytes."""
        return json.dumps([self.path, self.size, self.digest, self.parts]).encode()


def decode_unsynced_file(line: bytes) -> UnsyncedFile:
    """Parse a line of spelled()."""
    path, size, digest, parts = json.loads(line)
    return UnsyncedFile(path, size, digest, tuple(parts))


def store_unsynced(
    tree: Tree, known_digests: Collection[Digest], backups: Backups, unread: list[str]
) -> Iterator[UnsyncedFile]:
    """
    Store every file whose bytes are not *known_digests*, in the order of paths.

    unread: gets the paths of unreadable files and directories.
    """
    for path in sorted(list_files(tree, unread)):
        try:
            with tree.open_file(path) as descriptor:
                if contained_files.digest_now(descriptor) not in known_digests:
                    yield _store_file(descriptor, path, backups)
        except FileNotFoundError:
            continue  # removed meanwhile
        except (Busy, Refused):
            unread.append(path)
        except OSError as error:
            if error.errno in kernel.DISK_FULL:
                raise
            unread.append(path)


def list_files(tree: Tree, unread: list[str]) -> Iterator[str]:
    """All regular files; of `.mirrord` only the trash. unread: gets unreadable directories."""
    pending = [""]
    while pending:
        directory = pending.pop()
        try:
            stats = tree.list_stats(directory)
        except FileNotFoundError:
            continue
        except (Refused, OSError):
            unread.append(directory)
            continue
        for name, stat in stats.items():
            path = f"{directory}/{name}" if directory else name
            if stat.is_directory:
                pending.append(TRASH_PATH if path == STATE_DIRECTORY else path)
            elif stat.is_file and name != _UNFINISHED_NAME:
                yield path


def has_only(tree: Tree, strays: Iterable[UnsyncedFile]) -> bool:
    """Whether every file of a tree is one of *strays*, with the same bytes."""
    digests = {stray.path: stray.digest for stray in strays}
    unread: list[str] = []
    for path in list_files(tree, unread):
        with tree.open_file(path) as descriptor:
            if contained_files.digest_now(descriptor).hex() != digests.get(path):
                return False
    return not unread


def write_file(tree: Tree, stray: UnsyncedFile, backups: Backups) -> None:
    """Write a stray into a tree, durably; a file at its path is replaced. Raises Damaged as read_bytes() does."""
    parent = parent_of(stray.path)
    if parent:
        tree.make_directories(parent, *([PRIVATE_MODE] if parent.split("/")[0] == STATE_DIRECTORY else []))
    with tree.open_directory(parent) as into:
        with suppress(FileNotFoundError):
            kernel.unlink(into, _UNFINISHED_NAME)
        descriptor = kernel.create(into, _UNFINISHED_NAME, 0o660)
        try:
            for part in stray.parts:
                kernel.write(descriptor, backups.read_bytes(part))
            kernel.fsync(descriptor)
        finally:
            os.close(descriptor)
        kernel.rename(into, _UNFINISHED_NAME, into, stray.path.rpartition("/")[2])
        kernel.fsync(into)


def _store_file(descriptor: int, path: str, backups: Backups) -> UnsyncedFile:
    for _ in range(_TRIES):
        before = stat_of(os.fstat(descriptor))
        stray = _store_once(descriptor, path, backups)
        if stat_of(os.fstat(descriptor)) == before:
            break
    return stray


def _store_once(descriptor: int, path: str, backups: Backups) -> UnsyncedFile:
    digest, size, parts = hashlib.blake2b(digest_size=32), 0, []
    while piece := os.pread(descriptor, PART_BYTES, size):
        digest.update(piece)
        parts.append(backups.add_bytes(piece))
        size += len(piece)
    return UnsyncedFile(path, size, digest.hexdigest(), tuple(parts))
