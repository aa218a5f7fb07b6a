"""`mirrord doctor`: check what an installation depends on."""

import json
import socket
from dataclasses import asdict, replace

import click

from mirrord import app
from mirrord.cli.host.diagnosis import Finding, Verdict, diagnose
from mirrord.cli.options import EXIT_DIFFERENT, EXIT_UNAVAILABLE, run, with_config_options
from mirrord.config import Config
from mirrord.db import database_probe, mirror_leases, tenant_rows
from mirrord.db.content.history_purge import load_cost
from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from mirrord.domain.health_facts import DaemonStatus, Facts, Server, TenantStatus
from mirrord.errors import MirrordError, UserError
from mirrord.mirror.heartbeat import Heartbeat
from mirrord.mirror.machine_probe import probe_host as probe_host

_COLOURS = {Verdict.OK: "green", Verdict.NOTE: "cyan", Verdict.WRONG: "yellow", Verdict.UNAVAILABLE: "red"}


@click.command()
@with_config_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(config: Config, as_json: bool) -> int:
    """
    Check this installation and suggest remedies.

    Exit code 0: no problem; 1: a check failed; 3: Postgres or a directory cannot be reached.
    """
    findings = diagnose(run(gather_facts(config)))
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _print_findings(findings)
    return exit_code_of(findings)


def exit_code_of(findings: list[Finding]) -> int:
    """The exit code of the worst finding."""
    verdicts = {finding.verdict for finding in findings}
    return EXIT_UNAVAILABLE if Verdict.UNAVAILABLE in verdicts else EXIT_DIFFERENT if Verdict.WRONG in verdicts else 0


def _print_findings(findings: list[Finding]) -> None:
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        verdict = click.style(f"{finding.verdict:11}", fg=_COLOURS[finding.verdict])
        click.echo(
            f"{verdict} {finding.check:{width}}  {finding.sentence}"
            + (f" → {finding.remedy}" if finding.remedy else "")
        )


async def gather_facts(config: Config) -> Facts:
    """All available facts; unreachable parts do not prevent the others."""
    host = await probe_host(config.mirror, config.data)
    heartbeat = Heartbeat(config.mirror)
    beat = (heartbeat.read() or {}) if heartbeat.is_alive() else {}
    pending = {name: int(pulse["pending"]) for name, pulse in beat.get("tenants", {}).items()}
    daemon = DaemonStatus(bool(beat), tuple(beat.get("degraded", ())), pending)
    try:
        server, outage = await _examine_server(config), None
    except (MirrordError, OSError) as error:
        server, outage = None, str(error)
    return Facts(host, daemon, server, outage)


async def _examine_server(config: Config) -> Server | None:
    """Facts about Postgres; None: there is no cluster yet, and a check must not create one."""
    postgres = app.Postgres(config)
    if postgres.embedded is not None and not postgres.embedded.cluster.exists():
        return None
    async with app.running_postgres(config) as running:
        server = await _probe_server(running)
        if server.schema != server.newest_schema or server.missing_roles:
            return server
        async with Database(running.working_dsn, size=2) as database:
            isolation = await database_probe.try_isolation(database)
            seconds = await database_probe.measure_notification(database, running.listening_dsn)
            ids = await tenant_rows.load_tenants(database)
            standing = [await _standing_of(database, config, name, tenant) for name, tenant in ids.items()]
            return replace(server, isolation=isolation, notification_seconds=seconds, tenants=tuple(standing))


async def _probe_server(running: app.Postgres) -> Server:
    try:
        await running.log_in()
        return await database_probe.probe_server(running.working_dsn)
    except UserError:  # the role that mirrord works as is missing, or may not log in
        return await database_probe.probe_server(running.dsn)


async def _standing_of(database: Database, config: Config, name: str, tenant: TenantId) -> TenantStatus:
    place = (socket.gethostname(), str(config.mirror / name))
    mirrors = await mirror_leases.load_mirrors(database, tenant)
    current = next(((mirror, is_leased) for mirror, host, root, is_leased in mirrors if (host, root) == place), None)
    mirror, is_leased = current or (None, None)
    standing = await database_probe.load_standing(database, name, tenant, mirror, is_leased=is_leased)
    async with database.transaction(tenant) as connection:
        cost = await load_cost(connection, tenant)
    return replace(standing, history=cost, rule=config.history.of_tenant(name))
