"""What a mirror says of itself in its row: long work about once a second, all else with the renewal of its lease."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from mirrord.db import mirror_leases
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually

MANY = 400  # files; half as many are an import


@pytest.fixture(scope="module")
def mirrord(module_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    with Near(tmp_path_factory.mktemp("states"), dsn=module_dsn) as started:
        save(started.file("Welcome.md"), "hello\n")
        started.up()
        yield started


def state(mirrord: Mirrord) -> dict[str, Any] | None:
    stored: dict[str, Any] | None = value(mirrord.app, "SELECT state FROM mirrord.mirror")
    return stored


def said(mirrord: Mirrord, work: str | None) -> dict[str, Any]:
    """What it says once *work* goes on; None: no long work does, and nothing waits."""

    def now() -> dict[str, Any] | None:
        current = state(mirrord) or {"work": None}
        kinds = [item["what"] for item in current["work"] or ()]
        return current if kinds == ([work] if work else []) and (work or not current.get("waits", 1)) else None

    return eventually(now, f"long work: {work}")


def edit(mirrord: Mirrord, text: str) -> None:
    """Save a file, and return when its row has the text."""
    save(mirrord.file("Welcome.md"), text)
    eventually(lambda: (page := mirrord.page("Welcome")) and page.markdown == text, "the edit", pause=0.2)


def test_edits_change_it_no_oftener_than_the_lease_is_renewed(mirrord: Mirrord) -> None:
    said(mirrord, None)
    states, edits, until = [str(state(mirrord))], 0, time.monotonic() + mirror_leases.RENEWAL_SECONDS + 1
    while time.monotonic() < until:
        edit(mirrord, f"edited at {time.monotonic()}\n")
        edits += 1
        if (now := str(state(mirrord))) != states[-1]:
            states.append(now)

    assert edits > 10
    assert 2 <= len(states) <= 3  # one renewal, or two


def test_an_import_is_told_from_its_beginning_to_its_end(mirrord: Mirrord) -> None:
    said(mirrord, None)
    pause = mirrord.file("PAUSE")
    save(pause, "")
    for number in range(MANY):
        save(mirrord.file(f"Import/{number}.md"), f"{number}\n")

    beginning = said(mirrord, "import")
    shown_work = eventually(lambda: mirrord.status()["work"], "long work in `mirrord status`", pause=0.3)
    pause.unlink()
    ended = said(mirrord, None)

    (work,) = beginning["work"]
    assert (beginning["waits"] >= MANY / 2, work["done"] < work["total"]) == (True, True)
    assert [(item["what"], item["total"] >= MANY / 2) for item in shown_work] == [("import", True)]
    assert beginning["since"] <= time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
    assert ended["since"] is None
    assert 0 < ended["file_to_row"]["median"] <= ended["file_to_row"]["p99"]
    assert mirrord.page(f"Import/{MANY - 1}") is not None


def test_nobody_says_anything_of_a_mirror_where_no_daemon_is_at_work(mirrord: Mirrord) -> None:
    app = mirrord.app
    mirrord.stop()
    assert value(app, "SELECT state FROM mirrord.mirror") is None
