"""
The directory of backups: content by its digest, each kept once, and one list a backup.

    objects/ab/ab….gz         lines of rows, compressed; named by the digest of the lines
    objects/ab/ab…            bytes of attachments and files, as they are
    backups/TENANT/000017-DIGEST.json
                              what backup 17 is made of, named by its own digest; it exists only when all of it does
    incoming/                 what a backup under way has not made durable yet

Digests are BLAKE2b-256 in hex; `b2sum -l 256` computes them.
"""

import contextlib
import fcntl
import os
import re
import shutil
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mirrord.domain.backup import Manifest, manifest_of, spelled
from mirrord.domain.entry import digest_of
from mirrord.errors import Damaged, Refused, Unavailable, UserError
from mirrord.mirror import kernel

LINES = ".gz"  # the end of the name of an object that holds lines
_PRIVATE_DIRECTORY, _PRIVATE = 0o700, 0o600
_SETTLE_BYTES, _SETTLE_OBJECTS = 64 << 20, 2000  # not durable yet, at most
_LEVEL = 4  # of zlib: half the time of its default, a tenth more bytes
_GZIP, _HEADER = 31, b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"  # RFC 1952, without name and time
_MANIFEST = re.compile(r"(\d{6})-([0-9a-f]{32})\.json")


@dataclass(frozen=True, slots=True)
class Listed:
    """One backup of the directory. manifest None: its list is damaged."""

    tenant: str
    number: int
    path: Path
    manifest: Manifest | None


