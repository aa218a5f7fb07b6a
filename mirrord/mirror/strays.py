"""Files of a tree that are in no row: edits on their way, what is not synced, what waits in the trash."""

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from mirrord.domain.entry import Digest
from mirrord.errors import Busy, Refused
from mirrord.mirror import contents, kernel
from mirrord.mirror.backups import Backups
from mirrord.mirror.journal import PRIVATE, TRASH
from mirrord.mirror.kernel import stat_of
from mirrord.mirror.layout import MACHINE, parent_of
from mirrord.mirror.tree import Tree

COLUMNS = ("path", "size", "digest", "parts")
PART = 1 << 20  # bytes
_TRIES = 5  # at a file that is written all the time; then it is kept as it was read
_FRESH = ".mirrord-restored"  # a file while it is being written; never synced


@dataclass(frozen=True, slots=True)
class Stray:
    """One file of a backup. digest: of its bytes, in hex; parts: the names of the objects that hold them, in order."""

    path: str
    size: int
    digest: str
    parts: tuple[str, ...]

    def spelled(self) -> bytes:
        """As a line; names that are not UTF-8 keep their bytes."""
        return json.dumps([self.path, self.size, self.digest, self.parts]).encode()


def stray_of(line: bytes) -> Stray:
    """What spelled() wrote."""
    path, size, digest, parts = json.loads(line)
    return Stray(path, size, digest, tuple(parts))


def keep(tree: Tree, known: Collection[Digest], backups: Backups, unread: list[str]) -> Iterator[Stray]:
    """
    Keep every file whose bytes are not *known*, in the order of their paths.

    unread: gets the paths of what cannot be read.
    """
    for path in sorted(files_of(tree, unread)):
        try:
            with tree.file(path) as descriptor:
                if contents.digest_now(descriptor) not in known:
                    yield _kept(descriptor, path, backups)
        except FileNotFoundError:
            continue  # it went meanwhile
        except (Busy, Refused):
            unread.append(path)
        except OSError as error:
            if error.errno in kernel.DISK_FULL:
                raise
            unread.append(path)


def files_of(tree: Tree, unread: list[str]) -> Iterator[str]:
    """Every regular file; of `.mirrord` only the trash. unread: gets the directories that cannot be read."""
    waiting = [""]
    while waiting:
        directory = waiting.pop()
        try:
            found = tree.names(directory)
        except FileNotFoundError:
            continue
        except (Refused, OSError):
            unread.append(directory)
            continue
        for name, stat in found.items():
            path = f"{directory}/{name}" if directory else name
            if stat.is_directory:
                waiting.append(TRASH if path == MACHINE else path)
            elif stat.is_file and name != _FRESH:
                yield path


def holds_only(tree: Tree, strays: Iterable[Stray]) -> bool:
    """Whether every file of a tree is one of *strays*, with its very bytes."""
    digests = {stray.path: stray.digest for stray in strays}
    unread: list[str] = []
    for path in files_of(tree, unread):
        with tree.file(path) as descriptor:
            if contents.digest_now(descriptor).hex() != digests.get(path):
                return False
    return not unread


def put(tree: Tree, stray: Stray, backups: Backups) -> None:
    """Write one of them into a tree, durably; a file of that name is replaced. Raises Damaged as content() does."""
    above = parent_of(stray.path)
    if above:
        tree.make_directories(above, *([PRIVATE] if above.split("/")[0] == MACHINE else []))
    with tree.directory(above) as into:
        with suppress(FileNotFoundError):
            kernel.unlink(into, _FRESH)
        descriptor = kernel.create(into, _FRESH, 0o660)
        try:
            for part in stray.parts:
                kernel.write(descriptor, backups.content(part))
            kernel.fsync(descriptor)
        finally:
            os.close(descriptor)
        kernel.rename(into, _FRESH, into, stray.path.rpartition("/")[2])
        kernel.fsync(into)


def _kept(descriptor: int, path: str, backups: Backups) -> Stray:
    for _ in range(_TRIES):
        before = stat_of(os.fstat(descriptor))
        stray = _read(descriptor, path, backups)
        if stat_of(os.fstat(descriptor)) == before:
            break
    return stray


def _read(descriptor: int, path: str, backups: Backups) -> Stray:
    digest, size, parts = hashlib.blake2b(digest_size=32), 0, []
    while piece := os.pread(descriptor, PART, size):
        digest.update(piece)
        parts.append(backups.add(piece))
        size += len(piece)
    return Stray(path, size, digest.hexdigest(), tuple(parts))
