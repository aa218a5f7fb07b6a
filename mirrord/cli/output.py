"""What commands that show texts and versions have in common."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import click

from mirrord.domain.entry import Actor
from mirrord.domain.omission import Omission

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MOST = 50  # of what was left out; programs get all
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def the_person() -> Actor:
    """Who runs the command."""
    return Actor("human", os.environ.get("USER", "operator"))


def moment(when: datetime) -> str:
    """A time for people, in their time zone."""
    return when.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def actor_line(actor: Mapping[str, Any]) -> str:
    """`human ada`."""
    return f"{actor.get('kind', '?')} {actor.get('name', '')}".strip()


def harmless(text: str) -> str:
    """*text* without what a terminal would obey: pages are other people's words."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def echo_difference(lines: Iterable[str]) -> None:
    """A unified diff, in colours on a terminal."""
    for line in lines:
        bold = line.startswith(("--- ", "+++ "))
        click.secho(harmless(line), fg=None if bold else _COLOURS.get(line[:1]), bold=bold or None)


def echo_omissions(left: Sequence[Omission], what: str) -> None:
    """What long work left out, and why; *what*: the end of a sentence that begins with how many."""
    if not left:
        return
    click.echo(f"{len(left)} {what}:", err=True)
    for one in left[:_MOST]:
        click.echo(f"  {harmless(one.sentence)}", err=True)
    if len(left) > _MOST:
        click.echo(f"  and {len(left) - _MOST} more; --json lists them all", err=True)