class Backups:
    """
    One directory of backups.

    added, added_bytes: the objects stored through this value, and what they take on disk.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.added = 0
        self.added_bytes = 0
        self._fresh: set[str] = set()
        self._fresh_bytes = 0

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """
        Nobody else writes here, nor removes anything, for the length of a `with`. Makes the directory if it is missing.

        Raises:
            Refused: another program works here.
            UserError: the directory cannot be made or written, or belongs to something else.
            Unavailable: the disk is full; backups that were there before are whole.
        """
        with self._understood(), contextlib.ExitStack() as undone:
            self._make()
            undone.callback(os.close, self._lock(fcntl.LOCK_EX))
            self._sweep()
            undone.callback(self._sweep)
            yield

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Nothing is removed here for the length of a `with`. Raises Refused as writing(), UserError if it is none."""
        if not (self.directory / "backups").is_dir():
            raise UserError(f"{self.directory} holds no backups.")
        with self._understood():
            held = self._lock(fcntl.LOCK_SH)
        try:
            yield
        finally:
            os.close(held)

    def add_lines(self, lines: list[bytes]) -> str:
        """Keep the lines of some rows; the name by which lines() finds them."""
        data = b"".join(line + b"\n" for line in lines)
        name = digest_of(data).hex()
        if not self._has(name + LINES):
            self._add(name + LINES, zlib.compress(data, _LEVEL, _GZIP))
        return name

    def add(self, data: bytes) -> str:
        """Keep bytes as they are; the name by which content() finds them."""
        name = digest_of(data).hex()
        if not self._has(name):
            self._add(name, data)
        return name

    def settle(self) -> None:
        """Make durable what was added since the last time, then let it be found."""
        if not self._fresh:
            return
        self._sync()
        for directory in {name[:2] for name in self._fresh}:
            (self.directory / "objects" / directory).mkdir(_PRIVATE_DIRECTORY, exist_ok=True)
        for name in self._fresh:
            (self.directory / "incoming" / name).rename(self._path(name))
        self._fresh, self._fresh_bytes = set(), 0

    def lines(self, name: str) -> list[bytes]:
        """The lines add_lines() kept. Raises Damaged if they are not those, or gone."""
        packed = self._read(name + LINES)
        unpacking = zlib.decompressobj(_GZIP)
        try:
            data = unpacking.decompress(packed)
        except zlib.error as error:
            raise Damaged(f"{self._path(name + LINES)} is damaged: {error}.") from error
        is_whole = unpacking.eof and not unpacking.unused_data and packed.startswith(_HEADER)
        if not is_whole or digest_of(data).hex() != name:
            raise Damaged(f"{self._path(name + LINES)} is damaged: its content is not what its name says.")
        return data.split(b"\n")[:-1]

    def content(self, name: str) -> bytes:
        """The bytes add() kept. Raises Damaged if they are not those, or gone."""
        data = self._read(name)
        if digest_of(data).hex() != name:
            raise Damaged(f"{self._path(name)} is damaged: its content is not what its name says.")
        return data

    def next_number(self, tenant: str) -> int:
        """That of the next backup of a tenant."""
        return max((int(name[1]) for _, name in self._lists(tenant)), default=0) + 1

    def commit(self, manifest: Manifest) -> Path:
        """Let a backup exist whose objects were all added; where its list is."""
        self.settle()
        self._sync()
        data = spelled(manifest)
        above = self.directory / "backups" / manifest.tenant
        above.mkdir(_PRIVATE_DIRECTORY, exist_ok=True)
        self._write("manifest", data)
        self._sync()
        path = above / f"{manifest.number:06}-{digest_of(data).hex()[:32]}.json"
        (self.directory / "incoming" / "manifest").rename(path)
        self._sync()
        return path

    def listed(self, tenant: str | None = None) -> list[Listed]:
        """Every backup, or those of one tenant: by name, the oldest first."""
        return [
            Listed(path.parent.name, int(name[1]), path, _manifest(path, name[2]))
            for path, name in self._lists(tenant or "*")
        ]

    def _lists(self, tenants: str) -> Iterator[tuple[Path, re.Match[str]]]:
        """Where they are, and their names taken apart; none is read."""
        for above in sorted((self.directory / "backups").glob(tenants)):
            for path in sorted(above.iterdir()):
                if (name := _MANIFEST.fullmatch(path.name)) is not None:
                    yield path, name

    def remove(self, backups: list[Listed]) -> None:
        """Let backups not exist any more; their objects stay."""
        for one in backups:
            one.path.unlink()
        self._sync()

    def remove_unnamed(self, named: set[bytes]) -> int:
        """Remove objects whose digest is not among *named*; how many."""
        removed = 0
        for path in (self.directory / "objects").glob("??/*"):
            if bytes.fromhex(path.name.removesuffix(LINES)) not in named:
                path.unlink()
                removed += 1
        return removed

    def _path(self, name: str) -> Path:
        return self.directory / "objects" / name[:2] / name

    def _has(self, name: str) -> bool:
        return name in self._fresh or self._path(name).exists()

    def _add(self, name: str, data: bytes) -> None:
        self._write(name, data)
        self._fresh.add(name)
        self._fresh_bytes += len(data)
        self.added += 1
        self.added_bytes += len(data)
        if self._fresh_bytes > _SETTLE_BYTES or len(self._fresh) > _SETTLE_OBJECTS:
            self.settle()

    def _write(self, name: str, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.directory / "incoming" / name, flags, _PRIVATE)
        try:
            kernel.write(descriptor, data)
        finally:
            os.close(descriptor)

    def _read(self, name: str) -> bytes:
        try:
            return self._path(name).read_bytes()
        except FileNotFoundError:
            raise Damaged(f"{self._path(name)} is gone.") from None
        except OSError as error:
            raise Damaged(f"{self._path(name)} cannot be read: {error.strerror}.") from error

    def _sync(self) -> None:
        descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            kernel.syncfs(descriptor)
        finally:
            os.close(descriptor)

    def _make(self) -> None:
        is_new = not self.directory.exists()
        self.directory.mkdir(_PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        if not is_new and not (self.directory / "backups").is_dir() and any(self.directory.iterdir()):
            raise UserError(f"{self.directory} is not empty and holds no backups: name a directory for backups alone.")
        for name in ("objects", "incoming", "backups"):
            (self.directory / name).mkdir(_PRIVATE_DIRECTORY, exist_ok=True)

    def _sweep(self) -> None:
        """Whether it is whole what an interrupted backup left there, nobody knows."""
        shutil.rmtree(self.directory / "incoming")
        (self.directory / "incoming").mkdir(_PRIVATE_DIRECTORY)

    def _lock(self, kind: int) -> int:
        """A descriptor that holds the directory's lock until it is closed, or the process ends."""
        descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise Refused(f"Another backup, or a look at one, is going on in {self.directory}. Wait for it.") from None
        return descriptor

    @contextlib.contextmanager
    def _understood(self) -> Iterator[None]:
        """Errors of the directory as mirrord's."""
        try:
            yield
        except OSError as error:
            if error.errno in kernel.DISK_FULL:
                raise Unavailable(
                    f"The disk of {self.directory} is full; no new backup was made, those that were there are whole. "
                    "Free some space, or keep fewer with --keep."
                ) from error
            raise UserError(f"{error.filename or self.directory} cannot be used: {error.strerror}.") from error


def _manifest(path: Path, digest: str) -> Manifest | None:
    try:
        data = path.read_bytes()
        return manifest_of(data) if digest_of(data).hex()[:32] == digest else None
    except (OSError, Damaged):
        return None
