"""Many files changed at once, as a checkout or a formatter does."""

import statistics
import time
from pathlib import Path

from mirrord.domain.entry import digest_of
from tests.bench.figures import Figure, Goal
from tests.bench.ground import Ground
from tests.bench.latency import bare_rows
from tests.support.editors import save
from tests.support.harness import eventually
from tests.support.rows import Connection

FILES, ROUNDS = 1_000, 3
SECONDS = 1.5  # hoped for
PATIENCE = 120.0  # seconds for one burst

_OURS = "SELECT count(*) FROM mirrord.page WHERE digest = ANY (%s)"
_THEIRS = "SELECT count(*) FROM public.bare WHERE digest = ANY (%s)"


def changes_at_once(ground: Ground) -> list[Figure]:
    """From before the first save until every row has its file's text; in turns with a bare loop."""
    mirrord = ground.imported()
    paths = ground.paths[: round(FILES * ground.share)]
    copies = {path.replace("/", "-"): path for path in paths}
    ours, theirs = [], []
    with bare_rows(ground, copies) as loop:
        for number in range(ROUNDS):
            ours.append(_burst(mirrord.app, _OURS, [mirrord.file(path) for path in paths], number))
            ground.imported()
            theirs.append(_burst(loop.app, _THEIRS, [loop.directory / name for name in copies], number))
    name = f"{len(paths):,} files changed at once → all rows"
    return [Figure(name, statistics.median(ours), "s", Goal(SECONDS), statistics.median(theirs))]


def _burst(app: Connection, query: str, files: list[Path], number: int) -> float:
    """Seconds."""
    texts = [file.read_bytes() + f"\nburst {number} of {file.name}\n".encode() for file in files]
    digests = [bytes(digest_of(text)) for text in texts]
    began = time.perf_counter()
    for file, text in zip(files, texts, strict=True):
        save(file, text)

    def all_there() -> bool:
        row = app.execute(query, [digests]).fetchone()
        return row is not None and row[0] == len(files)

    eventually(all_there, f"{len(files)} rows of one burst", PATIENCE, pause=0.01)
    return time.perf_counter() - began
