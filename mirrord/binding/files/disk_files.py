"""Files of an app on disk, below the directory of a template and nowhere else."""

import os
import stat
import time

from mirrord.domain.entry import MAX_FILE_BYTES
from mirrord.errors import Busy, Damaged, Refused
from mirrord.mirror.tree import contained_files
from mirrord.mirror.tree.kernel import OpenDescriptor, has_writer

NO_FILE = "-"  # as a version
MAX_SHOWN_CHARACTERS = 200  # of a path, in a sentence
SETTLED_NS = 1_000_000_000  # age of a file whose writer is not known, in nanoseconds, before it is read


def version_on_disk(directory: str, path: str) -> str:
    """What tells that the file at *path* below *directory* changed; NO_FILE: there is none that can be read."""
    try:
        with OpenDescriptor(_open(directory, path, contained_files.PATH_ONLY_FLAGS)) as descriptor:
            state = os.fstat(descriptor)
    except (Damaged, OSError):
        return NO_FILE
    return f"{state.st_mtime_ns}:{state.st_size}"


def read_on_disk(directory: str, path: str) -> bytes:
    """
    The bytes of the file at *path* below *directory*.

    Raises:
        Damaged: there is no such file, or it is none that an attachment can have.
        Busy: it is being written.
    """
    with OpenDescriptor(_open(directory, path, contained_files.FILE_FLAGS)) as descriptor:
        try:
            _check_file(descriptor, path)
            return contained_files.read_now(descriptor, path, MAX_FILE_BYTES)[0]
        except OSError as error:  # a disk that fails, or a share that is gone
            raise _unreadable(f"{_shown(path)} in {directory}", error) from error


def check_on_disk(directory: str, path: str) -> None:
    """Raise Damaged where read_on_disk() would, without reading the bytes."""
    with OpenDescriptor(_open(directory, path, contained_files.PATH_ONLY_FLAGS)) as descriptor:
        _check_kind(os.fstat(descriptor), path)


def _open(directory: str, path: str, flags: int) -> int:
    """A descriptor of *path* below *directory*, through no link. Raises Damaged if there is no way to it."""
    try:
        with OpenDescriptor(os.open(directory, contained_files.DIRECTORY_FLAGS)) as root:
            return contained_files.open_beneath(root, path, flags, native=False, crosses_mounts=True)
    except Refused as refusal:
        why = f"leads out of {directory} or through a symbolic link, or is too long"
        raise Damaged(f"its path {_shown(path)} {why}") from refusal
    except OSError as error:
        is_there = os.path.isdir(directory)  # noqa: PTH112 -- Path.is_dir() raises where a directory is closed to us
        where = f"{_shown(path)} in {directory}" if is_there else f"the directory {directory}"
        raise _unreadable(where, error) from error


def _unreadable(where: str, error: OSError) -> Damaged:
    return Damaged(f"{where} cannot be read ({os.strerror(error.errno or 0)})")


def _check_file(descriptor: int, path: str) -> None:
    """Raises Busy while the file may have a writer, Damaged if it is none that an attachment can have."""
    state = os.fstat(descriptor)
    _check_kind(state, path)
    is_written = has_writer(descriptor)
    if is_written is None:
        is_written = 0 <= time.time_ns() - state.st_mtime_ns < SETTLED_NS
    if is_written:
        raise Busy(f"{_shown(path)} is being written.")


def _check_kind(state: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise Damaged(f"{_shown(path)} is no regular file")
    if state.st_size > MAX_FILE_BYTES:
        raise Damaged(f"it has more than {MAX_FILE_BYTES >> 20} MiB")


def _shown(path: str) -> str:
    return repr(path if len(path) <= MAX_SHOWN_CHARACTERS else f"{path[:MAX_SHOWN_CHARACTERS]}…")
