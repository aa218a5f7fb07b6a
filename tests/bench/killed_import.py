"""A tree so large that its import does not live through a day: the daemon is killed on the way, and nothing is lost."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from mirrord.db.server.server_files import Postmaster
from mirrord.domain.entry import digest_of
from tests.bench.figures import Figure, Goal
from tests.bench.ground import PATIENCE, Ground
from tests.bench.latency import computed
from tests.bench.processes import children, cpu_seconds, megabytes
from tests.support.harness import Awaited
from tests.support.rows import Connection

KILLS = 3
MEMORY = 600.0  # 10⁶ bytes hoped for, of the daemon at its peak
LOOK_SECONDS = 2.0  # seconds between two looks how far the import is
LOOK_PAGES = 50_000  # pages of which each adds as much to these seconds, since counting takes longer

# Bases are narrow, so counting them takes little of the processors that are measured.
_BASES = "SELECT count(*) FROM mirrord.mirror_base WHERE path LIKE '%.md'"
_PAGES = "SELECT count(*) FROM mirrord.page WHERE kind = 'page' AND deleted_at IS NULL"
_DIGESTS = """
SELECT base.path, page.digest FROM mirrord.mirror_base AS base
  JOIN mirrord.page ON page.tenant_id = base.tenant_id AND page.id = base.entry_id
 WHERE base.path LIKE '%.md' AND page.deleted_at IS NULL"""


@dataclass(slots=True)
class _Costs:
    """What the daemons of one import cost. cpu: seconds of processor time. peak: 10⁶ bytes. kills: pages by then."""

    cpu: float = 0.0
    peak: float = 0.0
    kills: list[int] = field(default_factory=list)


def import_with_kills(ground: Ground) -> list[Figure]:
    """Until the text of each page is in its row, once and as in its file, although the daemon is killed meanwhile."""
    costs, began = _Costs(), time.perf_counter()
    postmaster = Postmaster.read_record(ground.mirrord.postgres.cluster)
    assert postmaster is not None
    before = cpu_seconds([postmaster.pid, *children(postmaster.pid)])
    with ground.administered() as admin:
        for part in range(1, KILLS + 1):
            _import_until(ground, admin, ground.pages * part // (KILLS + 1), costs)
        _import_until(ground, admin, ground.pages, costs, last=True)
        seconds = time.perf_counter() - began
        postgres = cpu_seconds([postmaster.pid, *children(postmaster.pid)]) - before
        _assert_exact(ground, admin)
    print(f"killed at {costs.kills} pages")
    name = f"import of {ground.pages:,} files, killed {KILLS} times"
    return [
        Figure(f"{name}, texts", seconds, "s"),
        Figure(f"{name}, CPU of the daemon", costs.cpu, "s"),
        Figure(f"{name}, CPU of Postgres", postgres, "s"),
        Figure(f"{name}, daemon's peak memory", costs.peak, "MB", Goal(MEMORY)),
    ]


def _import_until(ground: Ground, admin: Connection, pages: int, costs: _Costs, *, last: bool = False) -> None:
    """Start the daemon; when so many pages are in rows, kill it unless this is the *last* of its lives."""
    mirrord, began = ground.mirrord, time.monotonic()
    pause = LOOK_SECONDS * min(1.0, pages / LOOK_PAGES) * max(1.0, pages / LOOK_PAGES / 4)
    mirrord.start()
    while (count := _count(admin, _BASES)) < pages:
        if not mirrord.running or time.monotonic() - began > PATIENCE:
            raise Awaited(f"{count} of {pages} pages were imported; the log ends with:\n{mirrord.log_end()}")
        costs.peak = max(costs.peak, megabytes(mirrord.pid, "VmHWM"))
        time.sleep(pause)
    costs.peak = max(costs.peak, megabytes(mirrord.pid, "VmHWM"))
    costs.cpu += computed(mirrord)
    if not last:
        costs.kills.append(count)
        mirrord.kill()


def _assert_exact(ground: Ground, admin: Connection) -> None:
    """Every file has one row, with its digest, and there are no other pages."""
    assert _count(admin, _PAGES) == ground.pages, f"{_count(admin, _PAGES)} pages of {ground.pages} files"
    waiting = set(ground.paths)
    for path, digest in _digests(admin):
        assert path in waiting, f"{path} is the path of two pages, or of no file"
        waiting.remove(path)
        text = (ground.mirrord.root / path).read_bytes()
        assert bytes(digest) == digest_of(text), f"the row of {path} has another text"
    assert not waiting, f"{len(waiting)} files have no page, first {min(waiting)}"


def _digests(admin: Connection) -> Iterator[tuple[str, bytes]]:
    with admin.transaction(), closing(admin.cursor("digests")) as cursor:
        cursor.itersize = 10_000
        yield from cursor.execute(_DIGESTS)


def _count(admin: Connection, query: str) -> int:
    row = admin.execute(query).fetchone()
    return int(row[0]) if row else 0
