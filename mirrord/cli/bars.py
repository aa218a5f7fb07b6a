"""Bars of progress: on a terminal; nothing in a pipe."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress as Bar

from mirrord.domain.progress import Progress, unobserved


@contextmanager
def bar(what: str, total: int | None = None) -> Iterator[Progress]:
    """Shows how far work is while the `with` lasts. what: what is being done. total: None: the work says it."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield unobserved
        return
    with Bar(console=console, transient=True) as shown:
        task = shown.add_task(what, total=total)
        yield lambda done, of: shown.update(task, completed=done, total=of)
