"""
What agents wait for when they look for pages: lists, trees, links, searches.

    python -m tests.bench.finding DIRECTORY      prints the figures of a process of its own, as JSON
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from uuid import uuid4

from mirrord.commands.core.session import Session
from mirrord.commands.pages.page_listing import get_tree, list_pages
from mirrord.commands.pages.search_command import get_page_links, search_pages
from mirrord.domain.entry import Actor
from mirrord.markdown.frontmatter import summary_keys
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.tree.tenant_tree import Tree
from tests.bench.figures import Figure, Goal

ROUNDS, FIRST_ROUNDS = 15, 5
ALL_LEVELS = 50
LIST, TREE, LINKS, COMMON, MEMORY = 10.0, 60.0, 80.0, 80.0, 40.0  # hoped for: ms, the last 10⁶ bytes
TIMES_RG = 2.5
TIMES_YAML = 0.9  # what the first list must save to be worth a reader of its own
RARE = "zebrafish"
COMMON_WORD = "anchor"


def measure(root: Path) -> list[Figure]:
    """Figures of a process that has *root* open, an idle daemon's or nobody's."""
    page = root / "Work" / "A rare page.md"
    page.write_text(f"One word: {RARE}.\n")
    try:
        completed = subprocess.run(
            [sys.executable, "-m", __spec__.name, root], check=True, capture_output=True, text=True
        )
    finally:
        page.unlink()
    return [
        Figure(**{**facts, "goal": facts["goal"] and Goal(**facts["goal"])}) for facts in json.loads(completed.stdout)
    ]


def main(root: str) -> None:
    """Print the figures."""
    prepare_process()
    before = _megabytes()
    with _session(root) as session:
        figures = _figures(session, root, before)
    print(json.dumps([asdict(figure) for figure in [*figures, _first_lists(root)]]))


@contextmanager
def _session(root: str) -> Iterator[Session]:
    session = Session(Tree(Path(root)), "bench", uuid4(), Actor("agent", "bench"), f"bench-{os.getpid()}")
    try:
        yield session
    finally:
        session.close()


def _first_lists(root: str) -> Figure:
    """A server's first list of the whole tree. Floor: the same with every front matter read by the YAML reader."""
    quick, thorough = [], []
    for _ in range(FIRST_ROUNDS):
        quick.append(_first_list(root))
        with _only_yaml():
            thorough.append(_first_list(root))
    name = "list_pages of all pages, the first, beside one that reads YAML, p50"
    return Figure(name, statistics.median(quick), "ms", Goal(times=TIMES_YAML), statistics.median(thorough))


@contextmanager
def _only_yaml() -> Iterator[None]:
    longest, summary_keys.MAX_PLAIN_CHARACTERS = summary_keys.MAX_PLAIN_CHARACTERS, -1
    try:
        yield
    finally:
        summary_keys.MAX_PLAIN_CHARACTERS = longest


def _first_list(root: str) -> float:
    summary_keys.read_plain_head.cache_clear()
    with _session(root) as session:
        began = time.perf_counter()
        list_pages(session, depth=ALL_LEVELS)
        return (time.perf_counter() - began) * 1000


def _figures(session: Session, root: str, before: float) -> list[Figure]:
    linked = min(session.catalogue.snapshot().pages)
    folder = linked.rpartition("/")[0]
    rg = shutil.which("rg")
    rare = _median(lambda: subprocess.run([rg, "-i", "-n", RARE, root], stdout=subprocess.DEVNULL)) if rg else None
    walk, look = _median(lambda: _walk(root)), _median(lambda: [file.stat() for file in Path(root, folder).iterdir()])
    finding_figures = [
        _figure("list_pages of a folder", lambda: list_pages(session, folder), Goal(LIST), look),
        _figure("get_tree of two levels", lambda: get_tree(session, depth=2), Goal(TREE), walk),
        _figure("get_page_links", lambda: get_page_links(session, linked), Goal(LINKS), walk),
        _figure("search_pages, a rare word", lambda: search_pages(session, RARE), Goal(times=TIMES_RG), rare),
        _figure("search_pages, a common word", lambda: search_pages(session, COMMON_WORD), Goal(COMMON), rare),
    ]
    grown = Figure("memory of a reader's knowledge of the tree", _megabytes() - before, "MB", Goal(MEMORY))
    return [*finding_figures, grown]


def _figure(name: str, act: Callable[[], object], goal: Goal | None, floor: float | None) -> Figure:
    began = time.perf_counter()
    act()
    first = (time.perf_counter() - began) * 1000
    return Figure(f"{name}, p50 (first {first:,.0f} ms)", _median(act), "ms", goal, floor)


def _median(act: Callable[[], object]) -> float:
    spans = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        act()
        spans.append((time.perf_counter() - began) * 1000)
    return statistics.median(spans)


def _walk(root: str) -> int:
    """Look at every file's stat and nothing else."""
    pending, size = [root], 0
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    size += entry.stat(follow_symlinks=False).st_size
    return size


def _megabytes() -> float:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmRSS:"))


if __name__ == "__main__":
    main(*sys.argv[1:])
