"""What keeps the engine from losing something, one guard a test: each catches a mutant of `make fault`."""

import asyncio
import os
import random
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from mirrord import app
from mirrord.config import Config
from mirrord.db import mirror_leases
from mirrord.db.content.entry_writes import run_statements
from mirrord.db.database import Database
from mirrord.domain.entry import digest_of
from mirrord.errors import Fenced
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.sync import deletions
from mirrord.sync.decisions import guard
from mirrord.sync.engine import Engine
from mirrord.sync.writing.entry_bodies import text_of
from tests.faults import planner, syscalls
from tests.faults.injection import Point, missing
from tests.faults.proxy import Proxy
from tests.faults.scenarios import SCENARIOS
from tests.faults.stage import Stage, staged
from tests.faults.stage_oracle import wrong
from tests.faults.world import Cluster

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}

needs_strace = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@asynccontextmanager
async def _engine(stage: Stage) -> AsyncIterator[Engine]:
    """An engine that has compared everything, and works when it is told to."""
    config = Config(mirror=stage.directory, data=stage.directory / "data", dsn=stage.dsn)
    async with Database(stage.dsn, size=2) as database:
        mirror = await app.open_mirror(database, config, stage.name, stage.tenant)
        try:
            engine = Engine(mirror.sides, is_adopting=mirror.adopting)
            await engine.start()
            await _work(engine, lambda: not engine.queue.is_ready)
            yield engine
        finally:
            mirror.close()


async def _work(engine: Engine, is_over: Callable[[], bool]) -> None:
    stop = asyncio.Event()
    async with asyncio.timeout(60):
        while not is_over():
            await engine.work_once(stop)
            await asyncio.sleep(0)


def _played(cluster: Cluster, directory: Path, name: str) -> list[str]:
    """A scenario from beginning to end, without a fault."""
    scenario = BY_NAME[name]
    with staged(cluster, directory, name.replace(" ", "-").replace(",", "")) as stage:
        scenario.before(stage)
        stage.converge()
        scenario.act(stage)
        stage.converge()
        return wrong(stage, scenario)


