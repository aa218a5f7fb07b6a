"""The end of the notify protocol that systemd has."""

import queue
import socket
import threading
from collections.abc import Callable
from pathlib import Path

_END = b""


class Manager:
    """A service manager that listens on a socket at *path*, and reads at once, as systemd does."""

    def __init__(self, path: Path) -> None:
        self.address = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.address)
        self._messages: queue.Queue[bytes] = queue.Queue()
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def close(self) -> None:
        """Listen no longer."""
        self._socket.sendto(_END, self.address)
        self._thread.join()
        self._socket.close()

    def heard(self, seconds: float = 60.0) -> list[str]:
        """The next message. Raises queue.Empty if none comes in time."""
        return self._messages.get(timeout=seconds).decode().splitlines()

    def heard_until(self, condition: Callable[[list[str]], bool], seconds: float = 60.0) -> list[list[str]]:
        """All messages up to the first for which *condition* holds. Raises queue.Empty after a silence so long."""
        messages = [self.heard(seconds)]
        while not condition(messages[-1]):
            messages.append(self.heard(seconds))
        return messages

    def _listen(self) -> None:
        while (message := self._socket.recv(4096)) != _END:
            self._messages.put(message)
