"""Output shared by the commands: times, actors, differences."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import click

from mirrord.domain.entry import Actor
from mirrord.domain.omission import Omission

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MAX_OMISSIONS = 50  # omissions shown; --json lists all
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def the_person() -> Actor:
    """The person who runs the command."""
    return Actor("human", os.environ.get("USER", "operator"))


def moment(when: datetime) -> str:
    """A time in the local time zone."""
    return when.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def actor_line(actor: Mapping[str, Any]) -> str:
    """`human ada`."""
    return f"{actor.get('kind', '?')} {actor.get('name', '')}".strip()


def harmless(text: str) -> str:
    """*text* without terminal control characters: pages are written by others."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def echo_difference(lines: Iterable[str]) -> None:
    """A unified diff, in colours on a terminal."""
    for line in lines:
        bold = line.startswith(("--- ", "+++ "))
        click.secho(harmless(line), fg=None if bold else _COLOURS.get(line[:1]), bold=bold or None)


def echo_omissions(left: Sequence[Omission], what: str) -> None:
    """Print the omissions of long work with their reasons. what: end of a sentence that begins with their number."""
    if not left:
        return
    click.echo(f"{len(left)} {what}:", err=True)
    for omission in left[:_MAX_OMISSIONS]:
        click.echo(f"  {harmless(omission.sentence)}", err=True)
    if len(left) > _MAX_OMISSIONS:
        click.echo(f"  and {len(left) - _MAX_OMISSIONS} more; --json lists them all", err=True)
