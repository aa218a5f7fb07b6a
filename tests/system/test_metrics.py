"""One daemon at work, seen by monitoring and by a person's terminal."""

import asyncio
import fcntl
import os
import pty
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import psycopg
import pytest

import mirrord
from mirrord.cli.exposed import expose
from mirrord.config import Config
from mirrord.daemon import Daemon
from tests.system.editors import save
from tests.system.harness import PATIENCE, eventually
from tests.unit.telemetry.test_exposition import asked, samples


@pytest.fixture
def config(fresh_dsn: str, tmp_path: Path) -> Config:
    return Config(tmp_path / "mirror", tmp_path / "data", fresh_dsn, ("demo",), metrics=str(tmp_path / "metrics"))


@asynccontextmanager
async def at_work(config: Config) -> AsyncIterator[Daemon]:
    """A daemon that has compared everything, with its measurements served."""
    daemon = Daemon(config)
    assert config.metrics is not None
    tasks = [asyncio.ensure_future(daemon.run()), asyncio.ensure_future(expose(daemon, config.metrics))]
    try:
        async with asyncio.timeout(PATIENCE):
            await daemon.ready.wait()
        yield daemon
    finally:
        daemon.stop.set()
        await asyncio.gather(*tasks)


async def measured(config: Config, name: str, least: float) -> float:
    """The value of a series of the tenant as soon as it is at least so much."""
    assert config.metrics is not None
    async with asyncio.timeout(PATIENCE):
        while True:
            _, text = await asked(config.metrics, "/metrics")
            for one in samples(text):
                if one.name == f"mirrord_{name}" and one.labels == {"tenant": "demo"} and one.value >= least:
                    return one.value
            await asyncio.sleep(0.01)


async def test_edits_on_both_sides_are_measured_and_shown(config: Config) -> None:
    async with at_work(config):
        save(config.mirror / "demo/Page.md", "one\n")
        await measured(config, "file_to_row_seconds_count", 1)
        assert 0 < await measured(config, "file_to_row_seconds_sum", 0) < PATIENCE
        await asyncio.to_thread(_as_app, config, "UPDATE mirrord.page SET markdown = 'two' || chr(10)")
        await measured(config, "row_to_file_seconds_count", 1)
        assert (config.mirror / "demo/Page.md").read_text(encoding="utf-8") == "two\n"
        assert 0 < await measured(config, "row_to_file_seconds_sum", 0) < PATIENCE
        assert await measured(config, "file_to_row_seconds_count", 1) == 1, "an echo of an own write was measured"
        await measured(config, "scan_seconds_count", 1)
        assert await measured(config, "conflicts", 0) == 0
        assert await asked(str(config.metrics), "/readyz") == (200, '{"ready":true,"reasons":[]}')

        with _terminal(config) as watching:
            shown = await asyncio.to_thread(_seen, watching, ["in sync", "file → row", "Page.md", "demo"])
            assert "\x1b[?1049h" in shown, "it has the screen for itself"
            watching.process.send_signal(signal.SIGINT)
            rest = await asyncio.to_thread(_seen, watching, ["\x1b[?1049l"])
            assert (await asyncio.to_thread(watching.process.wait, PATIENCE), "Traceback" in rest) == (0, False)


async def test_a_daemon_without_its_lease_or_its_port_says_so_and_goes_on(config: Config) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = Config(config.mirror, config.data, config.dsn, config.tenants, metrics=other.getsockname())
        async with at_work(taken) as daemon:
            assert "cannot be had" in " ".join(daemon.reasons())
            save(config.mirror / "demo/Page.md", "one\n")
            pulse = daemon.worked["demo"].engine.pulse
            await asyncio.to_thread(eventually, lambda: pulse.last_file_to_row, "the edit in a row")
    async with at_work(config) as daemon:
        daemon.worked["demo"].opened.sides.lease = None
        status, text = await asked(str(config.metrics), "/readyz")
        assert (status, text) == (503, '{"ready":false,"reasons":["demo: the lease is not held."]}')


def _as_app(config: Config, statement: str) -> None:
    assert config.dsn is not None
    with psycopg.connect(config.dsn, autocommit=True) as connection:
        tenant = connection.execute("SELECT id FROM mirrord.tenant WHERE name = 'demo'").fetchone()
        assert tenant is not None
        connection.execute(f"SET mirrord.tenant = '{tenant[0]}'")
        connection.execute("SET ROLE mirrord_app")
        connection.execute(statement)


class _Watching:
    """A `mirrord status --watch` on a terminal of its own."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self.process, self.screen = process, screen


@contextmanager
def _terminal(config: Config) -> Iterator[_Watching]:
    screen, keyboard = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
    places = ["--mirror", str(config.mirror), "--data", str(config.data), "--dsn", str(config.dsn)]
    process = subprocess.Popen(
        [sys.executable, "-m", "mirrord.cli", "status", "--watch", *places],
        stdin=keyboard,
        stdout=keyboard,
        stderr=keyboard,
        env={**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(Path(mirrord.__file__).parents[1])},
    )
    os.close(keyboard)
    try:
        yield _Watching(process, screen)
    finally:
        process.kill()
        process.wait()
        os.close(screen)


def _seen(watching: _Watching, words: list[str]) -> str:
    """What the terminal got until all of *words* were there. Raises at the end of the program otherwise."""
    data = b""
    while not all(word.encode() in data for word in words):
        try:
            data += os.read(watching.screen, 65536)
        except OSError as error:
            raise AssertionError(f"{words} were not shown: {data.decode(errors='replace')}") from error
    return data.decode(errors="replace")
