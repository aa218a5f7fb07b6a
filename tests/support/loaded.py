"""
A process that has loaded mirrord once, and of which every daemon of a test worker begins as a copy.

A daemon on its own loads for a second of CPU before it does anything; tests start some two hundred. From then on it is
the same: a session of its own, its own log, environment and directory, ended by signals, its exit code told. All of
mirrord is loaded, also what a daemon loads when it is asked for: else every copy would load that again. The process is
a copy itself, of the origin.
"""

import atexit
import json
import os
import selectors
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests.support import origin

PROGRAM = "from tests.support.loaded import serve; serve({descriptor})"
_LAST = 10.0  # seconds that daemons have to end when nobody is there any more


class Loaded:
    """The process, started with the first daemon. It ends when it was closed and all its daemons have ended."""

    def __init__(self, program: str | None = None) -> None:
        """*program*: Python that calls serve() with the descriptor it is given; None: a copy of the origin does."""
        self._asking, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            if program is None:
                origin.begin(__name__, [theirs.fileno()])
                atexit.register(self.close)
            else:
                atexit.register(self._end, _run(program, theirs))

    def begin(
        self, arguments: Sequence[str], *, log: Path, cwd: Path, env: Mapping[str, str], errors: Path | None = None
    ) -> "Copy":
        """A daemon, or another command; *arguments* follow `mirrord`. errors: what stderr becomes; None: the log."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        log.touch()  # as soon as it began, its log is read
        outputs = [str(log), str(errors or log)]
        order = {"arguments": list(arguments), "outputs": outputs, "cwd": str(cwd), "env": dict(env)}
        with theirs:
            socket.send_fds(self._asking, [json.dumps(order).encode()], [theirs.fileno()])
        return Copy(ours)

    def close(self) -> None:
        """It begins no more; what it began goes on."""
        self._asking.close()

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        self.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LAST)
        process.kill()
        process.wait()


def _run(program: str, connection: socket.socket) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", program.format(descriptor=connection.fileno())],
        env=origin.python_environment(),
        stdin=subprocess.DEVNULL,
        pass_fds=[connection.fileno()],
    )


class Copy:
    """A daemon that was begun, with what tests use of Popen."""

    def __init__(self, connection: socket.socket) -> None:
        self._told = connection
        self.pid = int(connection.recv(32))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, as Popen has it; None: it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """As Popen.wait()."""
        if self.returncode is None:
            self._told.settimeout(timeout)
            try:
                self.returncode = int(self._told.recv(32))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("mirrord up", timeout or 0) from None
            self._told.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """As Popen.send_signal(): nothing happens to what has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


@cache
def loaded() -> Loaded:
    """That of this test worker."""
    return Loaded()


def serve(descriptor: int) -> None:
    """Begin a daemon for each request, and tell how each ended, until nobody asks any more."""
    from mirrord.cli.command_table import cli  # noqa: PLC0415  (here, and not where tests ask, the daemon is loaded)

    origin.load_mirrord()
    with socket.socket(fileno=descriptor) as asking:
        order = _begin_and_tell(asking)
    if order is not None:
        _become(order)
        sys.exit(cli.main(order["arguments"], prog_name="mirrord", standalone_mode=False) or 0)


def _begin_and_tell(asking: socket.socket) -> dict[str, Any] | None:
    """In each daemon what it was asked to be; in the process that began them None, when all is over."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(asking, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                if key.data is not None:
                    waiting.unregister(key.fd)
                    _tell(key.fd, *key.data)
                    continue
                message, descriptors, *_ = socket.recv_fds(asking, 1 << 16, 1)
                if not message:  # nobody asks any more
                    waiting.unregister(asking)
                    continue
                connection = socket.socket(fileno=descriptors[0])
                if (child := os.fork()) == 0:
                    connection.close()
                    _close([key for key in waiting.get_map().values() if key.data is not None])
                    order: dict[str, Any] = json.loads(message)
                    return order
                connection.send(str(child).encode())
                waiting.register(os.pidfd_open(child), selectors.EVENT_READ, (child, connection))
    return None


def _tell(descriptor: int, child: int, connection: socket.socket) -> None:
    os.close(descriptor)
    _, status = os.waitpid(child, 0)
    with connection, suppress(OSError):  # whoever asked may be gone
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _close(keys: Sequence[selectors.SelectorKey]) -> None:
    for key in keys:
        os.close(key.fd)
        key.data[1].close()


def _become(order: Mapping[str, Any]) -> None:
    """What Popen would have done before the program began."""
    os.setsid()
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    for number, path in enumerate(order["outputs"], 1):
        output = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(output, number)
        os.close(output)
