"""A halt waits for a person; what was decided about it stands until it has been carried out."""

import asyncio

import pytest

from mirrord.sync import deletions
from tests.support.entries import value
from tests.support.mirrors import Mirror

PAGES, GONE = 40, 30


@pytest.fixture
async def halted(mirror: Mirror) -> Mirror:
    """A mirror with one halt: most of its files went."""
    mirror.write({f"Page {number:02}.md": f"{number}\n" for number in range(PAGES)})
    await mirror.settle()
    for number in range(GONE):
        (mirror.root / f"Page {number:02}.md").unlink()
    await mirror.settle()
    assert (count_halts(mirror), mirror.count_living()) == (1, PAGES)
    return mirror


@pytest.fixture
async def decided(halted: Mirror) -> Mirror:
    """Somebody said that this was meant."""
    halted.app.execute("SELECT mirrord.decide_halt(id, 'apply') FROM mirrord.halt")
    return halted


def count_halts(mirror: Mirror) -> int:
    """Those that stand."""
    count: int = value(mirror.app, "SELECT count(*) FROM mirrord.halt WHERE closed_at IS NULL")
    return count


async def assert_carried_out(mirror: Mirror, extra: int = 0) -> None:
    async with asyncio.timeout(60):
        while count_halts(mirror):
            await mirror.work()
    assert mirror.count_living() == PAGES - GONE + extra
    await mirror.settle()  # what was gathered meanwhile is carried over now
    closed = value(mirror.app, "SELECT count(*) FROM mirrord.halt")
    assert (closed, mirror.problems()) == (1, {})


async def test_while_an_app_holds_one_of_the_rows(decided: Mirror) -> None:
    with decided.app.transaction():
        decided.app.execute("SELECT FROM mirrord.page WHERE name = 'Page 07' FOR UPDATE")
        for _ in range(3):
            await decided.work()
        assert (count_halts(decided), decided.count_living()) == (1, PAGES)
        decided.write({"New.md": "written meanwhile\n"})
        decided.engine.request_scan()
        while "New" not in decided.rows():
            await decided.work()
    await assert_carried_out(decided, extra=1)


async def test_while_deletions_go_on(decided: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "QUIET_SECONDS", 3600.0)
    (decided.root / f"Page {GONE:02}.md").unlink()
    decided.engine.request_scan()
    async with asyncio.timeout(60):
        while count_halts(decided) == 1 and decided.count_living() == PAGES:
            await decided.work()
    assert decided.count_living() == PAGES - GONE


async def test_when_mirrord_itself_fails_on_one(decided: Mirror, poison: set[str]) -> None:
    poison.add("Page 07.md")
    await decided.work()
    assert (count_halts(decided), [code for _, code in decided.problems()]) == (1, ["internal"])
    poison.clear()
    await assert_carried_out(decided)


async def test_what_waits_is_asked_about_once_however_often_everything_is_compared(halted: Mirror) -> None:
    for _ in range(2):
        halted.engine.request_comparison()
        await halted.settle()
    assert (count_halts(halted), halted.count_living()) == (1, PAGES)


async def test_later_deletions_are_asked_about_together(halted: Mirror) -> None:
    for number in (GONE, GONE + 1):
        (halted.root / f"Page {number:02}.md").unlink()
        await halted.settle()
    halts = halted.app.execute("SELECT sentence, cardinality(entries) AS n FROM mirrord.halt ORDER BY id").fetchall()
    assert [count for _, count in halts] == [GONE, 2]
    assert halts[1][0].startswith("More deletions wait, ")


async def test_others_are_weighed_by_themselves_while_what_was_decided_is_carried_out(decided: Mirror) -> None:
    (decided.root / f"Page {GONE:02}.md").unlink()
    await decided.settle()  # the one may be carried over before or after the halt is closed
    assert (count_halts(decided), decided.count_living()) == (0, PAGES - GONE - 1)
    assert value(decided.app, "SELECT count(*) FROM mirrord.halt") == 1


async def test_while_everything_is_compared_and_an_app_holds_one_of_the_rows(decided: Mirror) -> None:
    with decided.app.transaction():
        decided.app.execute("SELECT FROM mirrord.page WHERE name = 'Page 07' FOR UPDATE")
        await decided.work()
        decided.engine.request_comparison()
        for _ in range(3):
            await decided.work()
    await assert_carried_out(decided)


async def test_a_file_that_came_back_and_was_edited_is_carried_over_when_its_deletion_is_discarded(
    halted: Mirror,
) -> None:
    halted.write({"Page 07.md": "7\n"})
    await halted.settle()
    halted.app.execute("SELECT mirrord.decide_halt(id, 'discard') FROM mirrord.halt")
    halted.write({"Page 07.md": "7, edited\n"})
    async with asyncio.timeout(60):
        while count_halts(halted):
            await halted.work()
    await halted.settle()
    assert halted.rows()["Page 07"] == "7, edited\n"
    assert len(halted.files()) == PAGES
