"""What a change set costs an agent: 50 edits applied as one, and reads while it is open, beside those without."""

import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tests.bench.agents import empty_server, in_turns
from tests.bench.bare import replace_durably
from tests.bench.figures import Figure, Goal
from tests.bench.processes import cpu_seconds
from tests.bench.vault import generate
from tests.bench.wire import Wire
from tests.support.clients import tenant_in

EDITS, ROUNDS, READS_COUNT = 50, 3, 60
QUICK_READS = 12  # times as many of those that take a millisecond: processor time is counted in hundredths of a second
WHOLE_MILLISECONDS = 1_000.0  # from the beginning to the end of the change set
REPLACEMENTS = 5.0  # bare durable replacements for each page, at most, its call not counted
READS = 1.2  # times a read without a draft, at most


def figures(directory: Path, pages: int) -> list[Figure]:
    """Change sets on a tree of *pages*, each beside as many bare durable replacements; the median round counts."""
    tenant = tenant_in(directory / "mirror")
    (directory / "data" / "pg").mkdir(parents=True)
    paths = generate(tenant.root, pages)
    with _server(directory) as agent, _server(directory) as plain, empty_server(directory) as empty:
        _empty_calls(empty, paths)
        rounds = [
            (*_change_set(agent, part := _part(paths, at), at), _bare(directory, at), _empty_calls(empty, part))
            for at in range(ROUNDS)
        ]
        span, processor_span, floor, calls = (statistics.median(spans) for spans in zip(*rounds, strict=True))
        page = "change set: one page of it"
        change_figures = [
            Figure("change set: begin → 50 edits → apply", span, "ms", Goal(WHOLE_MILLISECONDS)),
            Figure(
                "change set: processor time of the server",
                processor_span,
                "ms",
                Goal(WHOLE_MILLISECONDS),
            ),
            Figure(page, span / EDITS, "ms", Goal(times=REPLACEMENTS, gated=False), floor / EDITS),
            Figure(f"{page}, an empty tool's call", calls / EDITS, "ms"),
            Figure(f"{page}, without that", (span - calls) / EDITS, "ms", Goal(times=REPLACEMENTS), floor / EDITS),
        ]
        return change_figures + _reads(agent, plain, paths)


def _change_set(agent: Wire, paths: list[str], number: int) -> tuple[float, float]:
    """Milliseconds of the clock, and of the server's processor time, which other processes hardly change."""
    for path in paths:
        agent.call("read_page", path=path)
    began, computed = time.perf_counter(), cpu_seconds([agent.pid])
    agent.call("begin_changes", title=f"round {number}")
    for path in paths:
        agent.call("edit_page", path=path, edits=[{"frontMatter": {"set": {"round": number}}}])
    agent.call("apply_changes")
    return (time.perf_counter() - began) * 1000, (cpu_seconds([agent.pid]) - computed) * 1000


def _empty_calls(empty: Wire, paths: list[str]) -> float:
    """Milliseconds of as many calls of a tool that does nothing."""
    began = time.perf_counter()
    for path in paths[:EDITS]:
        empty.call("nothing", path=path)
    return (time.perf_counter() - began) * 1000


def _bare(directory: Path, number: int) -> float:
    place = directory / f"bare-{number}"
    place.mkdir()
    with ExitStack() as resources:
        holder = os.open(place, os.O_RDONLY)
        resources.callback(os.close, holder)
        began = time.perf_counter()
        for page in range(EDITS):
            replace_durably(holder, f"{page}.md", b"# A page\n" * 400)
        return (time.perf_counter() - began) * 1000


def _reads(agent: Wire, plain: Wire, paths: list[str]) -> list[Figure]:
    """The same reads in a draft that changed 50 pages, and without one."""
    agent.call("begin_changes", title="reads")
    for path in _part(paths, ROUNDS):
        agent.call("edit_page", path=path, edits=[{"frontMatter": {"set": {"round": "read"}}}])
    reads: dict[str, Callable[[Wire, str], object]] = {
        "read_page": lambda wire, path: wire.call("read_page", path=path),
        "list_pages": lambda wire, path: wire.call("list_pages", path=path.rpartition("/")[0]),
        "search_pages": lambda wire, path: wire.call("search_pages", query=Path(path).stem, limit=5),
        "get_tree": lambda wire, _: wire.call("get_tree"),
    }
    read_figures: list[Figure] = []
    for name, read in reads.items():
        for wire in (agent, plain):
            read(wire, paths[0])
        places = paths[:READS_COUNT] * (QUICK_READS if name in ("read_page", "get_tree") else 1)
        computed = [cpu_seconds([wire.pid]) for wire in (agent, plain)]
        drafted, bare = in_turns(places, partial(read, agent), partial(read, plain))
        times = [
            (cpu_seconds([wire.pid]) - seconds) * 1000 / len(places)
            for wire, seconds in zip((agent, plain), computed, strict=True)
        ]
        read_figures += [
            Figure(f"change set open: {name}, p50", drafted, "ms", Goal(times=READS), bare),
            Figure(f"change set open: {name}, processor time", times[0], "ms", Goal(times=READS), times[1]),
        ]
    agent.call("discard_changes")
    return read_figures


def _part(paths: list[str], number: int) -> list[str]:
    return paths[number * EDITS : (number + 1) * EDITS]


def _server(directory: Path) -> Wire:
    places = ["--mirror", str(directory / "mirror"), "--data", str(directory / "data"), "--tools", "pages,changes"]
    return Wire([sys.executable, "-c", "from mirrord.cli import main; main()", "mcp", *places], directory, {})
