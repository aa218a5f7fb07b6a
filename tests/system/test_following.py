"""What can wait, of a mirror that shares its daemon with many: seldom, but not when somebody waits for it."""

import asyncio
import itertools
import multiprocessing
import time
from pathlib import Path
from uuid import uuid4

import pytest

from mirrord.config import Config
from mirrord.daemon.daemon import Daemon
from mirrord.db.database import Connection
from mirrord.db.feed_cursors import FEED_BATCH_ENTRIES, FeedBatch
from mirrord.documents import document_derivation
from mirrord.documents.derivation_schedule import follow_batch, follow_changes
from mirrord.documents.document_derivation import (
    MIN_PAGE_CHARACTERS,
    THREAD_CHARACTERS_PER_SECOND,
    Deriver,
    PageRate,
    Workers,
)
from mirrord.domain.entry import TenantId
from mirrord.sync.decisions import pacing
from mirrord.sync.decisions.pacing import MAX_PAUSE_SECONDS
from mirrord.sync.decisions.tree_history import Rewind
from mirrord.sync.engine import ACK_QUIET_SECONDS, MAX_ROUND_SECONDS
from tests.support.editors import save
from tests.support.entries import change, value
from tests.support.harness import PATIENCE, eventually
from tests.support.mirrors import Mirror


async def test_what_was_followed_is_not_followed_again_until_something_changes(mirror: Mirror) -> None:
    mirror.write({"One.md": "See [[Two]].\n", "Two.md": "Two\n"})
    await mirror.settle()
    sides = mirror.engine.sides

    assert [await follow_batch(sides) > 0, await follow_batch(sides)] == [True, 0]
    mirror.app.execute("UPDATE mirrord.page SET title = 'Second' WHERE name = 'Two'")
    assert [await follow_batch(sides), await follow_batch(sides)] == [1, 0]


@pytest.mark.parametrize("is_disturbed", [False, True])
async def test_a_page_that_is_derived_alone_is_followed_with_its_own_change_only(
    mirror: Mirror, *, is_disturbed: bool
) -> None:
    """A change that an app commits between the reading of the feed and the commit is followed later."""
    mirror.write({"One.md": "See [[Two]].\n", "Two.md": "Two\n"})
    await mirror.settle()
    sides, workers = mirror.engine.sides, Workers()
    deriver = Deriver(sides, workers, PageRate())
    while await deriver.derive_some() or await follow_batch(sides):
        pass
    mirror.write({"One.md": "See [[Two]] and [[Third]].\n"})
    mirror.engine.request_scan()
    await mirror.settle()

    async def follow(connection: Connection, batch: FeedBatch, moves_cursors: bool) -> bool:
        if is_disturbed:
            mirror.app.execute("UPDATE mirrord.page SET title = 'Third' WHERE name = 'Two'")
        followed = await follow_changes(connection, sides.tenant, batch, sides.links, moves_cursors=moves_cursors)
        return followed.count < FEED_BATCH_ENTRIES

    followed_seq = await deriver.derive_alone(follow)

    clock = value(mirror.app, "SELECT seq FROM mirrord.tenant_clock")
    assert followed_seq == (None if is_disturbed else clock)
    assert (await follow_batch(sides) > 0) == is_disturbed
    targets = "SELECT count(*) FROM mirrord.page_link WHERE target_id IS NOT NULL AND NOT due"
    assert value(mirror.app, targets) == (2 if is_disturbed else 1)
    workers.terminate()


async def test_among_many_mirrors_an_acknowledgement_waits_unless_somebody_waits_for_it(mirror: Mirror) -> None:
    mirror.write({"Page.md": "one\n"})
    await mirror.settle()
    engine = mirror.engine
    engine.fair_shares.mirrors = 1000
    assert engine.min_round_seconds == MAX_ROUND_SECONDS

    mirror.write({"Page.md": "two\n"})
    engine.request_scan()
    while engine.pending_count or mirror.rows() != {"Page": "two\n"}:
        await mirror.work()
    async with asyncio.timeout(PATIENCE):
        while engine.parts.last_done_at + ACK_QUIET_SECONDS > asyncio.get_running_loop().time():
            await mirror.work()
    assert engine.handshake.is_owed

    engine.request_acknowledgement()
    await mirror.work()
    assert not engine.handshake.is_owed


