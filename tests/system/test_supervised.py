"""What a service manager hears: signs of life while every engine goes on, and none when one, or all, stand still."""

import asyncio
import os
import queue
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from mirrord.cli.host.up import report_state
from mirrord.config import Config
from mirrord.daemon.daemon import Daemon
from mirrord.telemetry.process_reports import Supervisor
from tests.support.editors import save
from tests.support.manager import Manager


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    with closing(Manager(tmp_path / "notify")) as listening:
        yield listening


async def test_an_engine_that_stands_still_gets_no_sign_of_life(
    manager: Manager, fresh_dsn: str, tmp_path: Path
) -> None:
    daemon = Daemon(
        Config(tmp_path / "mirror", tmp_path / "data", fresh_dsn, ("demo",)),
        patience=1.5,  # an idle engine takes a turn a second
    )
    works = asyncio.ensure_future(daemon.run())
    reporting = asyncio.ensure_future(report_state(daemon, Supervisor(manager.address, patience=0.3)))
    try:
        await asyncio.to_thread(manager.heard_until, lambda notice: "READY=1" in notice)
        with _frozen_backends(fresh_dsn):
            save(tmp_path / "mirror/demo/Page.md", "an edit that no row can take\n")
            heard = await asyncio.to_thread(manager.heard_until, lambda notice: "STATUS=Stuck: demo." in notice)
            heard = heard[-1:] + [await asyncio.to_thread(manager.heard) for _ in range(3)]
            assert [line for notice in heard for line in notice if line == "WATCHDOG=1"] == []
        await asyncio.to_thread(manager.heard_until, lambda notice: "WATCHDOG=1" in notice)
    finally:
        daemon.stop.set()
        await asyncio.gather(works, reporting)


async def test_a_blocked_event_loop_gives_no_sign_of_life(manager: Manager, tmp_path: Path) -> None:
    daemon = Daemon(Config(tmp_path / "mirror", tmp_path / "data", "host=nowhere"))
    reporting = asyncio.ensure_future(report_state(daemon, Supervisor(manager.address, patience=0.03)))
    await asyncio.to_thread(manager.heard_until, lambda notice: notice[0].startswith("EXTEND"))
    with pytest.raises(queue.Empty):  # the loop is held up; what was sent before is heard first
        manager.heard_until(lambda notice: notice == [], seconds=0.3)  # ten times the patience
    await asyncio.to_thread(manager.heard)
    daemon.stop.set()
    await reporting


@contextmanager
def _frozen_backends(dsn: str) -> Iterator[None]:
    """Postgres takes what the daemon asks of it, and never answers, inside this block."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'mirrord' AND datname = current_database()"
        ).fetchall()
        pids = [pid for (pid,) in rows]
        assert pids
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
