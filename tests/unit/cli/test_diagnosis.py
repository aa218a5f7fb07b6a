"""What facts about an installation mean: each thing that is wrong is found, alone, and comes with what helps."""

import re
from dataclasses import replace
from typing import Any

import pytest

from mirrord.cli.host.diagnosis import WATCHES_FACTOR, Finding, Verdict, diagnose
from mirrord.cli.host.doctor import exit_code_of
from mirrord.domain.health_facts import (
    DaemonStatus,
    Directory,
    Facts,
    Host,
    KernelCalls,
    Server,
    TenantIsolation,
    TenantStatus,
    WatchLimits,
)

GIB = 1 << 30
DIRECTORY = Directory("/m", None, 7, 0o700, 50 * GIB, 100 * GIB, "ext4")
HOST = Host(
    user=7,
    mirror=DIRECTORY,
    data=DIRECTORY,
    trees=(DIRECTORY,),
    calls=KernelCalls(openat2=True, exchange=True, leases=True),
    watching=WatchLimits(most_watches=1000, most_instances=128, directories=500, latency_seconds=0.01),
)
STANDING = TenantStatus("demo", is_leased=True, problems=0, halts=0, conflicts=0, oldest_seconds=None)
SERVER = Server(
    180004, 0.1, 14, 14, isolation=TenantIsolation((), as_app=True), notification_seconds=0.001, tenants=(STANDING,)
)
WELL = Facts(HOST, DaemonStatus(alive=True), SERVER)


def host(**changes: Any) -> Facts:
    return replace(WELL, host=replace(HOST, **changes))


def mirror(**changes: Any) -> Facts:
    return host(mirror=replace(DIRECTORY, **changes))


def watching(**changes: Any) -> Facts:
    assert HOST.watching is not None
    return host(watching=replace(HOST.watching, **changes))


def server(**changes: Any) -> Facts:
    return replace(WELL, server=replace(SERVER, **changes))


def standing(**changes: Any) -> Facts:
    return server(tenants=(replace(STANDING, **changes),))


def odd(facts: Facts) -> list[Finding]:
    return [finding for finding in diagnose(facts) if finding.verdict is not Verdict.OK]


def test_of_an_installation_that_is_well_nothing_is_to_be_done() -> None:
    findings = diagnose(WELL)
    assert [finding for finding in findings if finding.verdict is not Verdict.OK or finding.remedy] == []
    assert exit_code_of(findings) == 0


@pytest.mark.parametrize(
    ("facts", "check", "words"),
    [
        (mirror(free=GIB // 2), "mirror space", "Only 0.5 GiB"),
        (host(data=replace(DIRECTORY, free=0)), "data space", "Only 0.0 GiB"),
        (mirror(file_system="nfs4"), "mirror file system", "nfs4 does not report"),
        (mirror(mode=0o777), "permissions", "Everybody .* /m"),
        (host(trees=(replace(DIRECTORY, owner=8),)), "permissions", "different users"),
        (host(readable_secrets=("/d/keys/signing.pem",)), "permissions", "private key /d/keys/signing.pem"),
        (watching(directories=1000), "inotify", "1000 directories"),
        (watching(latency_seconds=None), "watch latency", "not reported"),
        (watching(latency_seconds=2.0), "watch latency", "after 2000 ms"),
        (host(can_search=False), "search", "ripgrep"),
        (replace(WELL, daemon=DaemonStatus(alive=False)), "daemon", "No daemon is running"),
        (replace(WELL, daemon=DaemonStatus(alive=True, degraded=("It is sad.",))), "daemon", "It is sad"),
        (server(version=140012), "Postgres", "Version 14"),
        (server(version=190000), "Postgres", "Version 19"),
        (server(skew_seconds=-90.0), "clock", "90 s"),
        (server(schema=13), "schema", "has schema 13, this mirrord needs 14"),
        (server(schema=15), "schema", "has schema 15"),
        (server(missing_roles=("mirrord_app",)), "roles", "no mirrord_app"),
        (server(bypassing_roles=("mirrord_app",)), "roles", "does not hold mirrord_app"),
        (
            server(isolation=TenantIsolation(("One reads the other.",), as_app=True)),
            "tenants apart",
            "One reads the other",
        ),
        (server(unprotected_tables=("page",)), "tenants apart", "not forced on page"),
        (server(notification_seconds=None), "feed latency", "not notified"),
        (server(notification_seconds=1.0), "feed latency", "after 1000 ms"),
        (standing(is_leased=False), "tenant demo", "lease"),
        (standing(oldest_seconds=61.0), "tenant demo", "waiting for 61 s"),
        (standing(halts=2), "tenant demo", "2 halts"),
        (standing(problems=3), "tenant demo", "3 paths"),
    ],
)
def test_what_is_wrong_is_found_alone_and_something_helps(facts: Facts, check: str, words: str) -> None:
    (finding,) = odd(facts)
    assert (finding.check, finding.verdict) == (check, Verdict.WRONG)
    assert re.search(words, finding.sentence)
    assert finding.remedy
    assert exit_code_of(diagnose(facts)) == 1


@pytest.mark.parametrize(
    ("facts", "check"),
    [
        (mirror(file_system="tmpfs"), "mirror file system"),
        (host(user=0), "permissions"),
        (host(calls=KernelCalls(openat2=True, exchange=False, leases=True)), "kernel calls"),
        (host(missing_converters=("pandoc",)), "converters"),
        (server(tenants=()), "tenants"),
        (standing(conflicts=1), "tenant demo"),
        (Facts(HOST, DaemonStatus(alive=True), None), "Postgres"),
    ],
)
def test_what_is_worth_knowing_and_not_wrong_is_a_note(facts: Facts, check: str) -> None:
    (finding,) = odd(facts)
    assert (finding.check, finding.verdict) == (check, Verdict.NOTE)
    assert exit_code_of(diagnose(facts)) == 0


@pytest.mark.parametrize(
    ("facts", "check"),
    [
        (Facts(HOST, DaemonStatus(alive=True), None, "Postgres is out of reach."), "Postgres"),
        (host(trees=(replace(DIRECTORY, error="Read-only file system"),)), "tree"),
    ],
)
def test_what_is_out_of_reach_has_an_exit_code_of_its_own(facts: Facts, check: str) -> None:
    (finding,) = odd(facts)
    assert (finding.check, finding.verdict) == (check, Verdict.UNAVAILABLE)
    assert exit_code_of(diagnose(facts)) == 3


def test_a_mirror_that_cannot_be_written_hinders_no_other_check() -> None:
    facts = Facts(
        replace(HOST, mirror=Directory("/m", "Permission denied"), calls=None, watching=None), WELL.daemon, SERVER
    )
    assert [finding.check for finding in odd(facts)] == ["mirror"]
    assert {"data", "Postgres", "tenants apart"} <= {finding.check for finding in diagnose(facts)}


def test_a_tenant_that_is_mirrored_elsewhere_needs_no_lease_here() -> None:
    assert odd(standing(is_leased=None)) == []


def test_without_a_daemon_nothing_else_is_said_of_what_waits() -> None:
    facts = replace(standing(is_leased=False, oldest_seconds=1e6), daemon=DaemonStatus(alive=False))
    assert [finding.check for finding in odd(facts)] == ["daemon"]


def test_the_remedy_for_too_few_watches_is_enough() -> None:
    (finding,) = odd(watching(directories=100_000))
    assert finding.remedy is not None
    assert int(finding.remedy.split("=")[1].split("`")[0]) > 100_000 * WATCHES_FACTOR
