"""What can wait, of a mirror that shares its daemon with many: seldom, but not when somebody waits for it."""

import asyncio
import multiprocessing
from pathlib import Path

import pytest

from mirrord.config import Config
from mirrord.daemon.daemon import Daemon
from mirrord.sync import workers
from mirrord.sync.derive import OFTEN, Recent
from mirrord.sync.engine import ACK, REST
from mirrord.sync.following import follow_some
from tests.system.editors import save
from tests.system.harness import PATIENCE, eventually
from tests.system.mirrors import Mirror


async def test_what_was_followed_is_not_followed_again_until_something_changes(mirror: Mirror) -> None:
    mirror.write({"One.md": "See [[Two]].\n", "Two.md": "Two\n"})
    await mirror.settle()
    sides = mirror.engine.sides

    assert [await follow_some(sides) > 0, await follow_some(sides)] == [True, 0]
    mirror.app.execute("UPDATE mirrord.page SET title = 'Second' WHERE name = 'Two'")
    assert [await follow_some(sides), await follow_some(sides)] == [1, 0]


async def test_among_many_mirrors_an_acknowledgement_waits_unless_somebody_waits_for_it(mirror: Mirror) -> None:
    mirror.write({"Page.md": "one\n"})
    await mirror.settle()
    engine = mirror.engine
    engine.company.mirrors = 1000
    assert engine.rest == REST

    mirror.write({"Page.md": "two\n"})
    engine.look_everywhere()
    while engine.pending or mirror.rows() != {"Page": "two\n"}:
        await mirror.work()
    async with asyncio.timeout(PATIENCE):
        while engine.conclusion.done_at + ACK > asyncio.get_running_loop().time():
            await mirror.work()
    assert engine.handshake.owed

    engine.acknowledge_soon()
    await mirror.work()
    assert not engine.handshake.owed


def test_pages_that_come_often_are_left_to_processes() -> None:
    recent = Recent()
    asked = [recent.is_seldom() for _ in range(OFTEN + 1)]
    assert asked == [True] * OFTEN + [False]


async def test_workers_go_home_although_nothing_comes_any_more(
    fresh_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "IDLE", 0.5)
    for number in range(20):
        save(tmp_path / f"mirror/demo/Page {number}.md", f"# Page {number}\n")
    daemon = Daemon(Config(tmp_path / "mirror", tmp_path / "data", fresh_dsn, ("demo",)))
    works = asyncio.ensure_future(daemon.run())
    try:
        await asyncio.to_thread(eventually, multiprocessing.active_children, "workers that parse")
        await asyncio.to_thread(eventually, lambda: not multiprocessing.active_children(), "the workers to go home")
    finally:
        daemon.stop.set()
        await works
