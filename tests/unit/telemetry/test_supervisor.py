"""The service manager's socket: found in the environment, written to in datagrams, never waited for."""

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mirrord.telemetry.process_reports import Supervisor, supervisor_of


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "notify") if request.param == "path" else f"@{tmp_path}/notify"


@pytest.fixture
def manager(address: str) -> Iterator[socket.socket]:
    """The service manager's end."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as bound:
        bound.bind(f"\0{address[1:]}" if address[0] == "@" else address)
        bound.settimeout(5)
        yield bound


def test_messages_arrive_as_one_datagram(manager: socket.socket, address: str) -> None:
    Supervisor(address).send("READY=1", "STATUS=Grüße")
    assert manager.recv(4096).decode() == "READY=1\nSTATUS=Grüße"


def test_a_manager_that_is_gone_or_does_not_read_holds_up_nobody(manager: socket.socket, address: str) -> None:
    for _ in range(2_000):  # more than a socket's queue holds
        Supervisor(address).send("WATCHDOG=1")
    manager.close()
    Supervisor(address).send("WATCHDOG=1")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"NOTIFY_SOCKET": ""}, None),
        ({"NOTIFY_SOCKET": "vsock:2:9"}, None),
        ({"NOTIFY_SOCKET": "/run/notify"}, Supervisor("/run/notify")),
        ({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "60000000"}, Supervisor("@x", 60.0)),
        ({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "0"}, Supervisor("@x")),
        ({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "soon"}, Supervisor("@x")),
        ({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "5", "WATCHDOG_PID": "1"}, Supervisor("@x")),
        ({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "5", "WATCHDOG_PID": str(os.getpid())}, Supervisor("@x", 5e-6)),
    ],
)
def test_what_the_environment_says_is_believed_where_it_makes_sense(
    environment: dict[str, str], expected: Supervisor | None
) -> None:
    assert supervisor_of(environment) == expected
