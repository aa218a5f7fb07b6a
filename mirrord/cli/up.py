"""`mirrord up`: the daemon in the foreground, with a live view on a terminal."""

import asyncio
import signal
import sys
from pathlib import Path

import click

from mirrord.cli.options import configured
from mirrord.config import Config
from mirrord.daemon import Daemon
from mirrord.telemetry import log_to


@click.command()
@configured
@click.option("--tenant", "tenants", multiple=True, help="Mirror only these; made if new. Default: all there are.")
@click.option(
    "--fill", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Copied into an empty tree."
)
@click.option("--plain", is_flag=True, help="No live view; log lines on standard error, as under a service manager.")
def up(config: Config, fill: Path | None, plain: bool) -> None:
    """Run the daemon in the foreground until Ctrl-C."""
    serve(config, fill, plain=plain or not sys.stderr.isatty())


def serve(config: Config, fill: Path | None, *, plain: bool) -> None:
    """Run until SIGINT or SIGTERM. Raises MirrordError if it cannot start."""
    log_to(None if plain else config.data / "mirrord.log")
    asyncio.run(_serve(Daemon(config), fill, plain=plain))


async def _serve(daemon: Daemon, fill: Path | None, *, plain: bool) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, daemon.stop.set)
    if plain:
        await daemon.run(fill)
        return
    from mirrord.cli.view import show  # noqa: PLC0415  (rich is for people: a twentieth of a service's start)

    view = asyncio.ensure_future(show(daemon))
    try:
        await daemon.run(fill)
    finally:
        daemon.stop.set()
        await view
