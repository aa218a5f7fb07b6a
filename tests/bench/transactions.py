"""What Postgres is asked for a lone edit, until the daemon is at rest again, and by an idle daemon of many tenants."""

import time
from collections.abc import Callable, Iterable
from statistics import median

from mirrord.domain.entry import EntryId
from tests.bench.figures import Figure, Goal
from tests.bench.ground import Ground
from tests.bench.latency import PAGE, computed
from tests.bench.tenants import at_work
from tests.support.editors import save
from tests.support.harness import Mirrord
from tests.support.statement_log import SentStatements, StatementLog, add_paragraph, add_text, list_names

EDITS = 8  # of each kind, after WARM_EDITS that let Postgres plan and Python load
WARM_EDITS = 3
TRANSACTIONS, STATEMENTS = 4.0, 20.0  # of a lone edit, hoped for
TENANTS, FEW_PAGES = 100, 3
IDLE_SECONDS = 65.0  # seconds: every look that tenants have once a minute falls into it
SETTLE_SECONDS = 6.0  # seconds after which nothing follows from the import any more
IDLE_STATEMENTS = 1.0  # statements a second hoped for

Edit = Callable[[str, int], None]


def lone_edits(ground: Ground) -> list[Figure]:
    """Transactions, statements and processor time of one edit in each direction, on a mirror at rest."""
    mirrord, ids = ground.imported(), {path: EntryId(entry) for path, entry in ground.ids().items()}
    log = StatementLog(mirrord)
    edits: dict[str, Edit] = {
        "file → row": lambda path, number: _add_line(mirrord, path, number),
        "row (markdown) → file": lambda path, number: add_text(mirrord.app, ids[path], f"row {number}"),
        "row (document) → file": lambda path, number: add_paragraph(mirrord.app, ids[path], f"document {number}"),
    }
    paths = iter(ground.nearest(PAGE, len(edits) * (EDITS + WARM_EDITS)))
    return [figure for name, edit in edits.items() for figure in _measure(mirrord, log, name, edit, paths)]


def idle_tenants(ground: Ground) -> list[Figure]:
    """Statements a second of a daemon whose tenants have nothing to do."""
    count = max(4, round(TENANTS * ground.share))
    with at_work(ground, count, FEW_PAGES):
        log = StatementLog(ground.mirrord)
        time.sleep(SETTLE_SECONDS)
        log.forget()
        seconds = max(5.0, IDLE_SECONDS * ground.share)
        time.sleep(seconds)
        sent, name = log.sent(), f"{count} idle tenants"
    print(f"{name}, {seconds:g} s:", *list_names(sent), sep="\n")
    return [
        Figure(
            f"{name}, statements", len(sent.statements + sent.by_clock) / seconds, "a second", Goal(IDLE_STATEMENTS)
        ),
        Figure(f"{name}, transactions", (sent.transactions + len(sent.by_clock)) / seconds, "a second"),
    ]


def _measure(mirrord: Mirrord, log: StatementLog, name: str, edit: Edit, paths: Iterable[str]) -> list[Figure]:
    """The medians of some edits; the statements of the last are printed."""
    all_sent, cpu_milliseconds = list[SentStatements](), list[float]()
    for number, path in zip(range(WARM_EDITS + EDITS), paths, strict=False):
        log.sent_until_rest()
        log.forget()
        before = computed(mirrord)
        edit(path, number)
        all_sent.append(log.sent_until_rest())
        cpu_milliseconds.append((computed(mirrord) - before) * 1000)
    measured = all_sent[WARM_EDITS:]
    print(f"{name}:", *list_names(measured[-1]), sep="\n")
    return [
        Figure(f"{name}, transactions", median(sent.transactions for sent in measured), "", Goal(TRANSACTIONS)),
        Figure(f"{name}, statements", median(len(sent.statements) for sent in measured), "", Goal(STATEMENTS)),
        Figure(f"{name}, polls meanwhile", median(len(sent.by_clock) for sent in measured), ""),
        Figure(f"{name}, CPU of the daemon", sum(cpu_milliseconds[WARM_EDITS:]) / len(measured), "ms"),
    ]


def _add_line(mirrord: Mirrord, path: str, number: int) -> None:
    file = mirrord.file(path)
    save(file, f"{file.read_text()}\nline {number}\n")
