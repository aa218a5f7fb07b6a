"""`mirrord up`: the daemon in the foreground, and notifications to the service manager."""

import asyncio
import faulthandler
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import click
import uvloop

from mirrord.cli.options import with_config_options
from mirrord.config import Config
from mirrord.config_settings import parse_processes
from mirrord.daemon.daemon import Daemon
from mirrord.mirror.process_setup import end_without_memory, list_stop_signals
from mirrord.sync.timing import pause
from mirrord.telemetry.process_reports import MICROSECONDS_PER_SECOND, Supervisor, log_to, supervisor_of

MAX_MESSAGE_SECONDS = 10.0  # seconds between messages at most, and at most a third of the watchdog's patience
START_EXTENSION_SECONDS = 90  # seconds that each message adds to the time limit of the start


async def report_state(daemon: Daemon, supervisor: Supervisor) -> None:
    """
    Report the state of the daemon to the service manager until it stops.

    A sign of life is sent only while every tenant's engine makes progress: a blocked event loop blocks this function
    too, and an engine without progress for too long is named instead.
    """
    seconds = (
        min(MAX_MESSAGE_SECONDS, supervisor.patience / 3) if supervisor.patience is not None else MAX_MESSAGE_SECONDS
    )
    while not daemon.stop.is_set():
        is_ready = daemon.ready.is_set()
        supervisor.send(*_messages_of(daemon, is_ready=is_ready))
        await pause(daemon.stop, seconds, *(() if is_ready else (daemon.ready,)))
    supervisor.send("STOPPING=1", "STATUS=Finishing what is under way.")


def _messages_of(daemon: Daemon, *, is_ready: bool) -> Iterable[str]:
    """Messages about readiness, life and status of the daemon."""
    stuck = daemon.stuck_tenants()
    if is_ready:
        yield "READY=1"
    if not stuck:
        yield "WATCHDOG=1" if is_ready else f"EXTEND_TIMEOUT_USEC={START_EXTENSION_SECONDS * MICROSECONDS_PER_SECOND}"
    yield f"STATUS={' '.join(_status_line(daemon, stuck, is_ready=is_ready).split())}"


def _status_line(daemon: Daemon, stuck: list[str], *, is_ready: bool) -> str:
    if stuck:
        return f"Stuck: {', '.join(stuck)}."
    if reasons := daemon.reasons():
        return reasons[0]
    tenants, waiting = len(daemon.tenant_names), daemon.pending_count
    if not is_ready:
        return "Starting."
    return f"Mirroring {tenants} {'tenant' if tenants == 1 else 'tenants'}; {waiting or 'nothing'} waiting."


@click.command()
@with_config_options
@click.option("--tenant", "tenants", multiple=True, help="Mirror only these tenants, created if new; default: all.")
@click.option(
    "--fill",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Copy this directory into an empty tree.",
)
@click.option("--plain", is_flag=True, help="Write log lines to standard error instead of the live view.")
@click.option("--console", "port", type=click.IntRange(0, 65535), help="Serve the console on this port of loopback.")
@click.option("--no-console", is_flag=True, help="Serve no console; default: serve one with the live view.")
@click.option(
    "--processes", "processes", help="Engine processes that share the tenants, or `auto`: one for each processor."
)
def up(
    config: Config, fill: Path | None, plain: bool, port: int | None, no_console: bool, processes: str | None
) -> None:
    """Run the daemon in the foreground until Ctrl-C."""
    console = config.console
    if port is not None:
        console = replace(console, serve=True, port=port)
    if no_console:
        console = replace(console, serve=False)
    if processes is not None:
        config = replace(config, processes=parse_processes(processes))
    run_until_stopped(replace(config, console=console), fill, plain=plain or not sys.stderr.isatty())


def run_until_stopped(config: Config, fill: Path | None, *, plain: bool) -> None:
    """Run until SIGINT, SIGTERM or SIGHUP. Raises MirrordError if it cannot start."""
    log_to(*_log_files(config, plain=plain))
    if plain:
        faulthandler.enable()  # the watchdog of a service manager sends SIGABRT: print a traceback then
        end_without_memory()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run_daemon(_make_daemon(config, plain=plain), fill, plain=plain))


def _make_daemon(config: Config, *, plain: bool) -> Daemon:
    if config.processes == 1 and config.pool is None:
        return Daemon(config)
    from mirrord.daemon.process_group import ProcessGroup  # noqa: PLC0415  (most daemons are one process)

    numbers = range(1, config.processes + 1)
    log_files = {number: tuple(_log_files(config, plain=plain, suffix=f"-{number}")) for number in numbers}
    return ProcessGroup(config, log_files=log_files)


def _log_files(config: Config, *, plain: bool, suffix: str = "") -> list[Path | None]:
    """Destinations of the log; None: standard error. A service manager can name a directory too."""
    name = f"mirrord{suffix}.log"
    if not plain:
        return [config.data / name]
    directory = os.environ.get("LOGS_DIRECTORY")
    return [None, Path(directory) / name] if directory else [None]


def _start_console(daemon: Daemon, tasks: list["asyncio.Future[None]"], *, plain: bool) -> Callable[[], str]:
    """Start to serve the console if requested; returns the callback for its line in the live view."""
    setting = daemon.config.console.serve
    if setting is False or (setting is None and plain):
        return str
    from mirrord.cli.host.embedded_console import DaemonConsole  # noqa: PLC0415  (an HTTP server and templates, only on request)

    console = DaemonConsole(daemon, plain=plain)
    tasks.append(asyncio.ensure_future(console.serve()))
    return console.status_line


async def _run_daemon(daemon: Daemon, fill: Path | None, *, plain: bool) -> None:
    loop = asyncio.get_running_loop()
    for signal_number in list_stop_signals():
        loop.add_signal_handler(signal_number, daemon.stop.set)
    tasks: list[asyncio.Future[None]] = []
    if (supervisor := supervisor_of()) is not None:
        tasks.append(asyncio.ensure_future(report_state(daemon, supervisor)))
    if daemon.config.metrics is not None:
        from mirrord.cli.host.monitoring import serve_metrics  # noqa: PLC0415  (an HTTP server, only on request)

        tasks.append(asyncio.ensure_future(serve_metrics(daemon, daemon.config.metrics)))
    line = _start_console(daemon, tasks, plain=plain)
    if not plain:
        from mirrord.cli.host.live_view import show_live  # noqa: PLC0415  (rich is for people: a twentieth of a service's start)

        tasks.append(asyncio.ensure_future(show_live(daemon, line)))
    try:
        await daemon.run(fill)
    finally:
        daemon.stop.set()
        await asyncio.gather(*tasks)
