"""Faults at system calls: a process is stopped, or told of an error, at the n-th call of a name that it makes."""

import os
import re
import shutil
import signal
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# What changes the state of files, and what speaks to Postgres: a kill between two of them is no different from one at
# the later one.
WRITES = ("write", "pwrite64", "ftruncate", "sendto")
OPENS = ("openat", "openat2")
SYNCS = ("fsync", "fdatasync", "io_submit", "io_getevents")
NAMES = ("rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir")
CALLS = (*WRITES, *OPENS, *SYNCS, *NAMES)
ERRORS = {  # what may fail, and how
    "ENOSPC": ("write", "pwrite64", "openat", "mkdirat", "renameat2", "fsync"),
    "EIO": ("write", "pwrite64", *SYNCS, "openat2", "renameat2", "unlinkat"),
    "EMFILE": ("openat", "openat2"),
}

LONGEST = 60  # seconds that one process may take

_LINE = re.compile(r"(?P<pid>\d+) +(?P<call>\w+)\(")


@dataclass(frozen=True, slots=True)
class Point:
    """The n-th call of one name in one thread. error: what it fails with; None: the process is killed at it."""

    call: str
    number: int
    error: str | None = None

    def __str__(self) -> str:
        return f"{self.error or 'SIGKILL'} at {self.call} {self.number}"

    @property
    def rule(self) -> str:
        """For strace. A signal comes before the call is made."""
        fault = f"error={self.error}" if self.error else "signal=SIGKILL"
        return f"inject={self.call}:{fault}:when={self.number}"


@dataclass(frozen=True, slots=True)
class Traced:
    """
    How a process ended, and every call it made.

    killed: by the injected signal. failed: it ended by itself, with an exit code that is not 0; said: with these words.
    """

    killed: bool
    failed: bool
    hit: bool
    output: str
    trace: str

    def counts(self) -> Counter[str]:
        """How often one thread made each call: as many as can be injected."""
        by_thread = Counter(
            (match["pid"], match["call"]) for match in map(_LINE.match, self.trace.splitlines()) if match
        )
        counts: Counter[str] = Counter()
        for (_, call), number in by_thread.items():
            counts[call] = max(counts[call], number)
        return counts

    def count_before(self, sign: str, call: str) -> int:
        """How often the thread whose line is the first to show *sign* had made *call* before."""
        before, match, _ = self.trace.partition(sign)
        assert match, f"nothing shows {sign!r}"
        *earlier, first = before.splitlines()
        return sum(line.startswith(f"{first.split()[0]} ") and f" {call}(" in line for line in earlier)


def missing() -> str | None:
    """Why nothing can be injected here; None: it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    return None


Gate = Callable[[], None]


def traced(act: Callable[[Gate], None], directory: Path, point: Point | None = None) -> Traced:
    """
    Do *act* in a process of its own under strace, with a fault at *point*; None: without one.

    act: calls the gate it is given where counting is to begin.
    """
    directory.mkdir(parents=True, exist_ok=True)
    trace, output = directory / "trace", directory / "said"
    (at_gate, gate_descriptor), (ready, go) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        _live(act, gate_descriptor, ready, output)
    os.close(gate_descriptor)
    os.close(ready)
    try:
        at_work = os.read(at_gate, 1)  # nothing: it ended before its gate
        status = _under_strace(child, trace, go, point) if at_work else _awaited(child)
    finally:
        os.close(at_gate)
        os.close(go)
    text = trace.read_text(encoding="utf-8", errors="replace") if trace.exists() else ""
    killed = os.WIFSIGNALED(status)
    failed = not killed and os.WEXITSTATUS(status) != 0
    return Traced(killed, failed, killed or "(INJECTED)" in text, output.read_text() if output.exists() else "", text)


def _under_strace(child: int, trace: Path, go: int, point: Point | None) -> int:
    calls = CALLS if point is None else (point.call,)
    # `-e trace=none` would also switch the injection off.
    rules = ["-e", "trace=" + ",".join(calls), *(["-e", point.rule] if point else [])]
    command = ["strace", "-f", "-y", "-s", "16", "-o", str(trace), "-p", str(child), *rules]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as strace:
        assert strace.stderr is not None
        attached = strace.stderr.readline()
        assert b"attached" in attached, f"strace does not attach: {attached.decode()}"
        os.write(go, b"g")
        status = _awaited(child)
        strace.wait(LONGEST)
    return status


def _awaited(child: int) -> int:
    """Its status; a process that hangs is ended, and that is a failure."""
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGTERM))
    signal.alarm(LONGEST)
    try:
        return os.waitpid(child, 0)[1]
    finally:
        signal.alarm(0)


def _live(act: Callable[[Gate], None], gate_descriptor: int, ready: int, output: Path) -> None:
    """The child's life: act, wait at the gate until strace is there, end without what the parent does at its end."""

    def gate() -> None:
        os.write(gate_descriptor, b"h")
        os.read(ready, 1)

    code = 1
    try:
        act(gate)
        code = 0
    except BaseException:
        output.write_text(traceback.format_exc(), encoding="utf-8")
    finally:
        sys.stdout.flush()
        os._exit(code)
