"""The supervisor of `mirrord up --processes N`: its engine processes look like one daemon to everybody else."""

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from mirrord import app
from mirrord.daemon.daemon import Daemon
from mirrord.daemon.engine_process import ProcessPlace
from mirrord.daemon.postgres_care import keep_postgres
from mirrord.daemon.process_child import ProcessChild
from mirrord.daemon.request_forwarding import RequestForwarding
from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from mirrord.domain.measures import Measures
from mirrord.errors import Unavailable, UserError
from mirrord.sync.timing import pause, run_together
from mirrord.telemetry.engine_reports import load_measures

log = logging.getLogger(__name__)

REPORT_SECONDS = 0.5  # seconds between two readings of the heartbeats of the processes
TENANTS_SECONDS = 2.0  # seconds between two readings of the list of tenants; a break of Postgres shows there


@dataclass(slots=True)
class ProcessGroup(Daemon):
    """
    Starts engine processes and looks after them and the embedded Postgres; it has no tenants itself.

    log_files: the logs of one process, by its number.
    """

    log_files: dict[int, tuple[Path | None, ...]] = field(kw_only=True)
    tenants: dict[str, TenantId] = field(default_factory=dict)
    children: list[ProcessChild] = field(default_factory=list)
    _database: Database | None = None

    def __post_init__(self) -> None:
        Daemon.__post_init__(self)
        self._watching = RequestForwarding(self.config.mirror, self.children, self.is_covered, self.stop)

    async def _serve(self, database: Database, fill: Path | None) -> None:
        self._database = database
        await self._retry_while_unavailable(partial(self._choose_tenants, database))
        if self.stop.is_set():
            return
        count = self.config.processes
        if count > len(self.tenants):
            log.warning("processes_without_tenants", extra={"processes": count, "tenants": len(self.tenants)})
        self.children += [
            ProcessChild(self.config, ProcessPlace(number, count), fill, self.log_files[number])
            for number in range(1, count + 1)
        ]
        async with run_together([*self._make_tasks(database)], self.stop):
            await self.stop.wait()

    def _make_tasks(self, database: Database) -> list[Coroutine[Any, Any, None]]:
        return [
            *(child.run(self.stop) for child in self.children),
            self._watching.run(),
            self._follow_tenants(database),
            self._read_reports(),
            self._keep_heartbeat(),
            keep_postgres(self.postgres, database, self.degraded, self.stop),
        ]

    async def _choose_tenants(self, database: Database) -> None:
        self.tenants = await app.choose_tenants(database, self.config)

    async def _follow_tenants(self, database: Database) -> None:
        """New tenants are taken by the processes on their own; here they belong to what has to be covered."""
        while not self.stop.is_set():
            await pause(self.stop, TENANTS_SECONDS)
            with suppress(Unavailable, UserError):
                await self._choose_tenants(database)

    async def _read_reports(self) -> None:
        while not self.stop.is_set():
            for child in self.children:
                await asyncio.to_thread(child.read_report)
            if not self.ready.is_set() and all(report["ready"] for report in self._reports()) and self.is_covered():
                self._note_ready()
            await pause(self.stop, REPORT_SECONDS)

    def _reports(self) -> Iterator[dict[str, Any]]:
        """The reports of the processes that have reported, by their numbers."""
        return (child.report for child in self.children if child.report is not None)

    def is_covered(self, names: frozenset[str] | None = None) -> bool:
        """Whether each tenant is among *names*, None: claimed by a process, or shared with daemons on other hosts."""
        if names is None:
            names = frozenset(name for report in self._reports() for name in report["claimed"])
        return self.config.pool is not None or names.issuperset(self.tenants)

    def facts(self) -> dict[str, Any]:
        """As of one daemon with all tenants of the processes. processes: {number, pid, tenants: a count} of each."""
        return {
            **Daemon.facts(self),
            "processes": [
                {
                    "number": child.place.number,
                    "pid": child.pid,
                    "tenants": len(child.report["tenants"]) if child.report is not None else 0,
                }
                for child in self.children
            ],
        }

    def pulses(self) -> dict[str, dict[str, Any]]:
        """As the processes report them, by name."""
        return dict(sorted((name, pulse) for report in self._reports() for name, pulse in report["tenants"].items()))

    def reasons(self) -> list[str]:
        """Why the processes together do less than they should, each sentence once."""
        reasons = [*self.degraded.values(), *(child.ended for child in self.children if child.ended is not None)]
        reasons += [sentence for report in self._reports() for sentence in report["degraded"]]
        return list(dict.fromkeys(reasons))

    @property
    def halted_tenants(self) -> list[str]:
        """As the processes report them."""
        return [name for report in self._reports() for name in report["halted"]]

    @property
    def tenants_without_lease(self) -> list[str]:
        """As the processes report them, and tenants that no process has at the moment."""
        uncovered = [] if self.config.pool is not None else self.tenants.keys() - set(self.tenant_names)
        return [*(name for report in self._reports() for name in report["without_lease"]), *sorted(uncovered)]

    @property
    def counted_tenants(self) -> dict[str, tuple[Database, TenantId]]:
        """By name, where the rows of each tenant are counted: by the supervisor itself."""
        if self._database is None:
            return {}
        return {name: (self._database, self.tenants[name]) for name in self.tenant_names if name in self.tenants}

    def measures(self) -> list[Measures]:
        """As the processes stored them last; a tenant that moved just now is there once."""
        stored = [child.desk.read_measures() for child in self.children if child.report is not None]
        several = [measures for content in stored if content is not None for measures in load_measures(content)]
        return list({measures.tenant: measures for measures in several}.values())

    @property
    def process_ids(self) -> dict[int, int]:
        """Of the engine processes that run, by number."""
        return {child.place.number: child.pid for child in self.children if child.pid is not None}

    def stuck_tenants(self) -> list[str]:
        """None: a process whose engine stands still is ended alone."""
        return []

    @property
    def tenant_names(self) -> list[str]:
        """Names of the tenants that are mirrored now."""
        return sorted(name for report in self._reports() for name in report["tenants"])

    @property
    def pending_count(self) -> int:
        """Changes that wait, of all tenants, as last reported."""
        return sum(pulse["pending"] for report in self._reports() for pulse in report["tenants"].values())
