"""
A process that has loaded the server for agents, and of which every `mirrord mcp` of a test worker begins as a copy.

A server on its own loads for more than a second of CPU before it answers; tests start some two hundred. A client starts
server_launcher, which hands its three streams over to the copy, ends with its exit code, and takes it along when it is
killed. The process is a copy itself, of the origin.
"""

import atexit
import json
import os
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from tests.support import origin, server_launcher


@cache
def launcher() -> list[str]:
    """The words that begin a server of this test worker's; the arguments of `mirrord mcp` follow them."""
    name = f"mirrord-servers-{os.getpid()}"
    ours, owner = socket.socketpair()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, owner:
        listener.bind(f"\0{name}")
        listener.listen(64)
        origin.begin(__name__, [listener.fileno(), owner.fileno()])
    atexit.register(ours.close)
    return [sys.executable, "-I", "-S", str(server_launcher.__file__), name]


def serve(listener_descriptor: int, owner_descriptor: int) -> None:
    """Begin a copy for each connection, until the test worker is gone; then end those that are left."""
    from mirrord.cli.command_table import cli  # noqa: PLC0415  (here, and not where tests ask, the server is loaded)

    origin.load_mirrord()
    begin = Copies(socket.socket(fileno=listener_descriptor), socket.socket(fileno=owner_descriptor)).run()
    if begin is not None:
        sys.exit(cli.main(["mcp", *begin()], prog_name="mirrord", standalone_mode=False) or 0)


class Copies:
    """The copies that run, with the connections of their launchers."""

    def __init__(self, listener: socket.socket, owner: socket.socket) -> None:
        self.listener, self.owner = listener, owner
        self.selector = selectors.DefaultSelector()
        self.running: dict[int, tuple[int, socket.socket]] = {}  # process id: its pidfd, its launcher's connection
        self.selector.register(listener, selectors.EVENT_READ, self._accept)
        self.selector.register(owner, selectors.EVENT_READ, None)

    def run(self) -> Callable[[], list[str]] | None:
        """In each copy what makes it a server and gives its arguments; in the process that began them None."""
        while True:
            for key, _ in self.selector.select():
                if key.data is None:
                    for child in self.running:
                        os.kill(child, signal.SIGKILL)
                    return None
                if become := key.data():
                    return become  # type: ignore[no-any-return]

    def _accept(self) -> Callable[[], list[str]] | None:
        connection, _ = self.listener.accept()
        message, descriptors, *_ = socket.recv_fds(connection, 1 << 20, 3)
        child = os.fork()
        if child == 0:
            self._close_all(connection)
            return lambda: _become(json.loads(message), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        watch = os.pidfd_open(child)
        self.running[child] = (watch, connection)
        self.selector.register(watch, selectors.EVENT_READ, lambda: self._tell_end(child))
        self.selector.register(connection, selectors.EVENT_READ, lambda: self._kill(child))
        return None

    def _kill(self, child: int) -> None:
        """Its launcher is gone."""
        self.selector.unregister(self.running[child][1])
        os.kill(child, signal.SIGKILL)

    def _tell_end(self, child: int) -> None:
        watch, connection = self.running.pop(child)
        _, status = os.waitpid(child, 0)
        self.selector.unregister(watch)
        os.close(watch)
        with suppress(KeyError):  # it was killed because its launcher was
            self.selector.unregister(connection)
        with connection, suppress(OSError):
            connection.send(str(os.waitstatus_to_exitcode(status)).encode())

    def _close_all(self, connection: socket.socket) -> None:
        self.selector.close()
        for inherited in (connection, self.listener, self.owner):
            inherited.close()
        for watch, other in self.running.values():
            os.close(watch)
            other.close()


def _become(order: dict[str, Any], descriptors: list[int]) -> list[str]:
    """What the launcher would have become; the arguments."""
    os.setsid()
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    arguments: list[str] = order["arguments"]
    return arguments
