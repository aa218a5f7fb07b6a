"""
A process that has loaded mirrord once for a whole test run, and of which what workers keep loaded begins as a copy.

Each worker has two such copies, one for daemons and one for servers of agents: loading both takes it five seconds of
processor time, and a copy takes none. The origin ends with the run.
"""

import fcntl
import gc
import os
import pkgutil
import selectors
import socket
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

import mirrord
from tests.support.memory import run_process

_PROGRAM = "from tests.support.origin import serve; serve({listener}, {run})"
# What uvicorn and anyio choose, and import, when they run.
_CHOSEN_MODULES = ("anyio._backends._asyncio", "uvicorn.lifespan.on", "uvicorn.protocols.http.h11_impl")


def begin(module: str, descriptors: Sequence[int]) -> None:
    """Begin a process that calls serve() of *module* with copies of *descriptors*."""
    with _connect_to_origin() as connection:
        socket.send_fds(connection, [module.encode()], descriptors)
        assert connection.recv(1), "the process that had loaded mirrord for the test run has ended"


def python_environment() -> dict[str, str]:
    """What a process needs that imports from this checkout."""
    return {**os.environ, "PYTHONPATH": str(Path(mirrord.__file__).parents[1])}


@cache
def load_mirrord() -> None:
    """Import every module, for all copies that begin later."""
    for module in pkgutil.walk_packages(mirrord.__path__, "mirrord."):
        if not module.name.endswith(".__main__"):
            import_module(module.name)
    for name in _CHOSEN_MODULES:
        import_module(name)
    gc.freeze()  # a copy that looks at these for garbage would copy them all


def _list_tools() -> None:
    """Make what every server for agents lists; else each copy makes it again, in a third of its processor time."""
    from mirrord.domain.trust import Trust  # noqa: PLC0415  (not where workers ask for copies)
    from mirrord.mcp.tool_sets import ALL_SETS, tools_of  # noqa: PLC0415

    for tool in tools_of([ALL_SETS]):
        tool.entry_for(Trust.AUTONOMOUS)
    gc.freeze()


def serve(listener: int, run: int) -> None:
    """Begin a copy for each connection, until the process that *run* is a descriptor of has ended."""
    for module in ("tests.support.loaded", "tests.support.loaded_servers"):
        import_module(module)
    load_mirrord()
    _list_tools()
    with socket.socket(fileno=listener) as listening, selectors.DefaultSelector() as waiting:
        waiting.register(listening, selectors.EVENT_READ)
        waiting.register(run, selectors.EVENT_READ)
        while all(key.fd == listener for key, _ in waiting.select()):
            connection, _ = listening.accept()
            if order := _fork(connection):
                break
        else:
            return
    module, descriptors = order
    os.close(run)
    import_module(module).serve(*descriptors)


def _fork(connection: socket.socket) -> tuple[str, list[int]] | None:
    """In the copy what it is to serve, in the origin None. The copy is nobody's child: nobody has to wait for it."""
    with connection:
        message, descriptors, *_ = socket.recv_fds(connection, 1 << 10, 2)
        if child := os.fork():
            os.waitpid(child, 0)
        elif os.fork():
            connection.send(b"1")
            os._exit(0)
        else:
            return message.decode(), descriptors
        for descriptor in descriptors:
            os.close(descriptor)
    return None


def _connect_to_origin() -> socket.socket:
    """Start the origin where it is not there yet."""
    address = f"\0mirrord-origin-{run_process()}"
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with Path(__file__).open("rb") as lock:  # else two workers start it at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            connection.connect(address)
        except ConnectionRefusedError:
            _start_origin(address)
            connection.connect(address)
    return connection


def _start_origin(address: str) -> None:
    """It outlives the worker that starts it, which therefore keeps nothing of it."""
    run = os.pidfd_open(run_process())
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen(64)
        for descriptor in (listener.fileno(), run):
            os.set_inheritable(descriptor, True)
        words = [sys.executable, "-c", _PROGRAM.format(listener=listener.fileno(), run=run)]
        no_input = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        os.posix_spawn(sys.executable, words, python_environment(), file_actions=[no_input])
    os.close(run)
