"""Locks that end with the process that holds them: one daemon per root, one command at a time per tenant."""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from mirrord.domain.place import RECORDS
from mirrord.errors import Busy, Refused, Unavailable
from mirrord.mirror.tree import contained_files
from mirrord.mirror.tree.kernel import OpenDescriptor
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY
from mirrord.mirror.write.journal import PRIVATE_MODE

WRITE_LOCK = f"{STATE_DIRECTORY}/write.lock"
RECORDS_LOCK_SECONDS = 2.0  # seconds to wait for another writer of records
WRITE_LOCK_SECONDS = 10.0  # seconds to wait for another command
_PID = "daemon.pid"
_MARK = b"1"  # in the file of the write lock, see mark()


class Lock:
    """
    The flock on the descriptor of a directory; the process id of its holder is in `.mirrord/daemon.pid` below.

    The descriptor is close-on-exec, so that neither workers nor Postgres keep the lock.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """
        Take the lock, or raise at once.

        Raises:
            Refused: another process holds it.
            Unavailable: the directory is missing.
        """
        try:
            descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Unavailable(f"{self.directory} cannot be locked: {error.strerror}.") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise Refused(
                f"{self.directory} is already mirrored by {self._describe_holder()}; only one daemon works on a root."
            ) from None
        self._descriptor = descriptor
        _write_pid(descriptor)

    def release(self) -> None:
        """Release the lock, if it is held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> "Lock":
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _describe_holder(self) -> str:
        try:
            return f"process {int((self.directory / STATE_DIRECTORY / _PID).read_text(encoding='ascii'))}"
        except (OSError, ValueError):
            return "another process"


@contextlib.contextmanager
def write_lock(tree: Tree, patience: float = WRITE_LOCK_SECONDS) -> Iterator[None]:
    """
    Exclude other commands and threads on this tenant for the length of a `with`.

    Raises:
        Busy: another command did not end within *patience* seconds.
    """
    descriptor = _retry_until(lambda: _try_write_lock(tree), patience)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        tree.idle_locks.append(descriptor)


def mark_unfinished(tree: Tree) -> None:
    """
    Mark the start of work that others have to finish after a crash: the next holder of the write lock looks for it.

    The mark need not survive a power cut: after one, every process looks anyway. Call it under the lock.
    """
    with OpenDescriptor(_open_lock_file(tree)) as descriptor:
        os.pwrite(descriptor, _MARK, 0)


def is_marked_unfinished(tree: Tree) -> bool:
    """Whether unfinished work is possible: the mark was set since the last clear_unfinished()."""
    stat = _stat_lock_file(tree)
    return stat is None or stat.st_size > 0


def clear_unfinished(tree: Tree) -> None:
    """Clear the mark: no work is unfinished. Call it under the lock."""
    with OpenDescriptor(_open_lock_file(tree)) as descriptor:
        os.ftruncate(descriptor, 0)


@contextlib.contextmanager
def records_lock(tree: Tree, patience: float = RECORDS_LOCK_SECONDS) -> Iterator[None]:
    """
    Exclude other writers of records, other threads too, for the length of a `with`: the flock on `.records` itself.

    Raises:
        Busy: another command did not end within *patience* seconds.
    """
    tree.make_directories(RECORDS)
    with tree.open_directory(RECORDS) as descriptor:
        _retry_until(lambda: _try_flock(descriptor), patience)
        yield


def lock_for(tree: Tree, paths: Iterable[str]) -> contextlib.AbstractContextManager[None]:
    """The lock for writes to files at *paths*: `records_lock` if one of them is a record, else none."""
    has_record = any(path.startswith(f"{RECORDS}/") for path in paths)
    return records_lock(tree) if has_record else contextlib.nullcontext()


def _retry_until(attempt: Callable[[], int | None], patience: float) -> int:
    end = time.monotonic() + patience
    while (descriptor := attempt()) is None:
        if time.monotonic() > end:
            raise Busy("Another command is still writing in this tenant; try again.")
        time.sleep(0.005)
    return descriptor


def _try_flock(descriptor: int) -> int | None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    return descriptor


def _try_write_lock(tree: Tree) -> int | None:
    descriptor = tree.idle_locks.pop() if tree.idle_locks else _open_lock_file(tree)
    if _try_flock(descriptor) is None:
        tree.idle_locks.append(descriptor)
        return None
    if _is_in_place(tree, descriptor):
        return descriptor
    os.close(descriptor)  # deleted meanwhile: others lock a new file
    return None


def _is_in_place(tree: Tree, descriptor: int) -> bool:
    """Whether the lock file at its path is still the one locked."""
    stat = _stat_lock_file(tree)
    return stat is not None and os.path.samestat(stat, os.fstat(descriptor))


def _stat_lock_file(tree: Tree) -> os.stat_result | None:
    """The stat of the lock file at its path; it is only compared with the open file, so links are harmless."""
    try:
        return os.stat(WRITE_LOCK, dir_fd=tree.descriptor, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _open_lock_file(tree: Tree) -> int:
    """Open the lock file, which mostly exists. A new one is marked: earlier users may not look into journals again."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.suppress(FileNotFoundError):
        return contained_files.open_beneath(tree.descriptor, WRITE_LOCK, flags, native=tree.native)
    tree.make_directories(STATE_DIRECTORY, PRIVATE_MODE)
    with tree.open_directory(STATE_DIRECTORY) as machine:
        descriptor = os.open(WRITE_LOCK.rpartition("/")[2], flags | os.O_CREAT, 0o600, dir_fd=machine)
    os.pwrite(descriptor, _MARK, 0)
    return descriptor


def _write_pid(directory: int) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(STATE_DIRECTORY, PRIVATE_MODE, dir_fd=directory)
    machine = os.open(STATE_DIRECTORY, contained_files.DIRECTORY_FLAGS | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(_PID, flags, 0o644, dir_fd=machine)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        os.close(descriptor)
    finally:
        os.close(machine)
