"""
The directory of backups: content by digest, each stored once, one list per backup.

    objects/ab/ab….gz         lines of rows, compressed; named by the digest of the lines
    objects/ab/ab…            bytes of attachments and files, as they are
    backups/TENANT/000017-DIGEST.json
                              the manifest of backup 17, named by its own digest; it exists only with all its objects
    incoming/                 objects of a running backup that are not durable yet

Digests are BLAKE2b-256 in hex; `b2sum -l 256` computes them.
"""

import contextlib
import fcntl
import os
import re
import shutil
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mirrord.domain.backup_format import Manifest, encode_manifest, manifest_of
from mirrord.domain.entry import digest_of
from mirrord.errors import Damaged, Refused, Unavailable, UserError
from mirrord.mirror.tree import kernel

LINES_SUFFIX = ".gz"  # suffix of objects that hold lines
_DIRECTORY_MODE, _FILE_MODE = 0o700, 0o600
_MAX_FRESH_BYTES, _MAX_FRESH_OBJECTS = 64 << 20, 2000  # not durable yet
_COMPRESSION_LEVEL = 4  # of zlib: half the time of its default, a tenth more bytes
_GZIP_WINDOW, _GZIP_HEADER = 31, b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"  # RFC 1952, without name and time
_LOCK_PAUSE_SECONDS = 0.5  # seconds between two tries
_RESERVED_SHARE = 20  # a twentieth of the disk
_MAX_RESERVED_BYTES = 1 << 30
_MANIFEST_NAME = re.compile(r"(\d{6})-([0-9a-f]{32})\.json")


@dataclass(frozen=True, slots=True)
class StoredBackup:
    """One backup of the directory. manifest: None if it is damaged."""

    tenant: str
    number: int
    path: Path
    manifest: Manifest | None


