"""What the tools cost an agent, beside a server that does nothing and one that serves bare files."""

import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mirrord.mcp.admission import Tenant
from tests.bench.bare import replace_durably
from tests.bench.figures import Figure, Goal
from tests.bench.processes import megabytes
from tests.bench.vault import generate
from tests.bench.wire import Wire
from tests.support import node
from tests.support.clients import tenant_in

STARTS, CALLS = 7, 200
START, READ, LIST, WRITE = 1.15, 2.0, 3.0, 2.0  # at most so often what an empty server or a bare write takes
IDLE_MEGABYTES = 100.0
NODE = Path(__file__).parents[1] / "conformance"
FILE_SERVER = Path("node_modules", "@modelcontextprotocol", "server-filesystem", "dist", "index.js")


def figures(directory: Path, pages: int) -> list[Figure]:
    """Starts, calls and memory on a tree of *pages*, all in one run."""
    tenant = tenant_in(directory / "mirror")
    (directory / "data" / "pg").mkdir(parents=True)
    paths = generate(tenant.root, pages)
    agent_figures = [_starts(directory)]
    with _ours(directory) as ours, empty_server(directory) as empty:
        agent_figures += _calls(ours, empty, paths, directory)
        megabytes_now = megabytes(ours.pid, "VmRSS")
        agent_figures.append(Figure("agents: server's memory", megabytes_now, "MB", Goal(IDLE_MEGABYTES)))
    return [*agent_figures, *_beside_bare_files(directory, tenant, paths)]


def _starts(directory: Path) -> Figure:
    """From the start of the process to its first result; turn by turn, so that both see the same machine."""
    ours, empty = [], []
    for _ in range(STARTS):
        ours.append(_start(directory, _ours, lambda wire: wire.call("list_pages")))
        empty.append(_start(directory, empty_server, lambda wire: wire.call("nothing")))
    bare = statistics.median(empty)
    return Figure("agents: start → first result, p50", statistics.median(ours), "ms", Goal(times=START), bare)


def _start(directory: Path, server: Any, call: Callable[[Wire], object]) -> float:
    began = time.perf_counter()
    with server(directory) as wire:
        call(wire)
        return (time.perf_counter() - began) * 1000


def _calls(ours: Wire, empty: Wire, paths: Sequence[str], directory: Path) -> list[Figure]:
    """Each beside what it is compared with, call by call in turns: the machine is not equally quick all the time."""

    def nothing(path: str) -> object:
        return empty.call("nothing", path=path)

    def read(path: str) -> object:
        return ours.call("read_page", path=path)

    def listed(path: str) -> object:
        return ours.call("list_pages", path=str(Path(path).parent))

    def written(path: str) -> object:
        return ours.call("write_page", path=path, content=f"# {path}\n")

    with _bare_writes(directory) as bare:
        beside_read, reading = in_turns(paths, nothing, read)
        beside_list, listing = in_turns(paths, nothing, listed)
        beside_write, bare_write, writing = in_turns(paths, nothing, bare, written)
    goal = Goal(beside_write + WRITE * bare_write)
    return [
        Figure("agents: read_page, p50", reading, "ms", Goal(times=READ), beside_read),
        Figure("agents: list_pages of a folder, p50", listing, "ms", Goal(times=LIST), beside_list),
        Figure("agents: write_page, p50", writing, "ms", goal, beside_write + bare_write),
    ]


def in_turns(paths: Sequence[str], *acts: Callable[[str], object]) -> list[float]:
    """The p50 of each of *acts*, in milliseconds. Each is the first as often: it pays for what the kernel then has."""
    spans: list[list[float]] = [[] for _ in acts]
    for turn, path in enumerate(paths[:CALLS]):
        for number in range(turn, turn + len(acts)):
            began = time.perf_counter()
            acts[number % len(acts)](path)
            spans[number % len(acts)].append((time.perf_counter() - began) * 1000)
    return [statistics.median(act_spans) for act_spans in spans]


@contextmanager
def _bare_writes(directory: Path) -> Iterator[Callable[[str], None]]:
    """Replaces a file durably and does no more."""
    place = directory / "bare"
    place.mkdir()
    holder = os.open(place, os.O_RDONLY)

    def write(path: str) -> None:
        replace_durably(holder, f"{len(path) % 20}.md", f"# {path}\n".encode())

    yield write
    os.close(holder)


def _beside_bare_files(directory: Path, tenant: Tenant, paths: Sequence[str]) -> list[Figure]:
    """The same of the protocol's own server for files, for comparison; nothing where there is no Node."""
    try:
        program = node.installed(NODE) / FILE_SERVER
    except pytest.skip.Exception:
        return []
    command = [str(shutil.which("node")), str(program), str(tenant.root)]

    @contextmanager
    def files(_: Path) -> Iterator[Wire]:
        with Wire(command, directory, {}) as wire:
            yield wire

    start = _start(directory, files, lambda wire: wire.call("list_directory", path=str(tenant.root)))
    with files(directory) as wire:
        full_paths = {path: str(tenant.root / path) for path in paths}
        (read,) = in_turns(paths, lambda path: wire.call("read_text_file", path=full_paths[path]))
        (written,) = in_turns(paths, lambda path: wire.call("write_file", path=full_paths[path], content="#\n"))
    return [
        Figure("server-filesystem: start → first result", start, "ms"),
        Figure("server-filesystem: read, p50", read, "ms"),
        Figure("server-filesystem: write (not durable), p50", written, "ms"),
    ]


def _ours(directory: Path) -> Wire:
    places = ["--mirror", str(directory / "mirror"), "--data", str(directory / "data")]
    return Wire([sys.executable, "-c", "from mirrord.cli import main; main()", "mcp", *places], directory, {})


def empty_server(directory: Path) -> Wire:
    """A server whose tool does nothing."""
    return Wire([sys.executable, "-m", "tests.bench.empty"], directory, {})
