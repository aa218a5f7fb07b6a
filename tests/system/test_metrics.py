"""One daemon at work, seen by monitoring and by a person's terminal."""

import asyncio
import fcntl
import itertools
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

import mirrord
from mirrord.cli.host.monitoring import serve_metrics
from mirrord.config import Config
from mirrord.daemon.daemon import Daemon
from tests.support.editors import save
from tests.support.harness import PATIENCE, eventually
from tests.unit.telemetry.test_exposition import asked, samples


@pytest.fixture
def config(fresh_dsn: str, tmp_path: Path) -> Config:
    return Config(tmp_path / "mirror", tmp_path / "data", fresh_dsn, ("demo",), metrics=str(tmp_path / "metrics"))


@asynccontextmanager
async def at_work(config: Config) -> AsyncIterator[Daemon]:
    """A daemon that has compared everything, with its measurements served."""
    daemon = Daemon(config)
    assert config.metrics is not None
    tasks = [asyncio.ensure_future(daemon.run()), asyncio.ensure_future(serve_metrics(daemon, config.metrics))]
    try:
        async with asyncio.timeout(PATIENCE):
            await daemon.ready.wait()
        yield daemon
    finally:
        daemon.stop.set()
        await asyncio.gather(*tasks)


async def told(config: Config, name: str) -> float:
    """The value of a series of the tenant; 0 where it has none yet."""
    assert config.metrics is not None
    _, text = await asked(config.metrics, "/metrics")
    values = [
        sample.value
        for sample in samples(text)
        if sample.name == f"mirrord_{name}" and sample.labels == {"tenant": "demo"}
    ]
    return values[0] if values else 0.0


async def measured(config: Config, name: str, minimum: float = 1) -> None:
    """Return when a series of the tenant is at least so much."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if await told(config, name) >= minimum:
                return
            await asyncio.sleep(0.01)


async def edited_until_measured(config: Config) -> None:
    """Save pages until one is measured: what a scan finds, because the watch was not live yet, is not."""
    async with asyncio.timeout(PATIENCE):
        for number in itertools.count(1):
            save(config.mirror / f"demo/Page {number}.md", "one\n")
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await measured(config, "file_to_row_seconds_count")
                    return


async def test_edits_on_both_sides_are_measured_and_shown(config: Config) -> None:
    async with at_work(config) as daemon:
        await edited_until_measured(config)
        await asyncio.to_thread(eventually, lambda: daemon.mirrors["demo"].idle, "all edits in rows")
        edits = await told(config, "file_to_row_seconds_count")
        assert 0 < await told(config, "file_to_row_seconds_sum") < edits * PATIENCE
        await asyncio.to_thread(_as_app, config, "UPDATE mirrord.page SET markdown = 'two\n' WHERE name = 'Page 1'")
        await measured(config, "row_to_file_seconds_count")
        assert (config.mirror / "demo/Page 1.md").read_text(encoding="utf-8") == "two\n"
        assert 0 < await told(config, "row_to_file_seconds_sum") < PATIENCE
        await measured(config, "scan_seconds_count")
        assert await asked(str(config.metrics), "/readyz") == (200, '{"ready":true,"reasons":[]}')

        with _terminal(config) as watching:
            output = await asyncio.to_thread(_seen, watching, ["in sync", "file → row", "Page 1.md", "demo"])
            assert "\x1b[?1049h" in output, "it has the screen for itself"
            watching.process.send_signal(signal.SIGINT)
            remaining_output = await asyncio.to_thread(_seen, watching, ["\x1b[?1049l"])
            assert (await asyncio.to_thread(watching.process.wait, PATIENCE), "Traceback" in remaining_output) == (
                0,
                False,
            )


async def test_a_daemon_without_its_lease_or_its_port_says_so_and_goes_on(config: Config) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        busy_config = Config(config.mirror, config.data, config.dsn, config.tenants, metrics=other.getsockname())
        async with at_work(busy_config) as daemon:
            assert "cannot be had" in " ".join(daemon.reasons())
            save(config.mirror / "demo/Page.md", "one\n")
            pulse = daemon.mirrors["demo"].engine.pulse
            await asyncio.to_thread(eventually, lambda: pulse.last_file_to_row, "the edit in a row")
    async with at_work(config) as daemon:
        daemon.mirrors["demo"].opened.sides.lease = None
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
    # whoever runs the tests in the background of a script has them ignore SIGINT, and all they start
    heeding = ["env", "--default-signal=INT"]
    process = subprocess.Popen(
        [*heeding, sys.executable, "-m", "mirrord.cli", "status", "--watch", *places],
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
    """What the terminal got until all of *words* were there. Raises AssertionError, with the end of it, otherwise."""
    data, end = b"", time.monotonic() + 3 * PATIENCE
    while not all(word.encode() in data for word in words):
        ready, _, _ = select.select([watching.screen], [], [], max(0.0, end - time.monotonic()))
        try:
            if not ready:
                raise TimeoutError
            data += os.read(watching.screen, 65536)
        except OSError as error:
            raise AssertionError(f"{words} were not shown: {data.decode(errors='replace')[-3000:]}") from error
    return data.decode(errors="replace")
