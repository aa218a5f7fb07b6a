"""What a service manager hears of the daemon: when it is ready, that it goes on, that it ends."""

from collections.abc import Iterable

from mirrord.daemon.daemon import Daemon
from mirrord.sync.pausing import pause
from mirrord.telemetry.supervisor import MICROSECONDS, Supervisor

PAUSE = 10.0  # seconds between messages at the most; of a watchdog's patience, a third at the most
START = 90  # seconds that a start that goes on may take from each message


async def keep_told(daemon: Daemon, supervisor: Supervisor) -> None:
    """
    Tell the service manager how the daemon is, until it stops.

    A sign of life is given only while every tenant's engine takes its steps: to a blocked event loop this function
    belongs itself, and an engine that stands still for too long is named instead.
    """
    seconds = min(PAUSE, supervisor.patience / 3) if supervisor.patience is not None else PAUSE
    while not daemon.stop.is_set():
        is_ready = daemon.ready.is_set()
        supervisor.tell(*_signs(daemon, is_ready=is_ready))
        await pause(daemon.stop, seconds, *(() if is_ready else (daemon.ready,)))
    supervisor.tell("STOPPING=1", "STATUS=Finishing what is under way.")


def _signs(daemon: Daemon, *, is_ready: bool) -> Iterable[str]:
    """Whether the daemon is ready, whether it goes on, and how it is in a line."""
    stuck = daemon.stuck()
    if is_ready:
        yield "READY=1"
    if not stuck:
        yield "WATCHDOG=1" if is_ready else f"EXTEND_TIMEOUT_USEC={START * MICROSECONDS}"
    yield f"STATUS={' '.join(_status(daemon, stuck, is_ready=is_ready).split())}"


def _status(daemon: Daemon, stuck: list[str], *, is_ready: bool) -> str:
    if stuck:
        return f"Stuck: {', '.join(stuck)}."
    if reasons := daemon.reasons():
        return reasons[0]
    tenants, waiting = len(daemon.worked), sum(worked.engine.pending for worked in daemon.worked.values())
    if not is_ready:
        return "Starting."
    return f"Mirroring {tenants} {'tenant' if tenants == 1 else 'tenants'}; {waiting or 'nothing'} waiting."
