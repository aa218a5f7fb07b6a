"""What a page, an edit, a version and an idle tenant cost: bytes on the disk, in the log of writes, of memory."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from mirrord.domain.entry import digest_of
from tests.bench.figures import Figure
from tests.bench.ground import PATIENCE, Ground
from tests.bench.processes import descriptors, megabytes
from tests.bench.tenants import at_work
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import eventually
from tests.support.rows import Connection

EDITS, ROUNDS, PAGE_BYTES = 100, 10, 3000  # pages edited; how often each for the cost of a version; their size
TENANTS, FEW_PAGES = 100, 3
TABLES = {
    "page with its document": ("page",),
    "its first version": ("page_revision",),
    "base and place in the feed": ("mirror_base", "entry_feed"),
    "links and names": ("page_link", "link_name"),
}


def rows_and_log(ground: Ground) -> list[Figure]:
    """A page in each table, an edit in the log of writes, a version with its text and without."""
    ground.imported()
    paths = ground.nearest(PAGE_BYTES, max(4, round(EDITS * ground.share)))
    with ground.administered() as admin:
        admin.execute("SET session_replication_role = replica")  # versions are stored again, as they are
        return [*_pages(ground, admin), *_edits(ground, admin, paths), *_versions(ground, admin, paths)]


def tenants(ground: Ground) -> list[Figure]:
    """Memory, watches, descriptors and threads of a daemon, beside those of a daemon of one tenant."""
    count = max(4, round(TENANTS * ground.share))
    with at_work(ground, 1, FEW_PAGES):
        alone = _taken(ground.mirrord.pid)
    with at_work(ground, count, FEW_PAGES):
        all_taken = _taken(ground.mirrord.pid)
    name = f"a tenant of {FEW_PAGES} pages"
    return [
        Figure(f"{name}: {part}", (amount - first) / (count - 1), unit)
        for (part, unit), first, amount in zip(
            (("memory", "kB"), ("inotify watches", ""), ("descriptors", "")), alone, all_taken, strict=True
        )
    ]


def _taken(pid: int) -> tuple[float, float, float]:
    return megabytes(pid) * 1000, _watches(pid), descriptors(pid)


def _watches(pid: int) -> int:
    """The inotify watches of a process."""
    return sum(file.read_text().count("inotify wd:") for file in Path("/proc", str(pid), "fdinfo").iterdir())


def _pages(ground: Ground, admin: Connection) -> list[Figure]:
    files = sum((ground.mirrord.root / path).stat().st_size for path in ground.paths)
    figures = [Figure("a page: its file", files / ground.pages, "bytes")]
    figures += [
        Figure(f"a page: {name}, with indexes", _packed_size(admin, tables) / ground.pages, "bytes")
        for name, tables in TABLES.items()
    ]
    state = sum(file.stat().st_size for file in (ground.mirrord.root / ".mirrord").glob("state.db*"))
    return [*figures, Figure("a page: state.db of its tree", state / ground.pages, "bytes")]


def _packed_size(admin: Connection, tables: Iterable[str]) -> int:
    """The bytes of tables with their indexes and long texts, without room that is free."""
    size = 0
    for table in tables:
        admin.execute(f"VACUUM FULL mirrord.{table}".encode())
        size += int(value(admin, "SELECT pg_total_relation_size(%s::regclass)", f"mirrord.{table}"))
    return size


def _edits(ground: Ground, admin: Connection, paths: Sequence[str]) -> list[Figure]:
    """The same pages twice: after a checkpoint every block that changes for the first time is logged as a whole."""
    admin.execute("CHECKPOINT")
    figures = []
    for name in ("after a checkpoint", "later"):
        before = value(admin, "SELECT pg_current_wal_insert_lsn()::text")
        for path in paths:
            _edit(ground, admin, path, name)
        ground.imported()
        written = value(admin, "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s::pg_lsn)", before)
        figures.append(Figure(f"an edit {name}: log of writes", float(written) / len(paths), "bytes"))
    return figures


def _edit(ground: Ground, admin: Connection, path: str, line: str) -> None:
    """Save a page with one line more, and wait for its row."""
    content = ground.mirrord.file(path).read_bytes() + f"\n{line}\n".encode()
    save(ground.mirrord.file(path), content)
    query = "SELECT EXISTS (SELECT FROM mirrord.page WHERE digest = %s)"
    eventually(lambda: value(admin, query, digest_of(content)), f"the row of {path}", PATIENCE, pause=0.002)


def _versions(ground: Ground, admin: Connection, paths: Sequence[str]) -> list[Figure]:
    before = _packed_size(admin, ("page_revision",))
    for number in range(ROUNDS):
        for path in paths:
            _edit(ground, admin, path, f"version {number}")
    ground.imported()
    grown = (_packed_size(admin, ("page_revision",)) - before) / (len(paths) * ROUNDS)
    admin.execute("UPDATE mirrord.page_revision SET markdown = NULL, frontmatter = NULL, views = NULL")
    versions = int(value(admin, "SELECT count(*) FROM mirrord.page_revision"))
    without = _packed_size(admin, ("page_revision",)) / versions
    return [
        Figure(f"a version of a page of {PAGE_BYTES:,} bytes, with indexes", grown, "bytes"),
        Figure("a version without its text, with indexes", without, "bytes"),
    ]
