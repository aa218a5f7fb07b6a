"""A program appends to a page a hundred times a second while nobody edits its row: one side never changed."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord

LINES_PER_SECOND, LINES = 100, 500
MOST_VERSIONS = 250  # far fewer than lines, however slow the machine is


@pytest.fixture
def mirrord(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    with Near(tmp_path, tenant="loggers", dsn=fresh_dsn) as started:
        started.up()
        yield started


@pytest.mark.parametrize("reopens", [True, False], ids=["opens for each line", "keeps it open"])
def test_every_line_arrives_without_a_conflict(mirrord: Mirrord, *, reopens: bool) -> None:
    path = mirrord.file("Log.md")
    save(path, "# Log\n\n")
    mirrord.flush()
    began = time.monotonic()
    log = path.open("a")
    for number in range(LINES):
        if reopens:
            log.close()
            log = path.open("a")
        log.write(f"- line {number} of the log\n")
        log.flush()
        time.sleep(max(0.0, began + (number + 1) / LINES_PER_SECOND - time.monotonic()))  # the program's own pace
    log.close()
    mirrord.flush()

    lines = "".join(f"- line {number} of the log\n" for number in range(LINES))
    assert path.read_text() == f"# Log\n\n{lines}"
    page = mirrord.page("Log")
    assert page is not None
    assert page.markdown == f"# Log\n\n{lines}"
    assert sorted(file.name for file in mirrord.root.glob("*.md")) == ["Log.md"]
    assert value(mirrord.app, "SELECT count(*) FROM mirrord.conflict") == 0
    assert page.version <= MOST_VERSIONS
