"""The live view of `mirrord up` on a terminal."""

import asyncio
import sys
import time
from contextlib import suppress
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mirrord.daemon import Daemon, Worked

REFRESH = 0.25  # seconds


async def show(daemon: Daemon) -> None:
    """Keep the view up to date until the daemon stops."""
    console = Console(stderr=True)
    with Live(console=console, refresh_per_second=4, transient=False) as live:
        while not daemon.stop.is_set():
            live.update(view(daemon))
            with suppress(TimeoutError):
                await asyncio.wait_for(daemon.stop.wait(), REFRESH)
        live.update(Text("mirrord is stopping…"))


def view(daemon: Daemon) -> RenderableType:
    """What the terminal shows now."""
    parts: list[RenderableType] = [_headline(daemon), _table(daemon)]
    parts += [Text(f"! {sentence}", style="yellow") for sentence in daemon.reasons()]
    if daemon.ready.is_set():
        parts.append(_advice(daemon))
    return Group(*parts)


def _headline(daemon: Daemon) -> Text:
    state = "in sync" if _quiet(daemon) else "working" if daemon.ready.is_set() else "starting"
    colour = {"in sync": "green", "working": "cyan", "starting": "yellow"}[state]
    return Text.assemble(("mirrord ", "bold"), (state, colour), f"   {daemon.config.mirror} ⇄ Postgres   Ctrl-C stops")


def _quiet(daemon: Daemon) -> bool:
    return daemon.ready.is_set() and all(worked.engine.idle for worked in daemon.worked.values())


def _table(daemon: Daemon) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("tenant", "files", "waiting", "moves", "file → row", "row → file", "documents"):
        table.add_column(column)
    for name, worked in daemon.worked.items():
        table.add_row(*_cells(name, worked))
    return table


def _cells(name: str, worked: Worked) -> list[str]:
    pulse = worked.engine.pulse
    return [
        name,
        str(len(worked.opened.sides.looker.index)),
        str(worked.engine.pending),
        str(pulse.moves),
        _ago(pulse.last_file_to_row),
        _ago(pulse.last_row_to_file),
        "all derived" if worked.derived else "deriving",
    ]


def _ago(moment: float | None) -> str:
    return "–" if moment is None else f"{max(0, time.time() - moment):.0f} s ago"


def _advice(daemon: Daemon) -> Text:
    """The exact commands to try next."""
    name = next(iter(daemon.worked))
    program = Path(sys.argv[0])
    me = str(program if not program.is_absolute() else _relative(program))
    tree = _relative(daemon.config.mirror / name)
    where = "" if daemon.config.mirror == Path("data/mirror").absolute() else f" --mirror '{daemon.config.mirror}'"
    where += "" if daemon.config.data == Path("data").absolute() else f" --data '{daemon.config.data}'"
    where += f" --tenant {name}" if len(daemon.worked) > 1 else ""
    return Text(
        "\nTry, in another terminal:\n"
        f"  echo 'Hello from a file.' >> '{tree}/Welcome.md'\n"
        f"  {me} psql{where} -c \"SELECT name, version, right(markdown, 40) FROM page WHERE name = 'Welcome'\"\n"
        f"  {me} psql{where} -c \"UPDATE page SET title = 'Hello from a row' WHERE name = 'Welcome'\"\n"
        f"  head -5 '{tree}/Welcome.md'\n"
        f"  {me} status{where.split(' --tenant')[0]}",
        style="dim",
    )


def _relative(path: Path) -> Path:
    with suppress(ValueError):
        return path.relative_to(Path.cwd())
    return path
