"""What a daemon reports about its mirrors: their activity, their measurements, and why it does less than it should."""

from dataclasses import dataclass, field
from typing import Any

from mirrord.config import Config
from mirrord.daemon.running_mirror import RunningMirror
from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from mirrord.domain.measures import Measures
from mirrord.telemetry.engine_reports import Pulses, measures_of

STUCK_SECONDS = 300.0  # seconds; a step of an engine, such as hashing a chunk of large files, takes less


@dataclass(slots=True)
class MirrorReports:
    """
    A daemon as commands and monitoring see it.

    mirrors: the open ones, by tenant. degraded: why the daemon does less than it should, as sentences by their cause.
    patience: seconds that an engine may stand still.
    """

    config: Config
    mirrors: dict[str, RunningMirror] = field(default_factory=dict)
    degraded: dict[str, str] = field(default_factory=dict)
    patience: float = STUCK_SECONDS
    _pulses: Pulses = field(default_factory=Pulses)

    def pulses(self) -> dict[str, dict[str, Any]]:
        """By name, the activity of each tenant that is mirrored now."""
        return {
            name: self._pulses.pulse_of(mirror, derived=mirror.consequences.is_up_to_date)
            for name, mirror in self.mirrors.items()
        }

    def reasons(self) -> list[str]:
        """Why this daemon does less than it should, as sentences."""
        reasons = list(self.degraded.values())
        for name, mirror in self.mirrors.items():
            if suspended := mirror.engine.root.suspended:
                reasons.append(f"{name}: {suspended}")
            if outage := mirror.engine.pulse.outage:
                reasons.append(f"{name}: {outage}")
        return reasons

    @property
    def tenant_names(self) -> list[str]:
        """Names of the tenants that are mirrored now."""
        return list(self.mirrors)

    @property
    def pending_count(self) -> int:
        """Changes that wait, of all tenants."""
        return sum(mirror.engine.pending_count for mirror in self.mirrors.values())

    @property
    def halted_tenants(self) -> list[str]:
        """Tenants whose tree was not recognised; nothing of them is read or written."""
        return [key.removeprefix("halted ") for key in self.degraded if key.startswith("halted ")]

    @property
    def tenants_without_lease(self) -> list[str]:
        """Tenants whose lease is not held."""
        return [name for name, mirror in self.mirrors.items() if mirror.opened.sides.lease is None]

    @property
    def counted_tenants(self) -> dict[str, tuple[Database, TenantId]]:
        """By name, where the rows of each tenant are counted."""
        return {
            name: (mirror.opened.sides.database, mirror.opened.sides.tenant) for name, mirror in self.mirrors.items()
        }

    def measures(self) -> list[Measures]:
        """The measurements of every tenant, without counts of rows."""
        return [measures_of(mirror.engine) for mirror in self.mirrors.values()]

    @property
    def process_ids(self) -> dict[int, int]:
        """Of engine processes beside this one, by number."""
        return {}

    def stuck_tenants(self) -> list[str]:
        """Tenants whose engine stands still for longer than `patience`: only a restart helps."""
        return [name for name, mirror in self.mirrors.items() if mirror.engine.pulse.is_stuck(self.patience)]
