"""Directories that nobody may write to, not even root."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def read_only(directory: Path) -> Iterator[None]:
    """*directory* is mounted read-only inside this block. Skips the test where mounting is not allowed."""
    if not _mount("--bind", str(directory), str(directory)):
        pytest.skip("may not mount")
    try:
        assert _mount("-o", "remount,bind,ro", str(directory))
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def _mount(*arguments: str) -> bool:
    try:
        return subprocess.run(["mount", *arguments], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False
