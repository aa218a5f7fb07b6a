"""At which signals a daemon finishes its work, and that it ends where it would wait for ever without memory."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from mirrord.mirror.process_setup import list_stop_signals

WAITING = """
import _thread, threading
from mirrord.mirror.process_setup import end_without_memory
end_without_memory()
def begin():
    raise {error}
_thread.start_new_thread(begin, ())
threading.Event().wait({seconds})
"""


@pytest.fixture(params=[signal.SIG_DFL, signal.SIG_IGN], ids=["closed terminal", "nohup"])
def hangup(request: pytest.FixtureRequest) -> Iterator[signal.Handlers]:
    before = signal.signal(signal.SIGHUP, request.param)
    yield request.param
    signal.signal(signal.SIGHUP, before)


def test_a_hangup_stops_a_daemon_unless_it_is_ignored(hangup: signal.Handlers) -> None:
    assert {signal.SIGINT, signal.SIGTERM} <= set(list_stop_signals())
    assert (signal.SIGHUP in list_stop_signals()) is (hangup is signal.SIG_DFL)


def test_a_process_whose_thread_cannot_begin_without_memory_ends() -> None:
    ended = run_waiting(error="MemoryError", seconds=60)
    assert (ended.returncode, ended.stderr) == (1, "mirrord: there is no memory left; the process ends.\n")


def test_a_process_whose_thread_ends_with_another_error_goes_on() -> None:
    ended = run_waiting(error="ValueError('of the thread')", seconds=0.2)
    assert ended.returncode == 0
    assert "ValueError: of the thread" in ended.stderr


def run_waiting(**values: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WAITING.format(**values)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)
