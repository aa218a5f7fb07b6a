"""At which signals a daemon finishes its work, and that it ends where it would wait for ever without memory."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from mirrord.mirror.process_setup import list_stop_signals

LIMITED = """
import resource, threading
from mirrord.mirror.process_setup import LOOK_SECONDS, MAX_LOOKS, RESERVE_BYTES, end_without_memory, has_memory
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + 4 * RESERVE_BYTES
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
def wants(size):
    try:
        return bytearray(size)
    except MemoryError:
        return None
def exhaust():
    parts = []
    for size in (RESERVE_BYTES // 4, 65536, 4096):
        while (part := wants(size)) is not None:
            parts.append(part)
    return parts
"""
TELLING = """
print(wants(8 * RESERVE_BYTES), has_memory())
parts = exhaust()
print(has_memory())
parts.clear()
print(has_memory())
"""
WAITING = """
end_without_memory()
parts = exhaust()
threading.Event().wait(60)
"""
GREEDY = """
end_without_memory()
for _ in range(2 * MAX_LOOKS):
    assert wants(8 * RESERVE_BYTES) is None
    threading.Event().wait(LOOK_SECONDS)
"""


@pytest.fixture(params=[signal.SIG_DFL, signal.SIG_IGN], ids=["closed terminal", "nohup"])
def hangup(request: pytest.FixtureRequest) -> Iterator[signal.Handlers]:
    before = signal.signal(signal.SIGHUP, request.param)
    yield request.param
    signal.signal(signal.SIGHUP, before)


def test_a_hangup_stops_a_daemon_unless_it_is_ignored(hangup: signal.Handlers) -> None:
    assert {signal.SIGINT, signal.SIGTERM} <= set(list_stop_signals())
    assert (signal.SIGHUP in list_stop_signals()) is (hangup is signal.SIG_DFL)


def test_one_who_wants_too_much_is_told_from_a_process_that_has_no_memory_left() -> None:
    completed = run_limited(TELLING)
    assert (completed.stdout.split(), completed.stderr) == (["None", "True", "False", "True"], "")


def test_a_process_that_waits_without_memory_ends() -> None:
    ended = run_limited(WAITING)
    assert (ended.returncode, ended.stderr) == (1, "mirrord: there is no memory left; the process ends.\n")


def test_a_process_that_wanted_too_much_goes_on() -> None:
    ended = run_limited(GREEDY)
    assert (ended.returncode, ended.stderr) == (0, "")


def run_limited(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program that gets little more memory than it has when it starts."""
    command = [sys.executable, "-c", LIMITED + program]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
