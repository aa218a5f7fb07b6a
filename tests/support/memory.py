"""Directories in memory, for what need not outlive a test run: the files of a Postgres that everybody writes to."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from tests.support.file_systems import MEMORY

FREE_BYTES = 2 << 30  # else memory is others', or a container's, where there is little

_PREFIX = "mirrord-tests-"  # then the process whose directory it is


def memory_directory(name: str) -> Path | None:
    """A new directory in memory until this process ends. None: there is none with room."""
    if not _has_room():
        return None
    _remove_leftovers()
    directory = _directory_of(os.getpid()) / name
    directory.mkdir(mode=0o700, parents=True)
    return directory


def run_directory() -> Path | None:
    """A directory in memory that the workers of this test run share. None: there is none with room."""
    if not _has_room():
        return None
    directory = _directory_of(run_process())
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory


def run_process() -> int:
    """The process of this test run: that which started the workers, if there are any."""
    return os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()


def remove_memory_directories() -> None:
    """Give the memory of this process's directories back."""
    shutil.rmtree(_directory_of(os.getpid()), ignore_errors=True)


def _has_room() -> bool:
    return MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= FREE_BYTES


def _directory_of(process: int) -> Path:
    return MEMORY / f"{_PREFIX}{process}"


def _remove_leftovers() -> None:
    """Of processes that were killed. A Postgres that still runs in one of them ends when it misses its files."""
    for leftover in MEMORY.glob(f"{_PREFIX}*"):
        process = leftover.name.removeprefix(_PREFIX)
        if process.isdecimal() and not Path("/proc", process).exists():
            with suppress(OSError):
                shutil.rmtree(leftover)