async def test_a_mirror_that_worked_all_the_time_rests_while_others_work(mirror: Mirror) -> None:
    await mirror.settle()
    engine, now = mirror.engine, time.monotonic()
    mirror.write({"Page.md": "text\n"})
    engine.queue.mark(["Page.md"])
    engine.fair_share.note_pass(now - 60, now)
    engine.fair_shares.note_work(TenantId(uuid4()), now + 60)

    await engine.work_once(asyncio.Event())
    assert time.monotonic() - now >= MAX_PAUSE_SECONDS
    assert mirror.rows() == {}
    await engine.work_once(asyncio.Event())
    assert mirror.rows() == {"Page": "text\n"}


async def test_a_first_import_does_not_rest(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "MAX_PAUSE_SECONDS", 10 * PATIENCE)
    mirror.write({"Page.md": "text\n"})
    engine, now = mirror.engine, time.monotonic()
    engine.adoption.begin(Rewind.UNKNOWN)
    engine.queue.mark(["Page.md"])
    engine.fair_share.note_pass(now - 60 * PATIENCE, now)
    engine.fair_shares.note_work(TenantId(uuid4()), now + 60)

    async with asyncio.timeout(PATIENCE):
        while not mirror.rows():
            await mirror.work()


async def test_a_rest_ends_when_the_daemon_stops(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "MAX_PAUSE_SECONDS", 10 * PATIENCE)
    await mirror.settle()
    engine, stop, now = mirror.engine, asyncio.Event(), time.monotonic()
    mirror.write({"Page.md": "text\n"})
    engine.queue.mark(["Page.md"])
    engine.fair_share.note_pass(now - 60 * PATIENCE, now)
    engine.fair_shares.note_work(TenantId(uuid4()), now + 60)

    asyncio.get_running_loop().call_later(0.1, stop.set)
    async with asyncio.timeout(PATIENCE):
        await engine.work_once(stop)
    assert (engine.pending_count, mirror.rows()) == (1, {})


async def test_a_row_reaches_its_file_although_other_files_never_stop_changing(mirror: Mirror) -> None:
    mirror.write({"Quiet.md": "one\n", "Loud.md": "0\n"})
    await mirror.settle()
    engine, stop, (quiet,) = mirror.engine, asyncio.Event(), mirror.ids("Quiet")

    async def save_on() -> None:
        for number in itertools.count():
            mirror.write({"Loud.md": f"{number}\n"})
            engine.queue.mark(["Loud.md"], forced=True)
            if number == 10:
                change(mirror.app, quiet, markdown="two\n")
                engine.notify()
            if mirror.files()["Quiet.md"] == "two\n":
                break
            await asyncio.sleep(0)
        stop.set()

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(save_on(), engine.work_once(stop))


def test_more_text_than_threads_may_parse_in_a_second_is_left_to_processes() -> None:
    rate, third = PageRate(), THREAD_CHARACTERS_PER_SECOND // 3
    assert [rate.is_low(third) for _ in range(4)] == [True, True, True, False]
    eventually(lambda: rate.is_low(THREAD_CHARACTERS_PER_SECOND), "threads to parse again")


def test_small_pages_are_no_work_for_nothing() -> None:
    rate, pages = PageRate(), THREAD_CHARACTERS_PER_SECOND // MIN_PAGE_CHARACTERS
    assert [rate.is_low(1) for _ in range(pages + 1)] == [True] * pages + [False]


async def test_workers_go_home_although_nothing_comes_any_more(
    fresh_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_derivation, "IDLE_SECONDS", 0.5)
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
