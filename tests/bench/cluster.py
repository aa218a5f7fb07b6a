"""An edit on a Citus cluster of three nodes beside the same edit on one server, in turns; skipped without Citus."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from uuid import UUID

import psycopg

from mirrord.domain.entry import digest_of
from tests.bench.figures import Figure, Goal, median, tail
from tests.bench.ground import PATIENCE, Ground
from tests.bench.latency import computed
from tests.bench.processes import children, cpu_seconds
from tests.bench.vault import generate
from tests.support.citus_nodes import CitusCluster, Node, is_citus_built, served_cluster, served_node
from tests.support.cluster_mirrord import ClusterMirrord
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Connection

PAGES, EDITS, WARM_EDITS = 100, 60, 5
TIMES = 2.0  # hoped for: an edit on a cluster beside one on a single server
POLL_SECONDS = 0.002  # seconds between two looks at a row
REST_SECONDS = 0.6  # seconds after which an edit of a single mirror has no more consequences, on quick cores

_PATHS = """
SELECT base.path, base.entry_id, base.tenant_id FROM mirrord.mirror_base AS base
 WHERE base.path LIKE '%.md' ORDER BY base.path"""
# The shard with the pages of a tenant, and the port of its node: looks through the coordinator would take as much as
# the edit that they wait for.
_SHARD = """
SELECT shardid, nodeport FROM citus_shards
 WHERE table_name = 'mirrord.page'::regclass
   AND shardid = get_shard_id_for_distribution_column('mirrord.page', %s)"""
_UNDERIVED = "SELECT count(*) FROM mirrord.page WHERE kind = 'page' AND content IS NULL"


@dataclass(frozen=True, slots=True)
class _Side:
    """
    A daemon at work, its pages, and the postmasters below it.

    rows: a superuser's connection to the server that has the pages. table: of pages there.
    """

    mirrord: Mirrord
    rows: Connection
    table: str
    pages: list[tuple[str, UUID, UUID]]
    postmasters: tuple[int, ...]

    def edit(self, number: int) -> float:
        """Milliseconds from a save until its row is seen."""
        path, entry, tenant = self.pages[number % len(self.pages)]
        text = self.mirrord.file(path).read_bytes() + f"\nedit {number}\n".encode()
        digest, began = digest_of(text), time.perf_counter()
        save(self.mirrord.file(path), text)
        self._await_digest(digest, entry, tenant)
        return (time.perf_counter() - began) * 1000

    def _await_digest(self, digest: bytes, entry: UUID, tenant: UUID) -> None:
        def is_there() -> bool:
            query = f"SELECT digest FROM {self.table} WHERE tenant_id = %s AND id = %s"
            row = self.rows.execute(query, [tenant, entry]).fetchone()
            return row is not None and bytes(row[0]) == digest

        eventually(is_there, f"the row of {entry}", 120.0, pause=POLL_SECONDS)

    def processor_seconds(self) -> tuple[float, float]:
        """Seconds of processor time of the daemon, and of all processes of Postgres, so far."""
        servers = cpu_seconds(pid for node in self.postmasters for pid in (node, *children(node)))
        return computed(self.mirrord), servers


def edits_on_cluster(ground: Ground) -> list[Figure]:
    """A daemon on a cluster and one on a single server, on equal trees, edited in turns."""
    if not is_citus_built():
        return [Figure("edit → row on a Citus cluster: Citus is not built", None, "ms")]
    with ExitStack() as stack:
        node = stack.enter_context(served_node(ground.directory("node") / "single"))
        single = stack.enter_context(_single(ground, node))
        cluster = stack.enter_context(served_cluster(ground.directory("nodes")))
        spread = stack.enter_context(_spread(ground, cluster))
        return _measure(single, spread, max(10, round(EDITS * ground.share)))


def _measure(single: _Side, spread: _Side, edits: int) -> list[Figure]:
    sides, milliseconds = (single, spread), (list[float](), list[float]())
    before = [side.processor_seconds() for side in sides]
    for number in range(WARM_EDITS + edits):
        if number == WARM_EDITS:
            before = [side.processor_seconds() for side in sides]
        for side, spans in zip(sides, milliseconds, strict=True):
            span = side.edit(number)
            if number >= WARM_EDITS:
                spans.append(span)
            time.sleep(REST_SECONDS)
    after = [side.processor_seconds() for side in sides]
    daemon, postgres = (
        [(now[part] - then[part]) / edits * 1000 for now, then in zip(after, before, strict=True)] for part in (0, 1)
    )
    name = "edit → row on a Citus cluster of three nodes, beside one server"
    return [
        median(name, milliseconds[1], Goal(times=TIMES), milliseconds[0]),
        tail(name, milliseconds[1], bare=milliseconds[0]),
        Figure(f"{name}, CPU of the daemon", daemon[1], "ms", floor=daemon[0]),
        Figure(f"{name}, CPU of all Postgres processes", postgres[1], "ms", floor=postgres[0]),
    ]


@contextmanager
def _single(ground: Ground, node: Node) -> Iterator[_Side]:
    with (
        Mirrord(ground.directory("on-one-server"), dsn=node.dsn()) as mirrord,
        psycopg.connect(node.dsn(), autocommit=True) as admin,
    ):
        yield _Side(mirrord, admin, "mirrord.page", _import(mirrord, admin), (node.pid,))


@contextmanager
def _spread(ground: Ground, cluster: CitusCluster) -> Iterator[_Side]:
    dsn = cluster.create_database("mirrord")
    with (
        ClusterMirrord(ground.directory("on-cluster"), cluster, "mirrord") as mirrord,
        psycopg.connect(dsn, autocommit=True) as admin,
    ):
        pages = _import(mirrord, admin)
        ((shard, port),) = admin.execute(_SHARD, [mirrord.tenant_id]).fetchall()
        worker = next(node for node in cluster.workers if node.port == port)
        with psycopg.connect(worker.dsn(), autocommit=True) as rows:
            yield _Side(mirrord, rows, f"mirrord.page_{shard}", pages, tuple(node.pid for node in cluster.nodes))


def _import(mirrord: Mirrord, admin: Connection) -> list[tuple[str, UUID, UUID]]:
    """Let the daemon take in a new tree with all documents; the paths of its pages, their ids and their tenant's."""
    generate(mirrord.root, PAGES)
    mirrord.start()
    mirrord.wait_event("ready", PATIENCE)
    mirrord.flush(PATIENCE)
    eventually(lambda: _count(admin, _UNDERIVED) == 0, "a document of every page", PATIENCE, pause=0.2)
    pages = admin.execute(_PATHS).fetchall()
    assert len(pages) >= PAGES, f"{len(pages)} pages"
    return pages


def _count(admin: Connection, query: str) -> int:
    row = admin.execute(query).fetchone()
    return int(row[0]) if row else 0
