"""Output shared by commands: texts, versions, omissions and the progress of long work."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import click

from mirrord.domain.entry import Actor
from mirrord.domain.long_work import Omission, Progress, ignore_progress

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MAX_OMISSIONS = 50  # omissions shown; --json lists all
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def current_person() -> Actor:
    """The person who runs the command."""
    return Actor("human", os.environ.get("USER", "operator"))


def format_time(when: datetime) -> str:
    """A time in the local time zone."""
    return when.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def format_actor(actor: Mapping[str, Any]) -> str:
    """`human ada`, `daemon mirrord for human ada`."""
    name = f"{actor.get('kind', '?')} {actor.get('name', '')}".strip()
    return f"{name} for {actor['for']}" if actor.get("for") else name


def strip_controls(text: str) -> str:
    """*text* without terminal control characters: pages are written by others."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def echo_difference(lines: Iterable[str]) -> None:
    """A unified diff, in colours on a terminal."""
    for line in lines:
        bold = line.startswith(("--- ", "+++ "))
        click.secho(strip_controls(line), fg=None if bold else _COLOURS.get(line[:1]), bold=bold or None)


def echo_omissions(omissions: Sequence[Omission], ending: str) -> None:
    """Print the omissions of long work with their reasons. ending: end of a sentence that begins with their number."""
    if not omissions:
        return
    click.echo(f"{len(omissions)} {ending}:", err=True)
    for omission in omissions[:_MAX_OMISSIONS]:
        click.echo(f"  {strip_controls(omission.sentence)}", err=True)
    if len(omissions) > _MAX_OMISSIONS:
        click.echo(f"  and {len(omissions) - _MAX_OMISSIONS} more; --json lists them all", err=True)


@contextmanager
def progress_bar(title: str, total: int | None = None) -> Iterator[Progress]:
    """A bar on a terminal during a `with`; nothing in a pipe. total: None: not known in advance."""
    from rich.console import Console  # noqa: PLC0415  (loads slowly, and most commands show no bar)
    from rich.progress import Progress as Bar  # noqa: PLC0415  (as above)

    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield ignore_progress
        return
    with Bar(console=console, transient=True) as display:
        task = display.add_task(title, total=total)
        yield lambda done, of: display.update(task, completed=done, total=of)
