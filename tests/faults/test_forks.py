"""Daemons of a fork server: they are whole daemons, and they begin so quickly that a crash of Postgres meets it."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.proxy import Proxy
from tests.faults.world import Cluster, Late, Quick

MEETINGS = 5  # cuts while a daemon starts


@pytest.fixture
def proxy(own_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    directory = tmp_path_factory.mktemp("s")  # a short name: those of sockets are
    with Proxy(own_cluster.dsn, directory) as started:
        yield started
    shutil.rmtree(directory, ignore_errors=True)


def _start(proxy: Proxy, host: Quick, cut: int) -> int:
    """Start and end a daemon, cut before a message; how many there were until it was ready."""
    host.directory.mkdir(parents=True, exist_ok=True)
    proxy.arm(cut)
    try:
        host.begin()
        host.wait_ready()
        return len(proxy.seen)
    finally:
        host.end(signal.SIGTERM)


def test_a_daemon_outlives_cuts_while_it_starts(own_cluster: Cluster, proxy: Proxy, tmp_path: Path) -> None:
    host = Quick(tmp_path / "host", own_cluster.hosts[0], tenant="cut-at-the-start", dsn=proxy.dsn)
    messages = _start(proxy, host, 0)

    for number in range(1, messages, messages // MEETINGS):
        _start(proxy, host, number)


def test_a_daemon_that_still_starts_is_late_and_one_that_was_killed_is_replaced(
    own_cluster: Cluster, tmp_path: Path
) -> None:
    host = Quick(tmp_path / "host", own_cluster.hosts[0], tenant="killed-and-forked", dsn=own_cluster.dsn)
    host.directory.mkdir()
    host.begin()
    host.freeze()
    with pytest.raises(Late):
        host.wait_ready(0.05)
    host.wake()
    host.wait_ready()
    first = host.pid
    host.end(signal.SIGKILL)

    assert not host.running

    host.begin()
    host.wait_ready()
    host.end(signal.SIGTERM)

    assert host.pid != first
    assert '"stopped"' in host.log_end()
