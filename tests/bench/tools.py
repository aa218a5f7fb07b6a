"""What an agent's write takes to its row, the daemon at work beside the server."""

import os
import sys
import time
from functools import partial

from tests.bench.bare import replace_durably
from tests.bench.figures import Figure, Goal, median, tail
from tests.bench.ground import Ground
from tests.bench.latency import PAGE, BareRows, bare_rows, is_newer, milliseconds_since, settle, settled, until
from tests.bench.wire import Wire

WRITES = 100  # fewer than a token may make a minute
P50 = 18.0  # milliseconds hoped for


def writes_to_rows(ground: Ground) -> list[Figure]:
    """
    From just before `write_page` is sent until another connection sees the row; 4 KB pages that the agent has read.

    Floor: a durable replacement of a file, and the bare loop that takes it in.
    """
    mirrord, ids, paths = ground.imported(), ground.ids(), ground.nearest(PAGE, WRITES)
    ours, theirs = [], []
    copies = {f"{number}.md": path for number, path in enumerate(paths)}
    with bare_rows(ground, copies) as loop, _server(ground) as agent:
        for number, path in enumerate(paths):
            agent.call("read_page", path=path)
            page = settled(mirrord.app, ids[path])
            text = f"{mirrord.text(path)}\nwrite {number}\n"
            began = time.perf_counter()
            call = agent.send_call("write_page", path=path, content=text)
            until(partial(is_newer, mirrord.app, page), f"the row of write {number}, {path}")
            ours.append(milliseconds_since(began))
            agent.answer_of_call(call)
            settle(mirrord.app, page)
            theirs.append(_bare_write(loop, number, text))
    name = "tool write → row"
    return [median(name, ours, Goal(P50), theirs), tail(name, ours, bare=theirs)]


def _bare_write(loop: BareRows, number: int, text: str) -> float:
    holder = os.open(loop.directory, os.O_RDONLY | os.O_DIRECTORY)
    began = time.perf_counter()
    replace_durably(holder, f"{number}.md", text.encode())
    loop.await_row(loop.directory / f"{number}.md")
    span = milliseconds_since(began)
    os.close(holder)
    return span


def _server(ground: Ground) -> Wire:
    """`mirrord mcp` on the tree; this machine's person is trusted."""
    mirrord = ground.mirrord
    places = ["--mirror", str(mirrord.mirror), "--data", str(mirrord.data)]
    program = [sys.executable, "-c", "from mirrord.cli import main; main()", "mcp", *places]
    return Wire(program, mirrord.directory, {"TENANT_ID": mirrord.tenant})
