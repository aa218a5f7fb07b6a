"""
A fork server: it has imported a daemon once, and forks one that begins at once for each that is asked for.

To import takes a second of the processor, which is most of what the life of a daemon in a campaign costs. Daemons that
come of one server order sets alike, so every host has a server of its own, and gets a new one now and then.
"""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]  # what is forked is of the same copy as this
USES = 40  # daemons of one server


class Forked:
    """A daemon that was forked: nobody's child here, so that only its log tells how it ended."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self._handle: int | None = os.pidfd_open(pid)
        except ProcessLookupError:  # it has ended already
            self._handle = None

    def poll(self) -> int | None:
        """None while it lives; else 0, however it ended."""
        return 0 if self._has_ended(0.0) else None

    def wait(self, timeout: float | None = None) -> int:
        """Return when it has ended. Raises TimeoutExpired after *timeout* seconds."""
        if not self._has_ended(timeout):
            raise subprocess.TimeoutExpired(f"daemon {self.pid}", timeout or 0.0)
        return 0

    def send_signal(self, number: int) -> None:
        """Harmless where it has ended already."""
        if not self._has_ended(0.0):
            os.kill(self.pid, number)

    def _has_ended(self, seconds: float | None) -> bool:
        if self._handle is None:
            return True
        watch = select.poll()
        watch.register(self._handle, select.POLLIN)
        if not watch.poll(None if seconds is None else seconds * 1000):
            return False
        os.close(self._handle)
        self._handle = None
        return True


class Forks:
    """The server of one host. It is started when a daemon is asked for, and again after USES of them."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[bytes] | None = None
        self._left = 0

    def start(self, command: Sequence[str], directory: Path, environment: Mapping[str, str], log: Path) -> Forked:
        """
        A daemon in a session of its own, as subprocess would start it with *log* for all it says.

        command: the words after `mirrord`.
        """
        if self._left == 0:
            self.close()
            self._server = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.quick"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            self._left = USES
        self._left -= 1
        assert self._server is not None
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        order = [list(command), str(directory), dict(environment), str(log)]
        self._server.stdin.write(json.dumps(order).encode() + b"\n")
        self._server.stdin.flush()
        answer = self._server.stdout.readline()
        assert answer, "the fork server has ended"
        return Forked(int(answer))

    def close(self) -> None:
        """End the server; daemons that it forked go on."""
        if self._server is not None:
            self._server.communicate()
            self._server, self._left = None, 0


def next_order() -> list[str]:
    """
    The server: fork for every order that comes, until none can come any more. Returns in a forked daemon only,
    with what it is to do.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how they ended
    for line in iter(sys.stdin.buffer.readline, b""):
        pid = os.fork()
        if pid == 0:
            command, directory, environment, log = json.loads(line)
            _become(directory, environment, log)
            return [str(word) for word in command]
        os.write(sys.stdout.fileno(), f"{pid}\n".encode())
    sys.exit(0)


def _become(directory: str, environment: Mapping[str, str], log: str) -> None:
    """What is a process's own, as if it had just been started."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    nothing, said = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_APPEND)
    for descriptor, standard in ((nothing, 0), (said, 1), (said, 2)):
        os.dup2(descriptor, standard)
    os.close(nothing)
    os.close(said)
    sys.modules["__main__"] = ModuleType("__main__")  # its workers import that anew: nothing, as with `python -c`
