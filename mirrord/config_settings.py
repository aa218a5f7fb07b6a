"""Single settings of the configuration: each text becomes a value, or is refused with a sentence."""

import os
import re
from typing import Literal, cast, get_args

from mirrord.domain.answer_form import AnswerForm
from mirrord.domain.measures import Endpoint
from mirrord.domain.place import DEFAULT_ATTACHMENTS, is_reserved
from mirrord.errors import UserError
from mirrord.research.sources.source_kinds import DIRECTORY

DEFAULT_MODE = 0o700
MAX_PROCESSES = 10  # engine processes of one daemon; the embedded Postgres has connections for so many

Notify = Literal["commit", "ticker"]


def parse_answers(text: str) -> AnswerForm:
    """The form of answers to agents. Raises UserError."""
    try:
        return AnswerForm(text)
    except ValueError:
        raise UserError(f"mcp.answers is {text!r}; there are {', '.join(AnswerForm)}.") from None


def parse_mode(text: str | None) -> int:
    """The mode of roots that mirrord makes; None: the default. Raises UserError."""
    if text is None:
        return DEFAULT_MODE
    if not re.fullmatch("[0-7]{3,4}", text):
        raise UserError(f'mirror.mode is {text!r}; write an octal number as text, for instance "2770".')
    return int(text, 8)


def parse_attachments(patterns: list[str] | None) -> tuple[str, ...]:
    """The patterns of attachments. Raises UserError for an invalid gitignore pattern."""
    if patterns is None:
        return DEFAULT_ATTACHMENTS
    others = [line for line in patterns if line not in DEFAULT_ATTACHMENTS]
    if others:
        from pathspec import GitIgnoreSpec  # noqa: PLC0415  (most installations list nothing)

        for line in others:
            try:
                is_pattern = GitIgnoreSpec.from_lines([line]).patterns[0].include is not None
            except (ValueError, IndexError):
                is_pattern = False
            if not is_pattern:
                raise UserError(f'mirror.attachments has {line!r}; write patterns as in .gitignore, such as "*.png".')
    return tuple(patterns)


def parse_sources_dir(text: str) -> str:
    """The path of the directory of sources, without slashes at its ends. Raises UserError."""
    parts = text.strip("/").split("/")
    if any(not part.strip() or is_reserved(part) for part in parts):
        raise UserError(f"sources_dir is {text!r}; write the path of a directory of pages, for instance {DIRECTORY!r}.")
    return "/".join(parts)


def parse_notify(text: str) -> Notify:
    """The sender of notifications. Raises UserError."""
    if text not in get_args(Notify):
        raise UserError(f'notify is {text!r}; there are "commit" and "ticker".')
    return cast(Notify, text)


def parse_processes(setting: str | int) -> int:
    """The number of engine processes; "auto": the processors that this process may use. Raises UserError."""
    if setting == "auto":
        return min(len(os.sched_getaffinity(0)), MAX_PROCESSES)
    number = int(str(setting)) if re.fullmatch(r"[0-9]{1,9}", str(setting)) else 0
    if not 1 <= number <= MAX_PROCESSES:
        raise UserError(f'processes is {setting!r}; write a whole number from 1 to {MAX_PROCESSES}, or "auto".')
    return number


def parse_pool(text: str | None) -> str | None:
    """The name of the pool of daemons; None: there is none. Raises UserError."""
    if text is not None and not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,62}", text):
        raise UserError(f"pool is {text!r}; use a-z, 0-9 and dashes, at most 63 characters.")
    return text


def parse_metrics(text: str | None) -> Endpoint | None:
    """The endpoint of measurements; loopback only, because they name tenants and need no login."""
    if text is None:
        return None
    socket = text.removeprefix("unix:")
    if socket != text and socket.startswith("/"):
        return socket
    host, _, port = text.rpartition(":")
    name = "127.0.0.1" if host == "localhost" else host.strip("[]")
    is_loopback = re.fullmatch(r"127(\.\d{1,3}){3}|::1", name) is not None
    if not is_loopback or not re.fullmatch(r"\d{1,5}", port) or not 0 < int(port) < 1 << 16:
        raise UserError(f'metrics is {text!r}; write "127.0.0.1:9464", or "unix:/run/mirrord/metrics"; only loopback.')
    return name, int(port)
