"""Run converters in a process limited in time, memory and disk, without network."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import mirrord
from mirrord.domain.long_work import Progress, ignore_progress
from mirrord.errors import Damaged

CPU_SECONDS = 300  # seconds
WALL_SECONDS = 600.0  # seconds
ADDRESS_BYTES = 3 << 29  # bytes of memory: 1.5 GB
LOCKED, BROKEN = 3, 4  # exit codes of our own: a document with a password, an unreadable one
OUTPUT_BYTES = 200 << 20  # bytes of one file


def run_confined(
    arguments: Sequence[str], place: Path, progress: Progress = ignore_progress, cpu: int = CPU_SECONDS
) -> int:
    """
    Run a converter in the directory *place*, its only writable one, and return its exit code.

    arguments: the absolute path of the program, and its arguments. Lines `DONE OF` that it prints become progress.
    Raises Damaged if it exceeds a limit.
    """
    limits = [str(cpu), str(ADDRESS_BYTES), str(OUTPUT_BYTES)]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "mirrord.convert.confined", *limits, *arguments],
        cwd=place,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=_build_environment(place),
    )
    try:
        _report_progress(process, progress)
        code = process.wait(max(1.0, WALL_SECONDS))
    except (TimeoutError, subprocess.TimeoutExpired):
        raise Damaged("it takes too long to convert") from None
    finally:
        _kill_process(process)
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        raise Damaged("it takes too long to convert")
    if code == -signal.SIGXFSZ:
        raise Damaged("it would become far larger than a document is")
    return code


def _build_environment(place: Path) -> dict[str, str]:
    """A minimal environment: that of this process may hold secrets."""
    package_root = str(Path(mirrord.__file__).parents[1])
    return {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": package_root,
        "HOME": str(place),
        "TMPDIR": str(place),
        "LANG": "C.UTF-8",
    }


def _report_progress(process: "subprocess.Popen[bytes]", progress: Progress) -> None:
    assert process.stdout is not None
    descriptor, deadline, remainder = process.stdout.fileno(), time.monotonic() + WALL_SECONDS, b""
    while True:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError
        piece = os.read(descriptor, 4096)
        if not piece:
            return
        *lines, remainder = (remainder + piece).split(b"\n")
        for line in lines:
            numbers = line.split()
            if len(numbers) == 2 and all(map(bytes.isdigit, numbers)):
                progress(int(numbers[0]), int(numbers[1]))
        remainder = remainder[-4096:]


def _kill_process(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert process.stdout is not None
    process.stdout.close()
