"""`mirrord check`: compare every file with its row; `--fix` lets the daemon repair."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

from mirrord import app
from mirrord.cli.options import EXIT_DIFFERENT, find_tenant, run, tenant_option, with_config_options
from mirrord.config import Config
from mirrord.db import open_issues, tenant_rows
from mirrord.db.database import Database
from mirrord.db.open_issues import Halt, Problem
from mirrord.domain.entry import TenantId
from mirrord.mirror.heartbeat import request_compare
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.operations.tenant_check import Finding, Verdict
from mirrord.operations.tenant_check import check_tree as compare

SUSPENDED_CODE = "root"  # problem code of a suspended tenant
_CAUSES = {
    Verdict.MISSING: "the row exists, but the file was not written. Is its path taken, or the disk full?",
    Verdict.EXTRA: "the file has no row yet. Does a program keep it open for writing?",
    Verdict.STALE: "the file does not have the newest version. Is the file open elsewhere, or the row written again?",
    Verdict.DIFFERS: "the row does not have the content of the file. Does a program keep it open for writing?",
}


@dataclass(frozen=True, slots=True)
class CheckResult:
    """
    One tenant's comparison. findings: the verdict of every path. former_verdicts: the verdicts of differing paths
    before the repair. causes: the obstacle of each path that still differs, as far as it is known.
    """

    findings: list[Finding]
    former_verdicts: Mapping[str, Verdict]
    causes: Mapping[str, str]

    @property
    def differing(self) -> list[Finding]:
        """Findings that differ now."""
        return _differing(self.findings)

    @property
    def repaired(self) -> dict[str, Verdict]:
        """The former verdict of each path that is equal now, or absent on both sides."""
        still_differing = {finding.path for finding in self.differing}
        return {path: verdict for path, verdict in self.former_verdicts.items() if path not in still_differing}


@click.command()
@with_config_options
@tenant_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--all", "everything", is_flag=True, help="Print equal paths too.")
@click.option("--fix", is_flag=True, help="Let the daemon compare everything again, and explain remaining differences.")
@click.option("--timeout", default=600.0, show_default=True, help="Seconds to wait for the daemon (with --fix).")
def check(config: Config, tenant: str | None, as_json: bool, everything: bool, fix: bool, timeout: float) -> int:
    """
    Compare every file with its row, byte for byte, and say what is known of each difference.

    Exit code 1 if anything differs.

    With --fix the daemon reads every file and row again, as it does once a day, and syncs missed changes by its
    ordinary rules: nothing is overwritten, and losses of many pages wait for a decision.
    """

    async def work() -> dict[str, CheckResult]:
        async with app.open_database(config) as database:
            chosen = await _chosen_tenants(database, config, tenant)
            first = {
                name: await _compare_tenant(database, config, name, tenant_id) for name, tenant_id in chosen.items()
            }
            odd = {name: {finding.path: finding.verdict for finding in _differing(first[name])} for name in first}
            if not fix or not any(odd.values()):
                return {
                    name: CheckResult(first[name], {}, await _load_listed_causes(database, chosen[name], first[name]))
                    for name in first
                }
            if not await _is_suspended(database, chosen):
                await asyncio.to_thread(_ask_daemon, config, timeout)
            return {
                name: await _explain_tenant(database, config, name, tenant_id, odd[name])
                for name, tenant_id in chosen.items()
            }

    results = run(work())
    if as_json:
        _print_json(results, everything=everything)
    else:
        _print_findings(results, everything=everything)
    return EXIT_DIFFERENT if any(checked.differing for checked in results.values()) else 0


async def _chosen_tenants(database: Database, config: Config, tenant: str | None) -> dict[str, TenantId]:
    """The tenants that have a tree here; a named tenant is included without a tree."""
    if tenant or config.tenants:
        chosen = dict([await find_tenant(database, config, tenant)])
    else:
        chosen = await tenant_rows.load_tenants(database)
    if not tenant:
        for name in [name for name in chosen if not (config.mirror / name).is_dir()]:
            click.echo(f"{name}: no tree below {config.mirror}", err=True)
            del chosen[name]
    return chosen


async def _compare_tenant(database: Database, config: Config, name: str, tenant: TenantId) -> list[Finding]:
    tree = Tree(config.mirror / name, config.attachments)
    try:
        return await compare(database, tenant, tree)
    finally:
        tree.close()


def _differing(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.verdict is not Verdict.OK]


async def _is_suspended(database: Database, chosen: Mapping[str, TenantId]) -> bool:
    """Whether a whole tenant is suspended: the daemon compares nothing then, and the list of problems says why."""
    for tenant in chosen.values():
        async with database.transaction(tenant) as connection:
            if any(problem.code == SUSPENDED_CODE for problem in await open_issues.load_problems(connection, tenant)):
                return True
    return False


def _ask_daemon(config: Config, timeout: float) -> None:
    """Ask the daemon for a comparison; paths it does not reach in time are explained like the others."""
    try:
        request_compare(config.mirror, timeout)
    except TimeoutError:
        click.echo(
            f"After {timeout:g} s the daemon has not compared everything yet; this is the current state.", err=True
        )


async def _explain_tenant(
    database: Database, config: Config, name: str, tenant: TenantId, before: Mapping[str, Verdict]
) -> CheckResult:
    findings = await _compare_tenant(database, config, name, tenant)
    async with database.transaction(tenant) as connection:
        problems = await open_issues.load_problems(connection, tenant)
        halts = await open_issues.load_halts(connection, tenant)
    return CheckResult(
        findings, before, {finding.path: explain_finding(finding, problems, halts) for finding in _differing(findings)}
    )


async def _load_listed_causes(database: Database, tenant: TenantId, findings: Sequence[Finding]) -> dict[str, str]:
    """What the list of problems says of each path that differs."""
    async with database.transaction(tenant) as connection:
        problems = await open_issues.load_problems(connection, tenant)
    reasons = {finding.path: _sentences_of(finding.path, problems) for finding in _differing(findings)}
    return {path: reason for path, reason in reasons.items() if reason}


def _sentences_of(path: str, problems: Sequence[Problem]) -> str:
    return " ".join(problem.sentence for problem in problems if problem.path == path)


def explain_finding(finding: Finding, problems: Sequence[Problem], halts: Sequence[Halt]) -> str:
    """The obstacle and the cure of a path that still differs after a full comparison."""
    if reason := _sentences_of(finding.path, problems) or _sentences_of("", problems):
        return reason
    if halts and finding.verdict in (Verdict.MISSING, Verdict.EXTRA):
        return "Deletions wait for a decision: `mirrord halts` says which, and how to decide."
    return f"{_CAUSES[finding.verdict]} If it persists, see `mirrord status` and the daemon's log."


def _print_findings(results: Mapping[str, CheckResult], *, everything: bool) -> None:
    for name, checked in results.items():
        for path, verdict in checked.repaired.items():
            click.echo(f"mended   {name}/{path} (was {verdict})")
        for finding in checked.findings if everything else checked.differing:
            click.echo(f"{finding.verdict:8} {name}/{finding.path}")
            if (reason := checked.causes.get(finding.path)) is not None:
                click.echo(f"         {reason}")
    for name, checked in results.items():
        total = len(checked.findings)
        click.echo(f"{name}: {total - len(checked.differing)} of {total} equal", err=True)


def _print_json(results: Mapping[str, CheckResult], *, everything: bool) -> None:
    """{tenant: [{path, verdict, why (if it still differs), was (if it was repaired)}]}."""
    facts: dict[str, list[dict[str, str]]] = {}
    for name, checked in results.items():
        facts[name] = [{"path": path, "verdict": "OK", "was": former} for path, former in checked.repaired.items()]
        for finding in checked.findings if everything else checked.differing:
            reason = checked.causes.get(finding.path)
            if finding.path not in checked.repaired:
                facts[name].append(
                    {"path": finding.path, "verdict": finding.verdict} | ({"why": reason} if reason else {})
                )
    click.echo(json.dumps(facts, indent=2))
