"""
A process that has loaded the server for agents, and of which every `mirrord mcp` of a test worker begins as a copy.

A server on its own loads for more than a second of CPU before it answers; tests start some two hundred. A client starts
server_launcher, which hands its three streams over to the copy, ends with its exit code, and takes it along when it is
killed.
"""

import atexit
import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import mirrord
from mirrord.domain.trust import Trust
from mirrord.mcp.tool_sets import ALL_SETS, tools_of
from tests.support import server_launcher
from tests.support.loaded import load_mirrord

PROGRAM = "from tests.support.loaded_servers import serve; serve({listener}, {owner})"


@cache
def launcher() -> list[str]:
    """The words that begin a server of this test worker's; the arguments of `mirrord mcp` follow them."""
    name = f"mirrord-servers-{os.getpid()}"
    ours, owner = socket.socketpair()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, owner:
        listener.bind(f"\0{name}")
        listener.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(listener=listener.fileno(), owner=owner.fileno())],
            env={**os.environ, "PYTHONPATH": str(Path(mirrord.__file__).parents[1])},
            stdin=subprocess.DEVNULL,
            pass_fds=[listener.fileno(), owner.fileno()],
        )
    atexit.register(_end, ours, process)
    return [sys.executable, "-I", "-S", str(server_launcher.__file__), name]


def _end(ours: socket.socket, process: "subprocess.Popen[bytes]") -> None:
    ours.close()
    process.wait()


def serve(listener_descriptor: int, owner_descriptor: int) -> None:
    """Begin a copy for each connection, until the test worker is gone; then end those that are left."""
    from mirrord.cli.command_table import cli  # noqa: PLC0415  (here, and not where tests ask, the server is loaded)

    load_mirrord()
    _list_tools()
    begin = Copies(socket.socket(fileno=listener_descriptor), socket.socket(fileno=owner_descriptor)).run()
    if begin is not None:
        sys.exit(cli.main(["mcp", *begin()], prog_name="mirrord", standalone_mode=False) or 0)


def _list_tools() -> None:
    """Make what every copy lists; else each of them makes it again, in a third of its processor time."""
    for tool in tools_of([ALL_SETS]):
        tool.entry_for(Trust.AUTONOMOUS)
    gc.freeze()


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
