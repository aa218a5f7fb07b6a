"""Groups of processes that the kernel kills when they take more memory than they may (cgroups)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.harness import eventually

_ROOT = Path("/sys/fs/cgroup")


@contextmanager
def memory_group(max_bytes: int) -> Iterator[Path]:
    """A group whose processes may take so much; skips the test where no group can be made."""
    parent, setting = (
        (_ROOT / "memory", "memory.limit_in_bytes") if (_ROOT / "memory").is_dir() else (_ROOT, "memory.max")
    )
    group = parent / f"mirrord-tests-{os.getpid()}"
    try:
        group.mkdir()
        (group / setting).write_text(str(max_bytes))
    except OSError as error:
        with suppress(OSError):
            group.rmdir()
        pytest.skip(f"no group of processes can be made here: {error}")
    try:
        yield group
    finally:
        eventually(lambda: _is_removed(group), "the end of the group")


def _is_removed(group: Path) -> bool:
    """Whether the group is gone, after its processes were let go: the kernel still ends those that it killed."""
    for pid in (group / "cgroup.procs").read_text().split():
        with suppress(OSError):
            (group.parent / "cgroup.procs").write_text(pid)
    with suppress(OSError):
        group.rmdir()
    return not group.exists()


def put_into(group: Path, pid: int) -> None:
    """Let a process be one of the group from now on; what it has already does not count."""
    (group / "cgroup.procs").write_text(str(pid))
