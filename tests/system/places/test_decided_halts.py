"""What a person decided about a halt stands until it has been carried out."""

import asyncio

import pytest

from mirrord.sync import deletions
from tests.system.entries import value
from tests.system.mirrors import Mirror

PAGES, GONE = 40, 30


@pytest.fixture
async def decided(mirror: Mirror) -> Mirror:
    """A mirror with one halt: most of its files went, and somebody said that this was meant."""
    mirror.write({f"Page {number:02}.md": f"{number}\n" for number in range(PAGES)})
    await mirror.settle()
    for number in range(GONE):
        (mirror.root / f"Page {number:02}.md").unlink()
    await mirror.settle()
    assert (count_halts(mirror), mirror.count_living()) == (1, PAGES)
    mirror.app.execute("SELECT mirrord.decide_halt(id, 'apply') FROM mirrord.halt")
    return mirror


def count_halts(mirror: Mirror) -> int:
    """Those that stand."""
    found: int = value(mirror.app, "SELECT count(*) FROM mirrord.halt WHERE closed_at IS NULL")
    return found


async def assert_carried_out(mirror: Mirror, more: int = 0) -> None:
    async with asyncio.timeout(20):
        while count_halts(mirror):
            await mirror.work()
    assert mirror.count_living() == PAGES - GONE + more
    await mirror.settle()
    closed = value(mirror.app, "SELECT count(*) FROM mirrord.halt")
    assert (closed, mirror.problems()) == (1, {})


async def test_while_an_app_holds_one_of_the_rows(decided: Mirror) -> None:
    with decided.app.transaction():
        decided.app.execute("SELECT FROM mirrord.page WHERE name = 'Page 07' FOR UPDATE")
        for _ in range(3):
            await decided.work()
        assert (count_halts(decided), decided.count_living()) == (1, PAGES)
        decided.write({"New.md": "written meanwhile\n"})
        decided.engine.look_everywhere()
        while "New" not in decided.rows():
            await decided.work()
    await assert_carried_out(decided, more=1)


async def test_while_deletions_go_on(decided: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "QUIET", 3600.0)
    (decided.root / f"Page {GONE:02}.md").unlink()
    decided.engine.look_everywhere()
    async with asyncio.timeout(20):
        while count_halts(decided) == 1 and decided.count_living() == PAGES:
            await decided.work()
    assert decided.count_living() == PAGES - GONE


async def test_when_mirrord_itself_fails_on_one(decided: Mirror, poison: set[str]) -> None:
    poison.add("Page 07.md")
    await decided.work()
    assert (count_halts(decided), [code for _, code in decided.problems()]) == (1, ["internal"])
    poison.clear()
    await assert_carried_out(decided)
