"""What no event tells of is found by the turns that mirrors take."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest

from mirrord.config import Config
from mirrord.daemon import daemon as daemons
from mirrord.daemon import mirror_rounds
from mirrord.daemon.daemon import Daemon
from mirrord.daemon.mirror_rounds import MirrorRounds
from mirrord.daemon.running_mirror import Watching
from mirrord.domain.history_rule import HistoryRules
from mirrord.intake.event_files import EventReader
from mirrord.mirror.mirror_state import State
from mirrord.sync.timing import pause
from tests.support.editors import save
from tests.support.harness import eventually

NAMES = ("ada", "ben", "cy")
MAX_ANSWERS = 8  # of an engine that stays busy: each look at it comes after twice as long as the last


class DeafWatching(Watching):
    """A watcher to which the kernel reports nothing."""

    async def run(self) -> None:
        await pause(self._stop, None)


@asynccontextmanager
async def working(dsn: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Daemon]:
    """A daemon of three tenants, whose turns come every tenth of a second."""
    monkeypatch.setattr(daemons, "Watching", DeafWatching)
    monkeypatch.setattr(mirror_rounds, "SCAN_SECONDS", 0.3)
    daemon = Daemon(Config(directory / "mirror", directory / "data", dsn, NAMES))
    works = asyncio.ensure_future(daemon.run())
    try:
        await asyncio.wait_for(daemon.ready.wait(), 60)
        yield daemon
    finally:
        daemon.stop.set()
        await works


async def wait_for(condition: Callable[[], object], expectation: str) -> None:
    await asyncio.to_thread(eventually, condition, expectation)


async def test_a_change_of_which_no_event_tells_is_found_in_every_tree(
    fresh_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(fresh_dsn, tmp_path, monkeypatch):
        for name in NAMES:
            save(tmp_path / f"mirror/{name}/Unseen.md", "no event told of this\n")
        with psycopg.connect(fresh_dsn, autocommit=True) as rows:
            count = "SELECT count(*) FROM mirrord.page WHERE name = 'Unseen'"
            await wait_for(lambda: rows.execute(count).fetchone() == (len(NAMES),), "a row in every tenant")


async def test_every_mirror_has_its_turn_again_and_again(
    fresh_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(fresh_dsn, tmp_path, monkeypatch) as daemon:

        def scans() -> list[int]:
            return [sum(mirror.engine.pulse.scans.counts) for mirror in daemon.mirrors.values()]

        before = scans()
        await wait_for(
            lambda: all(now > then + 2 for now, then in zip(scans(), before, strict=True)), "three more scans of each"
        )
        assert max(scans()) - min(scans()) <= 2


async def test_mirrors_at_rest_close_their_caches_and_work_goes_on_with_them(
    fresh_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, limit in {
        "FEW_MIRRORS": 1,
        "REST_SECONDS": 0.0,
        "LATEST_LOOK_SECONDS": 0.05,
        "FREE_SECONDS": 0.1,
    }.items():
        monkeypatch.setattr(mirror_rounds, name, limit)
    async with working(fresh_dsn, tmp_path, monkeypatch) as daemon:

        def states() -> list[State]:
            return [mirror.engine.sides.state for mirror in daemon.mirrors.values()]

        await wait_for(lambda: not any(state.is_open for state in states()), "every cache closed")
        for name in NAMES:
            save(tmp_path / f"mirror/{name}/Later.md", "saved while the cache was closed\n")
        with psycopg.connect(fresh_dsn, autocommit=True) as rows:
            count = "SELECT count(*) FROM mirrord.page WHERE name = 'Later'"
            await wait_for(lambda: rows.execute(count).fetchone() == (len(NAMES),), "a row in every tenant")
        await wait_for(lambda: all("Later.md" in state.load() for state in states()), "the file in every cache")
        await wait_for(lambda: not any(state.is_open for state in states()), "every cache closed again")
        assert all(state.is_in_place() for state in states())


async def test_lines_of_events_wait_for_a_busy_engine_and_rarely_ask_whether_it_still_is(
    fresh_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = list[bool]()

    def is_idle() -> bool:
        answers.append(False)
        return False

    async with working(fresh_dsn, tmp_path, monkeypatch) as daemon:
        reader, stop = EventReader(daemon.mirrors["ada"].engine.sides, "Sources", is_idle), asyncio.Event()
        reads = asyncio.ensure_future(reader.run(stop))
        try:
            await wait_for(lambda: reader.is_idle, "the lines are read all the same")
        finally:
            stop.set()
            await reads
    assert 1 < len(answers) <= MAX_ANSWERS


async def test_all_rows_are_compared_when_a_mirror_is_due(
    fresh_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_rounds, "COMPARE_SECONDS", 0.0)
    monkeypatch.setattr(mirror_rounds, "COMPARE_SECONDS_PER_MIRROR", 0.0)
    async with working(fresh_dsn, tmp_path, monkeypatch):
        save(tmp_path / "mirror/ada/Page.md", "text\n")
        with psycopg.connect(fresh_dsn, autocommit=True) as superuser:
            find = "SELECT EXISTS (SELECT FROM mirrord.mirror_base WHERE path = 'Page.md')"
            await wait_for(lambda: superuser.execute(find).fetchone() == (True,), "the base of the page")
            superuser.execute("DELETE FROM mirrord.mirror_base WHERE path = 'Page.md'")
            await wait_for(lambda: superuser.execute(find).fetchone() == (True,), "the base again")


async def test_a_mirror_that_leaves_just_before_its_turn_ends_nothing(
    fresh_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(fresh_dsn, tmp_path, monkeypatch) as daemon:
        mirrors, stop = dict(daemon.mirrors), asyncio.Event()
        scans = asyncio.ensure_future(MirrorRounds(mirrors, daemon.config.history).scan(stop))
        before = sum(mirrors["cy"].engine.pulse.scans.counts)
        await pause(stop, 0.0)  # the round has begun, and its first turn is due later
        del mirrors["ada"]
        await wait_for(
            lambda: scans.done() or sum(mirrors["cy"].engine.pulse.scans.counts) > before + 5, "scans of another"
        )
        assert not scans.done()
        stop.set()
        await scans


async def test_a_daemon_without_mirrors_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    stop = asyncio.Event()

    async def note_pause(_: asyncio.Event, seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) > 3:
            stop.set()
        await asyncio.sleep(0.01)

    monkeypatch.setattr(mirror_rounds, "SCAN_SECONDS", 0.001)
    monkeypatch.setattr(mirror_rounds, "pause", note_pause)
    await MirrorRounds({}, HistoryRules()).scan(stop)
    assert min(pauses) == mirror_rounds.LATEST_LOOK_SECONDS
