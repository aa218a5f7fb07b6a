"""The parts of `make bench`: what each measures, on how many pages, and how long that takes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.bench import (
    agents,
    bindings,
    browsing,
    burst,
    change_sets,
    cluster,
    costs,
    export,
    finding,
    idle,
    imports,
    killed_import,
    latency,
    tenants,
    tools,
    transactions,
    word_search,
)
from tests.bench.figures import Figure
from tests.bench.ground import Ground

SMALL, LARGE, HUGE, VAST, MILLION = 1_000, 10_000, 100_000, 200_000, 1_000_000  # pages


@dataclass(frozen=True, slots=True)
class Part:
    """
    Something to be measured alone or with others.

    pages: of the tree it is measured on; parts with the same number share one. 0: it has an empty one of its own.
    minutes: on two cores, the import of its tree not counted. on_request: measured only if it is named.
    """

    name: str
    purpose: str
    pages: int
    minutes: float
    act: Callable[[Ground], list[Figure]]
    on_request: bool = False


def _rows_to_files(ground: Ground) -> list[Figure]:
    return [*latency.texts_to_files(ground), *latency.documents_to_files(ground)]


def _idle(ground: Ground) -> list[Figure]:
    return [*idle.memory(ground), *idle.cpu(ground)]


def _finding(ground: Ground) -> list[Figure]:
    return finding.measure(ground.imported().root)


def _agents(ground: Ground) -> list[Figure]:
    return agents.figures(ground.directory("agents"), round(LARGE * ground.share))


def _change_sets(ground: Ground) -> list[Figure]:
    return change_sets.figures(ground.directory("change-sets"), round(LARGE * ground.share))


PARTS = (
    Part("import-1k", "a tree of 1,000 files, beside a raw COPY", SMALL, 0.1, imports.import_tree),
    Part("latency", "edit → row, beside a bare loop", SMALL, 0.2, latency.edits_to_rows),
    Part("files", "row → file, beside a bare loop", SMALL, 0.3, _rows_to_files),
    Part("tools", "an agent's write → row", SMALL, 0.2, tools.writes_to_rows),
    Part("transactions", "statements and transactions of one edit until rest", SMALL, 1.2, transactions.lone_edits),
    Part("burst", "1,000 files changed at once", SMALL, 0.3, burst.changes_at_once),
    Part("binding", "a bound app: commit → file, adoption, what triggers cost it", SMALL, 2.0, bindings.measure),
    Part("costs", "bytes of a page, an edit and a version", SMALL, 1.0, costs.rows_and_log, on_request=True),
    Part("import", "a tree of 10,000 files, beside a raw COPY", LARGE, 0.2, imports.import_tree),
    Part("restart", "a start on 10,000 files that did not change", LARGE, 0.2, imports.restart),
    Part("idle", "memory and CPU with nothing to do, 10,000 pages", LARGE, 2.5, _idle),
    Part("latency-10k", "edit → row among 10,000 pages", LARGE, 0.2, latency.edits_to_rows),
    Part("finding", "lists, links and searches, beside a walk and rg", LARGE, 0.2, _finding),
    Part("search", "searches and the switcher of the console", LARGE, 0.3, word_search.figures),
    Part("console", "a large tenant and a long page in a browser, beside plain pages", LARGE, 0.8, browsing.measure),
    Part("export", "10,000 rows into a new tree", LARGE, 0.2, export.rows_to_tree),
    Part("agents", "the server for agents, beside an empty one", 0, 0.7, _agents),
    Part(
        "change-sets", "50 edits as one change set among 10,000 pages, beside bare replacements", 0, 0.5, _change_sets
    ),
    Part("tenants", "100 tenants × 100 pages, and a noisy one", 0, 3.0, tenants.hundred),
    Part("tenants-processes", "100 tenants, two engine processes beside one", 0, 4.0, tenants.by_processes),
    Part("idle-tenants", "statements of a daemon of 100 idle tenants", 0, 1.7, transactions.idle_tenants),
    Part("tenant-costs", "memory and watches of an idle tenant", 0, 0.5, costs.tenants, on_request=True),
    Part("citus", "edit → row on Citus, beside one server", 0, 4.0, cluster.edits_on_cluster, on_request=True),
    Part("tenants-1000", "edit → row beside 1,000 tenants", 0, 4.5, tenants.thousand),
    Part("import-100k", "a tree of 100,000 files", HUGE, 0.5, imports.import_tree),
    Part("restart-100k", "a start on 100,000 files that did not change", HUGE, 0.6, imports.restart),
    Part("idle-100k", "memory and CPU with nothing to do, 100,000 pages", HUGE, 2.7, _idle),
    Part("latency-100k", "edit → row among 100,000 pages", HUGE, 0.3, latency.edits_to_rows),
    Part("search-100k", "searches and the switcher of the console", HUGE, 0.5, word_search.figures, on_request=True),
    Part("restart-200k", "a start on 200,000 files that did not change", VAST, 1.2, imports.restart, on_request=True),
    Part(
        "million",
        "a tree of 1,000,000 files, the daemon killed three times meanwhile",
        MILLION,
        45.0,
        killed_import.import_with_kills,
        on_request=True,
    ),
)
IMPORT_MINUTES = {
    SMALL: 0.2,
    LARGE: 0.7,
    HUGE: 4.0,
    VAST: 8.0,
    MILLION: 0.0,
}  # by the number of pages; 0: the part itself is one


def minutes(parts: Sequence[Part]) -> float:
    """How long they take together."""
    trees = {part.pages for part in parts if part.pages}
    return sum(part.minutes for part in parts) + sum(IMPORT_MINUTES[pages] for pages in trees)
