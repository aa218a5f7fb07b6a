"""The live view of `mirrord up` on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from mirrord.cli.host.status_board import MAX_LIVE_TENANTS, facts_of_pulse, iso_time, render_board
from mirrord.daemon.daemon import Daemon
from mirrord.sync.timing import pause

REFRESH_SECONDS = 0.25  # seconds


async def show_live(daemon: Daemon, line: Callable[[], str]) -> None:
    """Keep the view up to date until the daemon stops. line: returns the current line about the console."""
    console = Console(stderr=True)
    with Live(console=console, refresh_per_second=4, transient=False) as live:
        while not daemon.stop.is_set():
            live.update(render_view(daemon, console.width, line()))
            await pause(daemon.stop, REFRESH_SECONDS)
        live.update(Text("mirrord is stopping…"))


def render_view(daemon: Daemon, width: int, console: str = "") -> RenderableType:
    """The current view."""
    parts: list[RenderableType] = [
        render_board(_board_facts(daemon), width=width, max_lines=MAX_LIVE_TENANTS, with_recent=False)
    ]
    if daemon.ready.is_set() and (names := daemon.tenant_names):
        parts.append(_advice(daemon, names))
    if console:
        parts.append(Text(f"\n{console}", style="bold", overflow="fold"))
    parts.append(Text(f"\n{daemon.config.mirror} ⇄ Postgres   Ctrl-C stops", style="dim"))
    return Group(*parts)


def _board_facts(daemon: Daemon) -> dict[str, Any]:
    """The facts of `mirrord status`, without the database."""
    facts = daemon.facts()
    return {
        "daemon": {
            "pid": facts["pid"],
            "alive": True,
            "ready": facts["ready"],
            "since": iso_time(facts["since"]),
            "processes": facts.get("processes"),
        },
        "database": {
            "embedded": facts["embedded"],
            "server_version": None,
            "outage": daemon.degraded.get("postgres"),
        },
        "tenants": [_tenant_facts(name, pulse) for name, pulse in facts["tenants"].items()],
        "attention": [need for name, pulse in facts["tenants"].items() for need in _needs_of(name, pulse)],
        "degraded": facts["degraded"],
    }


def _tenant_facts(name: str, pulse: dict[str, Any]) -> dict[str, Any]:
    """The facts about a tenant; None: known only to the database."""
    unknown = dict.fromkeys(("pages", "attachments", "records", "trash", "history", "conflicts"))
    counts = {**unknown, "problems": len(pulse["problems"]), "halts": int(pulse["halted"])}
    return {"name": name, **counts, **facts_of_pulse(pulse)}


def _needs_of(name: str, pulse: dict[str, Any]) -> Iterator[dict[str, str]]:
    if pulse["halted"]:
        sentence = "Deletions wait for your decision."
        yield {"tenant": name, "kind": "halt", "path": "", "sentence": sentence, "remedy": "`mirrord halts`"}
    for path, sentence in pulse["problems"]:
        yield {"tenant": name, "kind": "problem", "path": path, "sentence": sentence, "remedy": ""}


def _advice(daemon: Daemon, names: list[str]) -> Text:
    """The exact commands to try next."""
    name = names[0]
    program = Path(sys.argv[0])
    command = str(program if not program.is_absolute() else _relative(program))
    tree = _relative(daemon.config.mirror / name)
    options = "" if daemon.config.mirror == Path("data/mirror").absolute() else f" --mirror '{daemon.config.mirror}'"
    options += "" if daemon.config.data == Path("data").absolute() else f" --data '{daemon.config.data}'"
    options += f" --tenant {name}" if len(names) > 1 else ""
    return Text(
        "\nTry, in another terminal:\n"
        f"  echo 'Hello from a file.' >> '{tree}/Welcome.md'\n"
        f"  {command} psql{options} -c \"SELECT name, version, right(markdown, 40) FROM page WHERE name = 'Welcome'\"\n"
        f"  {command} psql{options} -c \"UPDATE page SET title = 'Hello from a row' WHERE name = 'Welcome'\"\n"
        f"  head -5 '{tree}/Welcome.md'\n"
        f"  {command} status{options.split(' --tenant')[0]}",
        style="dim",
    )


def _relative(path: Path) -> Path:
    with suppress(ValueError):
        return path.relative_to(Path.cwd())
    return path
