"""Runs converters in a process that may use only so much time, memory and disk, and none of the network."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import mirrord
from mirrord.domain.progress import Progress, unobserved
from mirrord.errors import Damaged

CPU = 300  # seconds
WALL = 600.0  # seconds
ADDRESS = 3 << 29  # bytes of memory: 1.5 GB
LOCKED, BROKEN = 3, 4  # exit codes of our own: a document behind a password, one that cannot be read
OUTPUT = 200 << 20  # bytes of one file


def run(arguments: Sequence[str], place: Path, progress: Progress = unobserved, cpu: int = CPU) -> int:
    """
    Run a converter in the directory *place*, all it may write in; its exit code.

    arguments: the program, absolute, and its own. Lines `DONE OF` that it prints become progress.
    Raises Damaged if it needs more than it may have.
    """
    limits = [str(cpu), str(ADDRESS), str(OUTPUT)]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "mirrord.convert.confined", *limits, *arguments],
        cwd=place,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=_environment(place),
    )
    try:
        _follow(process, progress)
        code = process.wait(max(1.0, WALL))
    except (TimeoutError, subprocess.TimeoutExpired):
        raise Damaged("it takes too long to convert") from None
    finally:
        _end(process)
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        raise Damaged("it takes too long to convert")
    if code == -signal.SIGXFSZ:
        raise Damaged("it would become far larger than a document is")
    return code


def _environment(place: Path) -> dict[str, str]:
    """Nothing of this process's own, which may hold secrets."""
    here = str(Path(mirrord.__file__).parents[1])
    return {"PATH": "/usr/bin:/bin", "PYTHONPATH": here, "HOME": str(place), "TMPDIR": str(place), "LANG": "C.UTF-8"}


def _follow(process: "subprocess.Popen[bytes]", progress: Progress) -> None:
    assert process.stdout is not None
    descriptor, deadline, rest = process.stdout.fileno(), time.monotonic() + WALL, b""
    while True:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError
        piece = os.read(descriptor, 4096)
        if not piece:
            return
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            numbers = line.split()
            if len(numbers) == 2 and all(map(bytes.isdigit, numbers)):
                progress(int(numbers[0]), int(numbers[1]))
        rest = rest[-4096:]


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert process.stdout is not None
    process.stdout.close()
