"""
What a process reports to its host: logs, and messages to the service manager, as sd_notify(3) sends them.

A log has one event per line, a constant name first, facts after it; never the text of a page.
"""

import json
import logging
import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from traceback import format_tb
from types import MappingProxyType

_STANDARD_FIELDS = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
MAX_MESSAGE_CHARS = 300  # characters of an error's message
MAX_LOG_BYTES = 5_000_000  # of one log file; one older file is kept


class _JsonLines(logging.Formatter):
    """Formats records as JSON, one object per line."""

    def __init__(self, facts: Mapping[str, object]) -> None:
        super().__init__()
        self._facts = facts

    def format(self, record: logging.LogRecord) -> str:
        """The event with its facts; a traceback only where mirrord itself failed."""
        facts = {key: value for key, value in vars(record).items() if key not in _STANDARD_FIELDS}
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **self._facts,
            **facts,
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["traceback"] = _traceback(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False, default=str)


def _traceback(error: BaseException) -> str:
    """
    The tracebacks of *error* and its causes, each with the first line of its message.

    Further lines of a message quote content: a row that Postgres refuses, the YAML that cannot be read.
    """
    message = (str(error).splitlines() or [""])[0][:MAX_MESSAGE_CHARS]
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    cause_text = f"{_traceback(cause)}\n\n" if cause is not None else ""
    return f"{cause_text}{''.join(format_tb(error.__traceback__))}{type(error).__qualname__}: {message}"


def log_to(*places: Path | None, facts: Mapping[str, object] = MappingProxyType({})) -> None:
    """
    Send logs to each of *places*: a file, which is kept short, or None, standard error.

    facts: in every line, for instance which of several processes wrote it.
    """
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # the engines log its errors once, in a sentence
    root = logging.getLogger("mirrord")
    root.handlers[:] = [_handler_for(place, facts) for place in places]
    root.setLevel(logging.INFO)
    root.propagate = False


def _handler_for(file: Path | None, facts: Mapping[str, object]) -> logging.Handler:
    handler: logging.Handler
    if file is None:
        handler = logging.StreamHandler(sys.stderr)
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(file, maxBytes=MAX_LOG_BYTES, backupCount=1, encoding="utf-8")
    handler.setFormatter(_JsonLines(facts))
    return handler


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
