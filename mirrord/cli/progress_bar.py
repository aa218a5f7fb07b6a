"""Progress bars for long work."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress as Bar

from mirrord.domain.long_work import Progress, ignore_progress


@contextmanager
def progress_bar(title: str, total: int | None = None) -> Iterator[Progress]:
    """A bar on a terminal during a `with`; nothing in a pipe. total: None: not known in advance."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield ignore_progress
        return
    with Bar(console=console, transient=True) as display:
        task = display.add_task(title, total=total)
        yield lambda done, of: display.update(task, completed=done, total=of)
