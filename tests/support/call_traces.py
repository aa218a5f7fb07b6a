"""A daemon in a thread of this process, whose calls of mirrord's functions are recorded."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import mirrord
from mirrord.config import Config
from mirrord.daemon.daemon import Daemon
from tests.support.harness import eventually

START_SECONDS = 120.0  # seconds until a daemon is ready at the latest
PACKAGE = f"{Path(mirrord.__file__).parent}/"


class Function(NamedTuple):
    """A function with a name; parts without one, such as lambdas and comprehensions, belong to it."""

    module: str
    name: str


class CallTrace:
    """The calls of mirrord's functions in all threads that were started under it, in order."""

    def __init__(self) -> None:
        self.calls: list[Function] = []
        self._functions: dict[CodeType, Function | None] = {}

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Called by the interpreter."""
        if event != "call":
            return
        code = frame.f_code
        if code not in self._functions:
            self._functions[code] = _function_of(code)
        if (function := self._functions[code]) is not None:
            self.calls.append(function)

    def calls_between(self, start: int, last: str) -> Sequence[Function] | None:
        """The calls from call number *start* to that of a function named *last*; None: it was not called yet."""
        calls = self.calls[start:]
        names = [function.name for function in calls]
        return calls[: names.index(last)] if last in names else None


def _function_of(code: CodeType) -> Function | None:
    path = code.co_filename
    if not path.startswith(PACKAGE) or code.co_name.startswith("<"):
        return None
    return Function(path.removeprefix(PACKAGE).removesuffix(".py").replace("/", "."), code.co_qualname)


@contextmanager
def traced_daemon(config: Config) -> Iterator[tuple[Daemon, CallTrace]]:
    """A daemon that has compared everything once; its threads are traced."""
    trace, daemon = CallTrace(), Daemon(config)
    loop = asyncio.new_event_loop()
    before = threading.getprofile()
    threading.setprofile(trace.note)
    runner = threading.Thread(target=lambda: loop.run_until_complete(daemon.run()), name="daemon")
    try:
        runner.start()
        eventually(daemon.ready.is_set, "the daemon is ready", START_SECONDS)
        yield daemon, trace
    finally:
        threading.setprofile(before)
        loop.call_soon_threadsafe(daemon.stop.set)
        runner.join()
        loop.close()
