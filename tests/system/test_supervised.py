"""A daemon under a service manager: it says when it is ready, gives signs of life while it goes on, and ends aloud."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from mirrord.cli.supervised import keep_told
from mirrord.config import Config
from mirrord.daemon import Daemon
from mirrord.telemetry.supervisor import MICROSECONDS, Supervisor
from tests.system.editors import save
from tests.system.harness import Mirrord


class Manager:
    """The end of the notify protocol that systemd has."""

    def __init__(self, path: Path) -> None:
        self.address = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.address)
        self.wait_for(60)

    def close(self) -> None:
        self._socket.close()

    def wait_for(self, seconds: float) -> None:
        """How long to wait for each message from now on."""
        self._socket.settimeout(seconds)

    def heard(self) -> list[str]:
        """The next message."""
        return self._socket.recv(4096).decode().splitlines()

    def heard_until(self, condition: Callable[[list[str]], bool]) -> list[list[str]]:
        """All messages up to the first for which *condition* holds."""
        messages = [self.heard()]
        while not condition(messages[-1]):
            messages.append(self.heard())
        return messages


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    with closing(Manager(tmp_path / "notify")) as listening:
        yield listening


def test_a_service_manager_hears_ready_signs_of_life_and_stopping(
    manager: Manager, fresh_dsn: str, tmp_path: Path
) -> None:
    with Mirrord(tmp_path, dsn=fresh_dsn) as mirrord:
        logs = tmp_path / "logs"
        mirrord.surroundings = {
            "NOTIFY_SOCKET": manager.address,
            "WATCHDOG_USEC": str(MICROSECONDS // 2),
            "LOGS_DIRECTORY": str(logs),
        }
        mirrord.start()
        starting = manager.heard_until(lambda one: "READY=1" in one)
        assert not [one for one in starting[:-1] if "WATCHDOG=1" in one]  # nothing is fed before there is something
        assert [one for one in starting if one[0].startswith("EXTEND_TIMEOUT_USEC=")]
        assert "WATCHDOG=1" in starting[-1]
        assert manager.heard()[1:] == ["WATCHDOG=1", "STATUS=Mirroring 1 tenant; nothing waiting."]
        assert mirrord.stop() == 0
        assert "STOPPING=1" in manager.heard_until(lambda one: "WATCHDOG=1" not in one)[-1]
        assert [line for line in (logs / "mirrord.log").read_text().splitlines() if '"event": "stopped"' in line]
        assert list(mirrord.events())  # and on standard error, for the journal


async def test_an_engine_that_stands_still_gets_no_sign_of_life(
    manager: Manager, fresh_dsn: str, tmp_path: Path
) -> None:
    daemon = Daemon(
        Config(tmp_path / "mirror", tmp_path / "data", fresh_dsn, ("demo",)),
        patience=1.5,  # an idle engine takes a turn a second
    )
    works = asyncio.ensure_future(daemon.run())
    told = asyncio.ensure_future(keep_told(daemon, Supervisor(manager.address, patience=0.3)))
    try:
        await asyncio.to_thread(manager.heard_until, lambda one: "READY=1" in one)
        with _frozen_backends(fresh_dsn):
            save(tmp_path / "mirror/demo/Page.md", "an edit that no row can take\n")
            heard = await asyncio.to_thread(manager.heard_until, lambda one: "STATUS=Stuck: demo." in one)
            heard = heard[-1:] + [await asyncio.to_thread(manager.heard) for _ in range(3)]
            assert [line for one in heard for line in one if line == "WATCHDOG=1"] == []
        await asyncio.to_thread(manager.heard_until, lambda one: "WATCHDOG=1" in one)
    finally:
        daemon.stop.set()
        await asyncio.gather(works, told)


async def test_a_blocked_event_loop_gives_no_sign_of_life(manager: Manager, tmp_path: Path) -> None:
    daemon = Daemon(Config(tmp_path / "mirror", tmp_path / "data", "host=nowhere"))
    told = asyncio.ensure_future(keep_told(daemon, Supervisor(manager.address, patience=0.03)))
    await asyncio.to_thread(manager.heard_until, lambda one: one[0].startswith("EXTEND"))
    manager.wait_for(0.3)  # ten times the patience
    with pytest.raises(TimeoutError):  # the loop is held up; what was sent before is read first
        manager.heard_until(lambda one: one == [])
    manager.wait_for(60)
    await asyncio.to_thread(manager.heard)
    daemon.stop.set()
    await told


@contextmanager
def _frozen_backends(dsn: str) -> Iterator[None]:
    """Postgres takes what the daemon asks of it, and never answers, inside this block."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        found = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'mirrord' AND datname = current_database()"
        ).fetchall()
        pids = [pid for (pid,) in found]
        assert pids
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
