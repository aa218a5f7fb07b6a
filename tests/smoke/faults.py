"""Proofs that nothing is lost when something ends that should not, and that what mirrord says of itself is true."""

import time
from collections.abc import Iterator
from itertools import islice
from uuid import UUID

from tests.support.editors import save
from tests.support.harness import Mirrord, eventually

PAGES = 20  # of each side
ROUNDS = 5  # edits of each page
OUTAGE = 5.0  # seconds


def nothing_is_lost_when_the_daemon_is_killed_amid_200_edits(mirrord: Mirrord) -> None:
    """Killed after the first half is made, while it works on it; the second half is made while it is down."""
    rows = _make_pages(mirrord, "Killed")
    edits = _edits(mirrord, "Killed", rows)
    edit_count = sum(1 for _ in islice(edits, PAGES * ROUNDS))
    mirrord.kill()
    edit_count += sum(1 for _ in edits)
    mirrord.up()
    mirrord.flush()

    assert edit_count == 200, f"{edit_count} edits were made instead of 200"
    _assert_equal(mirrord)
    _assert_complete(mirrord, "Killed")


def a_killed_daemon_leaves_no_worker_behind(mirrord: Mirrord) -> None:
    """Processes that parse die with the daemon; Postgres goes on."""
    names = [f"Parsed/{number}.md" for number in range(4)]
    for name in names:
        save(mirrord.file(name), "A long page is parsed by a worker.\n\n" * 1000)
    eventually(lambda: all((page := mirrord.page(name)) and page.content for name in names), "4 long documents")
    assert mirrord.workers(), "no process of its own parsed long pages"
    mirrord.kill()
    try:
        eventually(lambda: not mirrord.workers(), "the workers of a killed daemon end", 5.0)
        assert mirrord.postgres.is_running, "Postgres ended with the killed daemon"
    finally:
        mirrord.end_workers()
        mirrord.up()


def nothing_is_lost_while_postgres_is_stopped_for_5_seconds(mirrord: Mirrord) -> None:
    """Rows change until the last moment, files all the time."""
    rows = _make_pages(mirrord, "Outage")
    edits = _edits(mirrord, "Outage", rows)
    for _ in islice(edits, PAGES * ROUNDS):
        pass
    mirrord.postgres.stop()
    new = _keep_saving(mirrord, OUTAGE)
    assert not mirrord.postgres.is_running, "Postgres came back by itself before the 5 seconds were over"
    mirrord.postgres.start()
    for _ in edits:
        pass
    mirrord.flush()

    assert mirrord.running, "the daemon ended when Postgres stopped"
    _assert_equal(mirrord)
    _assert_complete(mirrord, "Outage")
    missing = [number for number in range(new) if mirrord.page(f"Outage/New/{number}.md") is None]
    assert not missing, f"of {new} files made without Postgres {missing} have no row"


def flush_and_check_agree(mirrord: Mirrord) -> None:
    """After `flush` `check` finds nothing, whatever was under way; and what does differ it finds."""
    rows = _make_pages(mirrord, "Agreed")
    for _ in _edits(mirrord, "Agreed", rows):
        pass
    mirrord.flush()
    _assert_equal(mirrord)
    _assert_complete(mirrord, "Agreed")
    with mirrord.frozen():
        save(mirrord.file("Agreed/file 0.md"), "nobody saw this yet\n")
        verdicts = mirrord.check()
    assert list(verdicts) == ["Agreed/file 0.md"], f"`mirrord check` found {verdicts} after one file was changed"
    mirrord.flush()
    _assert_equal(mirrord)


def a_stopped_daemon_leaves_nothing_running(mirrord: Mirrord) -> None:
    """Neither workers nor its Postgres."""
    code = mirrord.stop()

    assert code == 0, f"the daemon ended with exit code {code}:\n{mirrord.log_end()}"
    eventually(lambda: not mirrord.workers(), "the workers of the stopped daemon end", 5.0)
    assert not mirrord.postgres.is_running, "the stopped daemon's Postgres still runs"


def _make_pages(mirrord: Mirrord, folder: str) -> list[UUID]:
    """Pages that files will edit, and pages that rows will edit; the ids of the latter."""
    for number in range(PAGES):
        for side in ("file", "row"):
            save(mirrord.file(f"{folder}/{side} {number}.md"), f"begin {number}\n")
    mirrord.flush()
    pages = [mirrord.page(f"{folder}/row {number}.md") for number in range(PAGES)]
    return [page.id for page in pages if page is not None]


def _edits(mirrord: Mirrord, folder: str, rows: list[UUID]) -> Iterator[None]:
    """Edit one page after the other, a line a time; each step is one edit, made at once."""
    for turn in range(ROUNDS):
        for number, page in enumerate(rows):
            file = mirrord.file(f"{folder}/file {number}.md")
            save(file, file.read_bytes() + f"edit {turn}\n".encode())
            yield
            mirrord.app.execute(
                "UPDATE mirrord.page SET markdown = markdown || %s WHERE id = %s", [f"edit {turn}\n", page]
            )
            yield


def _keep_saving(mirrord: Mirrord, seconds: float) -> int:
    """Make a file about every 50 ms for so long; how many."""
    began, new = time.monotonic(), 0
    while (passed := time.monotonic() - began) < seconds:
        if passed >= new * 0.05:
            save(mirrord.file(f"Outage/New/{new}.md"), f"written without Postgres, {new}\n")
            new += 1
    return new


def _assert_equal(mirrord: Mirrord) -> None:
    verdicts = mirrord.check()
    assert not verdicts, f"the sides differ after `flush`: {verdicts}"


def _assert_complete(mirrord: Mirrord, folder: str) -> None:
    edits = "".join(f"edit {turn}\n" for turn in range(ROUNDS))
    for number in range(PAGES):
        for side in ("file", "row"):
            text = mirrord.text(f"{folder}/{side} {number}.md")
            assert text == f"begin {number}\n{edits}", f"the {side} page {number} holds {text!r}"