def test_a_file_that_is_away_for_a_moment_was_never_deleted(
    own_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def take_away(stage: Stage) -> None:
        page, aside = stage.root / "Page.md", stage.root / "aside.tmp"
        async with _engine(stage) as engine:
            page.rename(aside)
            engine.queue.mark(["Page.md"])
            await _work(engine, lambda: bool(engine.halts.gathered_deletions.entries))
            await engine.work_once(asyncio.Event())
            aside.rename(page)
            engine.queue.mark(["Page.md"])
            await _work(engine, lambda: engine.is_idle)

    with staged(own_cluster, tmp_path, "away") as stage:
        stage.save("Page.md", "here\n")
        stage.save("Other.md", "a tree that loses all its files halts\n")
        stage.converge()
        versions = stage.versions()
        monkeypatch.setattr(deletions, "QUIET_SECONDS", guard.QUIET_SECONDS)  # machines that are busy take their time
        asyncio.run(take_away(stage))

        assert stage.versions() == versions


def test_a_file_that_moved_while_its_row_vanished_is_not_forgotten(own_cluster: Cluster, tmp_path: Path) -> None:
    async def lose_and_move(stage: Stage) -> None:
        async with _engine(stage) as engine:
            with own_cluster.administered() as connection:
                connection.execute("SET session_replication_role = replica")
                connection.execute("DELETE FROM mirrord.page WHERE tenant_id = %s AND name = 'Page'", [stage.tenant])
            (stage.root / "Page.md").rename(stage.root / "Moved.md")
            engine.queue.mark(["Page.md", "Moved.md"])
            await _work(engine, lambda: engine.is_idle)

    with staged(own_cluster, tmp_path, "vanished-and-moved") as stage:
        stage.save("Page.md", "still here\n")
        stage.save("Other.md", "a side that loses everything halts\n")
        stage.converge()
        asyncio.run(lose_and_move(stage))

        assert stage.app.execute("SELECT markdown FROM mirrord.page WHERE name = 'Moved'").fetchall() == [
            ("still here\n",)
        ]


def test_a_save_within_the_second_of_the_last_one_arrives(own_cluster: Cluster, tmp_path: Path) -> None:
    assert _played(own_cluster, tmp_path, "a file edited") == []


def test_a_save_whose_time_was_set_back_arrives(own_cluster: Cluster, tmp_path: Path) -> None:
    with staged(own_cluster, tmp_path, "set-back") as stage:
        stage.save("Page.md", "before\n")
        stage.converge()
        before = (stage.root / "Page.md").stat()
        with (stage.root / "Page.md").open("r+b") as file:
            file.write(b"after.\n")
        os.utime(stage.root / "Page.md", ns=(before.st_atime_ns, before.st_mtime_ns))
        stage.converge()
        row = stage.app.execute("SELECT markdown FROM mirrord.page").fetchone()

    assert row == ("after.\n",)


def test_whoever_lost_the_lease_commits_nothing(own_cluster: Cluster, tmp_path: Path) -> None:
    async def overtake(stage: Stage) -> None:
        async with _engine(stage) as engine:
            sides = engine.sides
            async with Database(stage.dsn, size=1) as database:
                await mirror_leases.acquire_lease(
                    database, sides.tenant, sides.mirror, "another daemon", root_locked=True
                )
            stage.save("Late.md", "written by a zombie\n")
            engine.queue.mark(["Late.md"])
            with pytest.raises(Fenced):
                await _work(engine, lambda: engine.is_idle)

    with staged(own_cluster, tmp_path, "zombie") as stage:
        asyncio.run(overtake(stage))

        assert stage.app.execute("SELECT name FROM mirrord.page").fetchall() == []


def test_a_row_that_went_on_is_not_overwritten(own_cluster: Cluster, tmp_path: Path) -> None:
    async def overwrite(stage: Stage) -> list[int | None]:
        async with _engine(stage) as engine:
            sides, page = engine.sides, stage.page("Page.md")
            stage.sql("UPDATE mirrord.page SET markdown = 'newer' WHERE id = %s", page)
            stale = sides.writer.rewrite(page, 1, digest_of(b"stale"), text_of(PageText("stale")))  # type: ignore[arg-type]
            async with sides.database.transaction(sides.tenant, sides.lease) as connection:
                return await run_statements(connection, [stale])

    with staged(own_cluster, tmp_path, "went-on") as stage:
        stage.save("Page.md", "older\n")
        stage.converge()

        assert asyncio.run(overwrite(stage)) == [None]


def test_a_file_written_right_before_a_cut_is_recorded_by_the_same_daemon(
    own_cluster: Cluster, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    scenario = BY_NAME["a row inserted"]
    with (
        Proxy(own_cluster.dsn, tmp_path_factory.mktemp("s")) as proxy,
        staged(own_cluster, tmp_path, "written-then-cut") as stage,
    ):
        scenario.before(stage)
        stage.converge()
        scenario.act(stage)
        proxy.arm_when((stage.root / "Row.md").exists)
        replace(stage, dsn=proxy.dsn).converge_anew()

        assert wrong(stage, scenario) == []


@needs_strace
def test_a_new_text_is_durable_before_it_takes_its_place_and_its_place_before_it_is_recorded(
    own_cluster: Cluster, tmp_path: Path
) -> None:
    trace = syscalls.rehearse(own_cluster, tmp_path, BY_NAME["a row edited"]).trace.trace
    signs = (
        r'openat\(.*tmp/daemon>, "p\.',
        r"fsync\(.*tmp/daemon/p\.",
        r"renameat2\(.*RENAME_EXCHANGE",
    )
    syncs = (  # side by side, where the kernel syncs beside us
        # the folder of the page, named as its tenant
        r"fsync\(\d+<[^>]*/scenario-\d+>\)|FSYNC, aio_fildes=\d+<[^>]*/scenario-\d+>(?:.*\n)*?.*io_getevents\(",
        r"fsync\(\d+<[^>]*tmp/daemon>\)",
    )
    at = 0
    for sign in signs:
        at = _end(sign, trace, at)
    at = max(_end(sign, trace, at) for sign in syncs)
    _end(r'renameat\(.*"w\..*trash>', trace, at)


def _end(sign: str, trace: str, at: int) -> int:
    """Where in *trace* a call ends that comes after *at*."""
    match = re.compile(sign).search(trace, at)
    assert match, f"{sign} does not come, or not in its turn"
    return match.end()


@needs_strace
def test_a_rows_text_reaches_its_file_though_the_writer_is_killed_before_the_exchange(
    own_cluster: Cluster, tmp_path: Path
) -> None:
    rehearsal = syscalls.rehearse(own_cluster, tmp_path, BY_NAME["a row edited"])

    assert syscalls.play(own_cluster, tmp_path, rehearsal, Point("renameat2", 1)) == []


def _insert_below_a_renamed_folder(stage: Stage) -> UUID:
    """Before anybody looks: the folder gets another name, and a page comes two levels below; the page's parent."""
    stage.save("Crate/Inner/One.md", "one\n")
    stage.save("Other.md", "a tree that loses all its files halts\n")
    stage.converge()
    inner = stage.page("Crate/Inner")
    stage.sql("UPDATE mirrord.page SET name = 'Box' WHERE id = %s", stage.page("Crate"))
    stage.sql("INSERT INTO mirrord.page (parent_id, name, markdown) VALUES (%s, 'Two', 'two')", inner)
    return inner


def test_a_page_that_comes_below_a_renamed_folder_is_written_where_the_folder_goes(
    own_cluster: Cluster, tmp_path: Path
) -> None:
    with staged(own_cluster, tmp_path, "below-a-renamed-folder") as stage:
        inner = _insert_below_a_renamed_folder(stage)
        stage.converge()
        parents = stage.app.execute("SELECT DISTINCT parent_id FROM mirrord.page WHERE name IN ('One', 'Two')")

        assert stage.tree().keys() == {"Box/Inner/One.md", "Box/Inner/Two.md", "Other.md"}
        assert parents.fetchall() == [(inner,)]


def test_a_page_that_comes_below_a_folder_that_cannot_move_yet_waits_with_it_and_goes_along(
    own_cluster: Cluster, tmp_path: Path
) -> None:
    async def hinder(stage: Stage) -> None:
        stage.save("Box", "not a page, and in the way\n")
        async with _engine(stage) as engine:
            await _work(engine, (stage.root / "Crate/Inner/Two.md").exists)

    with staged(own_cluster, tmp_path, "below-a-folder-that-waits") as stage:
        inner = _insert_below_a_renamed_folder(stage)
        asyncio.run(hinder(stage))
        (stage.root / "Box").unlink()
        stage.converge()
        parents = stage.app.execute("SELECT DISTINCT parent_id FROM mirrord.page WHERE name IN ('One', 'Two')")

        assert stage.tree().keys() == {"Box/Inner/One.md", "Box/Inner/Two.md", "Other.md"}
        assert parents.fetchall() == [(inner,)]


def test_a_late_write_to_a_replaced_file_is_taken_in(own_cluster: Cluster, tmp_path: Path) -> None:
    assert _played(own_cluster, tmp_path, "a late write to a replaced file") == []


def test_decisions_lead_both_mirrors_to_what_the_rows_say() -> None:
    failed = {seed: violations for seed in range(1000) if (violations := planner.live(seed))}

    assert failed == {}


@pytest.mark.parametrize("first", planner.ACTS)
def test_no_three_acts_on_one_entry_lead_astray(first: Callable[[planner.Model, planner.Mirror], None]) -> None:
    chance = random.Random(0)
    for second in planner.ACTS:
        for third in planner.ACTS:
            acts = [planner.make_row, planner.step, planner.step, first, second, third]
            seed = chance.randrange(1 << 30)
            assert planner.live(seed, acts) == [], f"seed {seed}: {[act.__name__ for act in acts]}"
