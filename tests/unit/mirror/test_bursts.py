"""Nothing that watchfiles noticed is lost, and an event ends every sleep."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import Path

import watchfiles

from mirrord.mirror.watch_bursts import MAX_SAVE_SIGNALS, Bursts, Sleeper, sleep_through_flurry

MAKE = """
import os, random, sys, time
for number in range(int(sys.argv[2])):
    os.close(os.open(f"{sys.argv[1]}/{number}.md", os.O_CREAT))
    end = time.perf_counter() + random.random() / 500
    while time.perf_counter() < end:
        pass
"""
SPIN = "while True: pass"


def test_nothing_is_lost_of_what_happens_at_any_moment(tmp_path: Path) -> None:
    names = {f"{number}.md" for number in range(2_000)}
    with ExitStack() as processes:
        for _ in range(2):  # processors that are not busy hide a loss
            processes.enter_context(_running(SPIN))
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(_missed, tmp_path, names).result() == set()


def _missed(root: Path, names: set[str]) -> set[str]:
    """Those of *names* that were not reported while they were made, and for a second after."""
    missed, deadline = set(names), inf
    with _running(MAKE, str(root), str(len(names))) as maker:

        def is_over(paths: set[str]) -> bool:
            nonlocal deadline
            missed.difference_update(paths)
            if deadline == inf and maker.poll() is not None:
                deadline = time.monotonic() + 1
            return not missed or time.monotonic() > deadline

        Bursts(root, lambda _: True, is_over, lambda _: None).run([str(root)], recursive=True)
    return missed


class SleepUntilSaved:
    """Saves a file when the watch is live, and sleeps."""

    def __init__(self, file: Path) -> None:
        self.file, self.is_woken = file, False

    def is_set(self) -> bool:
        sleeper = Sleeper()
        self.file.write_bytes(b"alpha")
        self.is_woken = sleeper.sleep(60_000)
        return True


def test_an_event_ends_a_sleep(tmp_path: Path) -> None:
    sleep = SleepUntilSaved(tmp_path / "A.md")
    with ThreadPoolExecutor(1) as thread:  # it blocks a signal
        assert thread.submit(list, watchfiles.watch(tmp_path, stop_event=sleep)).result(90) == []
    assert sleep.is_woken


class CountingSleeper(Sleeper):
    """Counts its sleeps."""

    count = 0

    def sleep(self, milliseconds: int) -> bool:
        self.count += 1
        return super().sleep(milliseconds)


def test_many_signals_do_not_wake_the_watcher_one_by_one() -> None:
    def sleep_among_signals() -> int:
        sleeper, ending = CountingSleeper(), threading.Event()

        def send_signals() -> None:
            while not ending.is_set():
                sleeper.wake()

        with ThreadPoolExecutor(1) as sender:
            sender.submit(send_signals)
            try:
                sleep_through_flurry(sleeper)
            finally:
                ending.set()
        return sleeper.count

    with ThreadPoolExecutor(1) as thread:  # it blocks a signal
        assert 0 < thread.submit(sleep_among_signals).result(90) <= MAX_SAVE_SIGNALS


@contextmanager
def _running(program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", program, *arguments])
    try:
        yield process
    finally:
        process.kill()
        process.wait()
