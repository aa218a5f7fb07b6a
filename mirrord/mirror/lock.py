"""Locks that end with the process that holds them: one daemon a root, one command at a time a tenant."""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from mirrord.domain.place import RECORDS
from mirrord.errors import Busy, Refused, Unavailable
from mirrord.mirror import contained
from mirrord.mirror.journal import PRIVATE
from mirrord.mirror.layout import MACHINE
from mirrord.mirror.tree import Opened, Tree

WRITE_LOCK = f"{MACHINE}/write.lock"
RECORDS_PATIENCE = 2.0  # seconds for another writer of records to end
PATIENCE = 10.0  # seconds for another command to end
_PID = "daemon.pid"
_MARK = b"1"  # in the file of the write lock, see mark()


class Lock:
    """
    The flock on a directory's own descriptor; its holder's process id is in `.mirrord/daemon.pid` below.

    Close-on-exec, so neither workers nor Postgres keep it alive.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """
        Take the lock, or raise at once.

        Raises:
            Refused: another process has it.
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
                f"{self.directory} is already mirrored by {self._holder()}; only one daemon works on a root."
            ) from None
        self._descriptor = descriptor
        _leave_pid(descriptor)

    def release(self) -> None:
        """Give the lock back; without one, nothing happens."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> "Lock":
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _holder(self) -> str:
        try:
            return f"process {int((self.directory / MACHINE / _PID).read_text(encoding='ascii'))}"
        except (OSError, ValueError):
            return "another process"


@contextlib.contextmanager
def write_lock(tree: Tree, patience: float = PATIENCE) -> Iterator[None]:
    """
    Keep other commands on this tenant out for the length of a `with`, other threads too.

    Raises:
        Busy: another command did not end within *patience* seconds.
    """
    descriptor = _patiently(lambda: _try(tree), patience)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        tree.idle_locks.append(descriptor)


def mark(tree: Tree) -> None:
    """
    Say that somebody begins what others have to finish if he dies: who has the write lock then looks for it.

    It need not outlast the machine: after that nobody has looked yet. Call it under the lock.
    """
    with Opened(_lock_file(tree)) as descriptor:
        os.pwrite(descriptor, _MARK, 0)


def is_marked(tree: Tree) -> bool:
    """Whether somebody may have left something unfinished since it was last found that nobody did."""
    found = _found(tree)
    return found is None or found.st_size > 0


def unmark(tree: Tree) -> None:
    """Say that nobody left anything. Call it under the lock."""
    with Opened(_lock_file(tree)) as descriptor:
        os.ftruncate(descriptor, 0)


@contextlib.contextmanager
def records_lock(tree: Tree, patience: float = RECORDS_PATIENCE) -> Iterator[None]:
    """
    Keep others from writing records for the length of a `with`, other threads too: the flock on `.records` itself.

    Raises:
        Busy: another command did not end within *patience* seconds.
    """
    tree.make_directories(RECORDS)
    with tree.directory(RECORDS) as descriptor:
        _patiently(lambda: _locked(descriptor), patience)
        yield


def lock_for(tree: Tree, paths: Iterable[str]) -> contextlib.AbstractContextManager[None]:
    """What is to be held while files at *paths* are written: `records_lock` where one of them is a record."""
    is_asked = any(path.startswith(f"{RECORDS}/") for path in paths)
    return records_lock(tree) if is_asked else contextlib.nullcontext()


def _patiently(attempt: Callable[[], int | None], patience: float) -> int:
    end = time.monotonic() + patience
    while (descriptor := attempt()) is None:
        if time.monotonic() > end:
            raise Busy("Another command is still writing in this tenant; try again.")
        time.sleep(0.005)
    return descriptor


def _locked(descriptor: int) -> int | None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    return descriptor


def _try(tree: Tree) -> int | None:
    descriptor = tree.idle_locks.pop() if tree.idle_locks else _lock_file(tree)
    if _locked(descriptor) is None:
        tree.idle_locks.append(descriptor)
        return None
    if _is_in_place(tree, descriptor):
        return descriptor
    os.close(descriptor)  # deleted meanwhile: others lock a new one
    return None


def _is_in_place(tree: Tree, descriptor: int) -> bool:
    """Whether who comes now would lock the same file."""
    found = _found(tree)
    return found is not None and os.path.samestat(found, os.fstat(descriptor))


def _found(tree: Tree) -> os.stat_result | None:
    """The lock's file as it is found now; whatever links lead to is only compared with what is open."""
    try:
        return os.stat(WRITE_LOCK, dir_fd=tree.descriptor, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _lock_file(tree: Tree) -> int:
    """Mostly there; then nothing is made. A new one is marked: who looked into journals before may not come again."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.suppress(FileNotFoundError):
        return contained.opened(tree.descriptor, WRITE_LOCK, flags, native=tree.native)
    tree.make_directories(MACHINE, PRIVATE)
    with tree.directory(MACHINE) as machine:
        made = os.open(WRITE_LOCK.rpartition("/")[2], flags | os.O_CREAT, 0o600, dir_fd=machine)
    os.pwrite(made, _MARK, 0)
    return made


def _leave_pid(directory: int) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(MACHINE, PRIVATE, dir_fd=directory)
    machine = os.open(MACHINE, contained.DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(_PID, flags, 0o644, dir_fd=machine)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        os.close(descriptor)
    finally:
        os.close(machine)
