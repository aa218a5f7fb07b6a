"""Places for trees on other file systems than that of the tests' own directory."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")
DISK_BYTES = 2 << 30  # of a sparse file


@contextmanager
def directory_on(kind: str, directory: Path) -> Iterator[Path]:
    """A directory on a file system: `own` is that of *directory*. Skips the test where it cannot be mounted."""
    if kind == "own":
        yield directory
    elif kind == "tmpfs":
        with tempfile.TemporaryDirectory(dir=MEMORY, ignore_cleanup_errors=True) as path:
            yield Path(path)
    else:
        with _mounted(kind, directory) as mounted:
            yield mounted


@contextmanager
def _mounted(kind: str, directory: Path) -> Iterator[Path]:
    image, place = directory / f"{kind}.image", directory / kind
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    place.mkdir()
    if shutil.which(f"mkfs.{kind}") is None:
        pytest.skip(f"There is no mkfs.{kind}.")
    _run(f"mkfs.{kind}", "-q", str(image))
    if problem := _failure("mount", "-o", "loop", str(image), str(place)):
        pytest.skip(f"{kind} cannot be mounted: {problem}")
    try:
        yield place
    finally:
        _run("umount", str(place))
        image.unlink()


def _run(*words: str) -> None:
    assert not (problem := _failure(*words)), problem


def _failure(*words: str) -> str:
    """What the command said if it failed."""
    completed = subprocess.run(words, capture_output=True, text=True, check=False)
    return completed.stderr or words[0] if completed.returncode else ""
