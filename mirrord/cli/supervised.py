"""Messages to a service manager: the daemon is ready, alive, or stopping."""

from collections.abc import Iterable

from mirrord.daemon.daemon import Daemon
from mirrord.sync.pausing import pause
from mirrord.telemetry.supervisor import MICROSECONDS_PER_SECOND, Supervisor

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
    tenants, waiting = len(daemon.mirrors), sum(worked.engine.pending_count for worked in daemon.mirrors.values())
    if not is_ready:
        return "Starting."
    return f"Mirroring {tenants} {'tenant' if tenants == 1 else 'tenants'}; {waiting or 'nothing'} waiting."
