"""`mirrord up`: the daemon in the foreground, with a live view on a terminal."""

import asyncio
import faulthandler
import os
import signal
import sys
from pathlib import Path

import click

from mirrord.cli.options import configured
from mirrord.cli.supervised import keep_told
from mirrord.config import Config
from mirrord.daemon import Daemon
from mirrord.telemetry.logs import log_to
from mirrord.telemetry.supervisor import supervisor_of


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
    log_to(*_logs(config, plain=plain))
    if plain:
        faulthandler.enable()  # a service manager's watchdog sends SIGABRT: where it stood is worth knowing
    asyncio.run(_serve(Daemon(config), fill, plain=plain))


def _logs(config: Config, *, plain: bool) -> list[Path | None]:
    """A service manager keeps what is on standard error, and may name a directory besides."""
    if not plain:
        return [config.data / "mirrord.log"]
    named = os.environ.get("LOGS_DIRECTORY")
    return [None, Path(named) / "mirrord.log"] if named else [None]


async def _serve(daemon: Daemon, fill: Path | None, *, plain: bool) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, daemon.stop.set)
    beside = []
    if (supervisor := supervisor_of()) is not None:
        beside.append(asyncio.ensure_future(keep_told(daemon, supervisor)))
    if daemon.config.metrics is not None:
        from mirrord.cli.exposed import expose  # noqa: PLC0415  (an HTTP server, for those who want one)

        beside.append(asyncio.ensure_future(expose(daemon, daemon.config.metrics)))
    if not plain:
        from mirrord.cli.view import show  # noqa: PLC0415  (rich is for people: a twentieth of a service's start)

        beside.append(asyncio.ensure_future(show(daemon)))
    try:
        await daemon.run(fill)
    finally:
        daemon.stop.set()
        await asyncio.gather(*beside)
