"""Nothing that the watcher noticed is lost on the way to whoever asks it."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import Path

import pytest

from mirrord.mirror.watch_bursts import Bursts

MAKE = """
import os, random, sys, time
for number in range(int(sys.argv[2])):
    os.close(os.open(f"{sys.argv[1]}/{number}.md", os.O_CREAT))
    end = time.perf_counter() + random.random() / 500
    while time.perf_counter() < end:
        pass
"""
SPIN = "while True: pass"


def test_nothing_is_lost_when_patience_ends_as_it_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bursts, "_first", lambda self: self._taken(step=0, patience=1))
    names = {f"{number}.md" for number in range(2_000)}
    with ExitStack() as processes:
        for _ in range(2):  # processors that are not busy hide the loss
            processes.enter_context(_running(SPIN))
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(_missed, tmp_path, names).result() == set()


def _missed(root: Path, names: set[str]) -> set[str]:
    """Those of *names* that nobody told of while they were made, and for a second after."""
    missed, deadline = set(names), inf
    watched = Bursts([str(root)], recursive=True, root=root, is_complete=lambda _: True)
    with _running(MAKE, str(root), str(len(names))) as maker:
        while missed and time.monotonic() < deadline:
            missed -= watched.next_changes()
            if deadline == inf and maker.poll() is not None:
                deadline = time.monotonic() + 1
    watched.close()
    return missed


@contextmanager
def _running(program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", program, *arguments])
    try:
        yield process
    finally:
        process.kill()
        process.wait()
