"""Messages to the service manager, as sd_notify(3) sends them."""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

MICROSECONDS_PER_SECOND = 1_000_000  # of a second; service managers count in them


@dataclass(frozen=True, slots=True)
class Supervisor:
    """
    The service manager that started this process and expects messages from it.

    address: of a Unix socket, a path, or `@name` in the abstract name space. patience: seconds without a message
    after which it restarts the process; None: it does not watch.
    """

    address: str
    patience: float | None = None

    def send(self, *messages: str) -> None:
        """
        Send messages such as `READY=1` or `STATUS=…` in one datagram; never waits.

        A manager that does not listen misses it, and no error is raised.
        """
        address = f"\0{self.address[1:]}" if self.address.startswith("@") else self.address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sender:
            sender.sendto("\n".join(messages).encode(), address)


def supervisor_of(environment: Mapping[str, str] = os.environ) -> Supervisor | None:
    """The service manager of this process; None: a person started it."""
    address = environment.get("NOTIFY_SOCKET", "")
    if address[:1] not in ("/", "@"):
        return None
    microseconds = environment.get("WATCHDOG_USEC", "")
    is_for_us = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    is_watched = is_for_us and microseconds.isdigit() and int(microseconds) > 0
    return Supervisor(address, int(microseconds) / MICROSECONDS_PER_SECOND if is_watched else None)
