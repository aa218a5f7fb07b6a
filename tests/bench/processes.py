"""What processes have taken, of proc(5) (Linux)."""

import os
from collections.abc import Iterable
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")  # a second


def megabytes(pid: int, field: str = "VmRSS") -> float:
    """VmRSS or VmHWM, in 10⁶ bytes; 0 if the process has gone."""
    return next((int(line.split()[1]) * 1024 / 1e6 for line in _status(pid) if line.startswith(f"{field}:")), 0.0)


def threads(pid: int) -> int:
    """How many it has; 0 if the process has gone."""
    return next((int(line.split()[1]) for line in _status(pid) if line.startswith("Threads:")), 0)


def descriptors(pid: int) -> int:
    """How many it has open; 0 if the process has gone."""
    try:
        return sum(1 for _ in Path("/proc", str(pid), "fd").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return 0


def cpu_seconds(pids: Iterable[int]) -> float:
    """What all of them together have computed, with children of theirs that have ended."""
    return sum(_ticks(pid) for pid in pids) / _TICKS


def children(pid: int) -> list[int]:
    """The processes that *pid* started and that live."""
    pids = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        fields = _fields(stat)
        if fields and int(fields[1]) == pid:
            pids.append(int(stat.parent.name))
    return pids


def _ticks(pid: int) -> int:
    fields = _fields(Path("/proc", str(pid), "stat"))
    return sum(map(int, fields[11:15]))


def _fields(stat: Path) -> list[str]:
    """What comes after the name in parentheses, from the state on; nothing if the process has gone."""
    try:
        return stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _status(pid: int) -> list[str]:
    try:
        return Path("/proc", str(pid), "status").read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return []
