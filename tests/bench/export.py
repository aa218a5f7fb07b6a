"""All rows written into a tree elsewhere."""

import statistics
import time
from pathlib import Path

from tests.bench.figures import Figure, Goal
from tests.bench.ground import Ground

ROUNDS = 3
SECONDS = 3.0  # hoped for, for 10,000 pages
_EVERY = "SELECT b.path, p.markdown FROM mirrord.mirror_base AS b JOIN mirrord.page AS p ON p.id = b.entry_id"


def rows_to_tree(ground: Ground) -> list[Figure]:
    """`mirrord export` from its start to its end, in turns with a bare SELECT and a file written for each row."""
    mirrord = ground.imported()
    name, goal = f"export of {ground.pages:,} pages", Goal(SECONDS) if ground.pages == 10_000 else None
    if mirrord.run("export", "--help").returncode != 0:
        return [Figure(name, None, "s", goal)]
    ours, theirs = [], []
    for number in range(ROUNDS):
        began = time.perf_counter()
        completed = mirrord.run("export", str(mirrord.directory / f"export-{number}"))
        ours.append(time.perf_counter() - began)
        assert completed.returncode == 0, f"`mirrord export` failed: {completed.stderr}"
        theirs.append(_bare(ground, mirrord.directory / f"bare-export-{number}"))
    _assert_equal(ground, mirrord.directory / "export-0")
    return [Figure(name, statistics.median(ours), "s", goal, statistics.median(theirs))]


def _bare(ground: Ground, directory: Path) -> float:
    """Seconds."""
    began = time.perf_counter()
    for path, markdown in ground.mirrord.app.execute(_EVERY).fetchall():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if markdown is not None:
            file.write_bytes(markdown.encode())
    return time.perf_counter() - began


def _assert_equal(ground: Ground, exported: Path) -> None:
    for path in ground.paths:
        assert (exported / path).read_bytes() == ground.mirrord.file(path).read_bytes(), f"{path} differs"