class Backups:
    """
    One directory of backups.

    added, added_bytes: number and size on disk of the objects stored through this value.
    """

    def __init__(self, directory: Path, *, leaves_room: bool = False) -> None:
        """leaves_room: a twentieth of the disk, at most 1 GiB, stays free for what else is on it."""
        self.directory = directory
        self._leaves_room = leaves_room
        self.added = 0
        self.added_bytes = 0
        self._fresh: set[str] = set()
        self._fresh_bytes = 0

    @contextlib.contextmanager
    def open_for_writing(self, wait_seconds: float = 0.0) -> Iterator[None]:
        """
        Exclude other writers and removals for the length of a `with`. Makes the directory if it is missing.

        wait_seconds: for another program that works here.

        Raises:
            Refused: another program works here.
            UserError: the directory cannot be made or written, or belongs to something else.
            Unavailable: the disk is full; earlier backups are complete.
        """
        with self._translate_errors(), contextlib.ExitStack() as undone:
            self._make_directories()
            self._check_room()
            undone.callback(os.close, self._acquire_lock(fcntl.LOCK_EX, wait_seconds))
            self._empty_incoming()
            undone.callback(self._empty_incoming)
            yield

    @contextlib.contextmanager
    def open_for_reading(self) -> Iterator[None]:
        """Prevent removals for the length of a `with`. Raises Refused as writing(), UserError without backups."""
        if not (self.directory / "backups").is_dir():
            raise UserError(f"{self.directory} holds no backups.")
        with self._translate_errors():
            lock = self._acquire_lock(fcntl.LOCK_SH)
        try:
            yield
        finally:
            os.close(lock)

    def add_lines(self, lines: list[bytes]) -> str:
        """Store lines of rows and return the name for lines()."""
        data = b"".join(line + b"\n" for line in lines)
        name = digest_of(data).hex()
        if not self._has_object(name + LINES_SUFFIX):
            self._add_object(name + LINES_SUFFIX, zlib.compress(data, _COMPRESSION_LEVEL, _GZIP_WINDOW))
        return name

    def add_bytes(self, data: bytes) -> str:
        """Store bytes unchanged and return the name for read_bytes()."""
        name = digest_of(data).hex()
        if not self._has_object(name):
            self._add_object(name, data)
        return name

    def publish(self) -> None:
        """Make the objects added since the last call durable, then publish them."""
        if not self._fresh:
            return
        self._check_room()
        self._sync_file_system()
        for directory in {name[:2] for name in self._fresh}:
            (self.directory / "objects" / directory).mkdir(_DIRECTORY_MODE, exist_ok=True)
        for name in self._fresh:
            (self.directory / "incoming" / name).rename(self._object_path(name))
        self._fresh, self._fresh_bytes = set(), 0

    def read_lines(self, name: str) -> list[bytes]:
        """The lines that add_lines() stored. Raises Damaged if they are changed or missing."""
        packed = self._read_object(name + LINES_SUFFIX)
        unpacking = zlib.decompressobj(_GZIP_WINDOW)
        try:
            data = unpacking.decompress(packed)
        except zlib.error as error:
            raise Damaged(f"{self._object_path(name + LINES_SUFFIX)} is damaged: {error}.") from error
        is_complete = unpacking.eof and not unpacking.unused_data and packed.startswith(_GZIP_HEADER)
        if not is_complete or digest_of(data).hex() != name:
            raise Damaged(
                f"{self._object_path(name + LINES_SUFFIX)} is damaged: its content is not what its name says."
            )
        return data.split(b"\n")[:-1]

    def read_bytes(self, name: str) -> bytes:
        """The bytes that add() stored. Raises Damaged if they are changed or missing."""
        data = self._read_object(name)
        if digest_of(data).hex() != name:
            raise Damaged(f"{self._object_path(name)} is damaged: its content is not what its name says.")
        return data

    def measure(self, name: str) -> int:
        """The size of an object on disk, in bytes. Raises Damaged if it is gone."""
        for path in (self._object_path(name + LINES_SUFFIX), self._object_path(name)):
            with contextlib.suppress(OSError):
                return path.stat().st_size
        raise Damaged(f"{self._object_path(name)} is gone.")

    def next_number(self, tenant: str) -> int:
        """The number of the next backup of a tenant."""
        return max((int(name[1]) for _, name in self._list_manifests(tenant)), default=0) + 1

    def commit(self, manifest: Manifest) -> Path:
        """Write the manifest of a backup, all of whose objects were added, and return its path."""
        self.publish()
        self._sync_file_system()
        data = encode_manifest(manifest)
        directory = self.directory / "backups" / manifest.tenant
        directory.mkdir(_DIRECTORY_MODE, exist_ok=True)
        self._write_incoming("manifest", data)
        self._sync_file_system()
        path = directory / f"{manifest.number:06}-{digest_of(data).hex()[:32]}.json"
        (self.directory / "incoming" / "manifest").rename(path)
        self._sync_file_system()
        return path

    def list_backups(self, tenant: str | None = None) -> list[StoredBackup]:
        """All backups, or those of one tenant: by name, the oldest first."""
        return [
            StoredBackup(path.parent.name, int(name[1]), path, _read_manifest(path, name[2]))
            for path, name in self._list_manifests(tenant or "*")
        ]

    def _list_manifests(self, tenants: str) -> Iterator[tuple[Path, re.Match[str]]]:
        """Paths and parsed names of manifests; no file is read."""
        for directory in sorted((self.directory / "backups").glob(tenants)):
            for path in sorted(directory.iterdir()):
                if (name := _MANIFEST_NAME.fullmatch(path.name)) is not None:
                    yield path, name

    def remove(self, backups: list[StoredBackup]) -> None:
        """Remove the manifests of backups; their objects stay."""
        for backup in backups:
            backup.path.unlink()
        self._sync_file_system()

    def remove_unreferenced(self, referenced: set[bytes]) -> int:
        """Remove objects whose digest is not among *referenced* and return their number."""
        removed = 0
        for path in (self.directory / "objects").glob("??/*"):
            if bytes.fromhex(path.name.removesuffix(LINES_SUFFIX)) not in referenced:
                path.unlink()
                removed += 1
        return removed

    def _object_path(self, name: str) -> Path:
        return self.directory / "objects" / name[:2] / name

    def _has_object(self, name: str) -> bool:
        return name in self._fresh or self._object_path(name).exists()

    def _add_object(self, name: str, data: bytes) -> None:
        self._write_incoming(name, data)
        self._fresh.add(name)
        self._fresh_bytes += len(data)
        self.added += 1
        self.added_bytes += len(data)
        if self._fresh_bytes > _MAX_FRESH_BYTES or len(self._fresh) > _MAX_FRESH_OBJECTS:
            self.publish()

    def _write_incoming(self, name: str, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.directory / "incoming" / name, flags, _FILE_MODE)
        try:
            kernel.write(descriptor, data)
        finally:
            os.close(descriptor)

    def _read_object(self, name: str) -> bytes:
        try:
            return self._object_path(name).read_bytes()
        except FileNotFoundError:
            raise Damaged(f"{self._object_path(name)} is gone.") from None
        except OSError as error:
            raise Damaged(f"{self._object_path(name)} cannot be read: {error.strerror}.") from error

    def _sync_file_system(self) -> None:
        descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            kernel.syncfs(descriptor)
        finally:
            os.close(descriptor)

    def _make_directories(self) -> None:
        is_new = not self.directory.exists()
        self.directory.mkdir(_DIRECTORY_MODE, parents=True, exist_ok=True)
        if not is_new and not (self.directory / "backups").is_dir() and any(self.directory.iterdir()):
            raise UserError(f"{self.directory} is not empty and holds no backups: name a directory for backups alone.")
        for name in ("objects", "incoming", "backups"):
            (self.directory / name).mkdir(_DIRECTORY_MODE, exist_ok=True)

    def _empty_incoming(self) -> None:
        """Drop objects of an interrupted backup: they may be incomplete."""
        shutil.rmtree(self.directory / "incoming")
        (self.directory / "incoming").mkdir(_DIRECTORY_MODE)

    def _check_room(self) -> None:
        """Raises Unavailable if too little of the disk is free, and some has to stay so."""
        if not self._leaves_room:
            return
        disk = os.statvfs(self.directory)
        reserved = min(disk.f_blocks * disk.f_frsize // _RESERVED_SHARE, _MAX_RESERVED_BYTES)
        if disk.f_bavail * disk.f_frsize < reserved:
            raise Unavailable(
                f"The disk of {self.directory} is nearly full: {reserved >> 20} MiB of it stay free. "
                "No new backup was made, earlier backups are complete."
            )

    def _acquire_lock(self, kind: int, wait_seconds: float = 0.0) -> int:
        """A descriptor that holds the lock of the directory until it is closed, or the process ends."""
        descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        deadline = time.monotonic() + wait_seconds
        with contextlib.ExitStack() as undone:
            undone.callback(os.close, descriptor)
            while not _try_lock(descriptor, kind):
                if time.monotonic() >= deadline:
                    raise Refused(f"Another backup, or a check of one, is going on in {self.directory}. Wait for it.")
                time.sleep(_LOCK_PAUSE_SECONDS)
            undone.pop_all()
        return descriptor

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Translate errors of the directory into those of mirrord."""
        try:
            yield
        except OSError as error:
            if error.errno in kernel.DISK_FULL:
                raise Unavailable(
                    f"The disk of {self.directory} is full; no new backup was made, earlier backups are complete. "
                    "Free some space, or keep fewer with --keep."
                ) from error
            raise UserError(f"{error.filename or self.directory} cannot be used: {error.strerror}.") from error


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read_manifest(path: Path, digest: str) -> Manifest | None:
    try:
        data = path.read_bytes()
        return manifest_of(data) if digest_of(data).hex()[:32] == digest else None
    except (OSError, Damaged):
        return None
