"""`mirrord doctor` and `mirrord check --fix` on real installations, well and not; one is under a service manager."""

import asyncio
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import click
import psycopg
import pytest

from mirrord.cli.check_command import check
from mirrord.cli.host.diagnosis import Finding, Verdict, diagnose
from mirrord.cli.host.doctor import doctor, exit_code_of, gather_facts
from mirrord.cli.host.setup_commands import migrate
from mirrord.cli.options import EXIT_DIFFERENT, EXIT_UNAVAILABLE
from mirrord.config import Config
from mirrord.mirror.process_setup import prepare_process
from mirrord.telemetry.process_reports import MICROSECONDS_PER_SECOND
from tests.support.catalogue import load_catalogue
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.health import differing, look_everywhere, problem
from tests.support.manager import Manager
from tests.support.readonly import read_only


def test_an_installation_is_looked_after_from_ready_to_stopping(
    fresh_dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare_process()
    with closing(Manager(tmp_path / "notify")) as manager, Mirrord(tmp_path / "here", dsn=fresh_dsn) as mirrord:
        logs = tmp_path / "logs"
        patience = str(MICROSECONDS_PER_SECOND // 2)
        mirrord.surroundings = {"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": patience}
        mirrord.surroundings["LOGS_DIRECTORY"] = str(logs)
        save(mirrord.file("Page.md"), "a page\n")
        mirrord.start()
        _assert_heard_ready(manager)
        look_everywhere(mirrord)
        _assert_well(mirrord, capsys)
        _assert_a_database_that_is_down_is_found(mirrord)
        _assert_a_read_only_mirror_is_found(mirrord)
        _assert_what_was_missed_is_mended(mirrord, capsys)
        _assert_a_pause_is_no_reason_to_wait(mirrord, capsys)
        assert mirrord.stop() == 0
        assert [
            notice
            for notice in manager.heard_until(lambda notice: "STOPPING=1" in notice)[:-1]
            if "WATCHDOG=1" not in notice
        ] == []
        assert '"event": "stopped"' in (logs / "mirrord.log").read_text(encoding="utf-8")
        assert list(mirrord.events())  # and on standard error, for the journal


def _assert_heard_ready(manager: Manager) -> None:
    starting = manager.heard_until(lambda notice: "READY=1" in notice)
    assert [
        notice for notice in starting[:-1] if "WATCHDOG=1" in notice
    ] == []  # nothing is fed before there is something
    assert [notice for notice in starting if notice[0].startswith("EXTEND_TIMEOUT_USEC=")]
    assert "WATCHDOG=1" in starting[-1]
    assert manager.heard()[1] == "WATCHDOG=1"


def _assert_well(mirrord: Mirrord, capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing of the doctor stays."""
    before = _rows(mirrord), sorted(mirrord.mirror.rglob("*"))
    findings, code = _run(doctor, mirrord, capsys)
    verdicts = {finding["check"]: finding["verdict"] for finding in findings}
    assert {"ok", "note"} >= set(verdicts.values()), findings
    assert [verdicts[name] for name in ("tenants apart", "feed latency", "watch latency", "tenant demo")] == ["ok"] * 4
    assert code == 0
    assert (_rows(mirrord), sorted(mirrord.mirror.rglob("*"))) == before


def _assert_a_database_that_is_down_is_found(mirrord: Mirrord) -> None:
    """And everything else looked at."""
    facts = asyncio.run(gather_facts(replace(_config_of(mirrord), dsn="host=127.0.0.1 port=1 connect_timeout=2")))
    (finding,) = [finding for finding in diagnose(facts) if finding.verdict is Verdict.UNAVAILABLE]
    assert finding.check == "Postgres"
    assert "Postgres is out of reach" in finding.sentence
    assert facts.host.watching is not None
    assert facts.daemon.alive


def _assert_a_read_only_mirror_is_found(mirrord: Mirrord) -> None:
    with read_only(mirrord.mirror):
        findings = _odd(_config_of(mirrord))
    assert (findings[0].check, findings[0].verdict) == ("mirror", Verdict.UNAVAILABLE)
    assert "Read-only file system" in findings[0].sentence
    assert exit_code_of(findings) == EXIT_UNAVAILABLE


def _assert_what_was_missed_is_mended(mirrord: Mirrord, capsys: pytest.CaptureFixture[str]) -> None:
    """A row that was written behind all triggers is noticed by nobody until everything is read again."""
    mirrord.file("Not text.md").write_bytes(b"\xff\xfe")
    with psycopg.connect(mirrord.dsn or "", autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        update = "UPDATE mirrord.page SET markdown = 'behind', digest = %s WHERE name = 'Page'"
        assert connection.execute(update, [uuid4().bytes * 2]).rowcount == 1
    (listed,), code = _run(check, mirrord, capsys, "--fix")
    by_path = {item["path"]: item for item in listed}
    assert by_path["Page.md"]["was"] in ("STALE", "DIFFERS")
    assert mirrord.text("Page.md") == "behind"
    assert by_path["Not text.md"]["verdict"] == "EXTRA"
    assert "UTF-8" in by_path["Not text.md"]["why"]
    assert code == EXIT_DIFFERENT

    mirrord.file("Not text.md").unlink()
    assert differing(mirrord) == []


def _assert_a_pause_is_no_reason_to_wait(mirrord: Mirrord, capsys: pytest.CaptureFixture[str]) -> None:
    mirrord.file("PAUSE").touch()
    eventually(lambda: "paused" in str(problem(mirrord, "")), "the pause on the list")
    save(mirrord.file("Waits.md"), "a page\n")
    (listed,), code = _run(check, mirrord, capsys, "--fix")
    (difference,) = listed
    assert (difference["path"], difference["verdict"], code) == ("Waits.md", "EXTRA", EXIT_DIFFERENT)
    assert "paused" in difference["why"]
    mirrord.file("PAUSE").unlink()
    look_everywhere(mirrord)
    assert differing(mirrord) == []


def test_a_hole_between_tenants_is_found(fresh_dsn: str, tmp_path: Path) -> None:
    holes = {
        "ALTER TABLE mirrord.page NO FORCE ROW LEVEL SECURITY": "not forced on page",
        "CREATE POLICY one ON mirrord.page TO mirrord_app USING (true)": "an app one tenant reads another's",
        "CREATE POLICY two ON mirrord.page TO mirrord_daemon USING (true)": "mirrord itself one tenant reads",
    }
    with psycopg.connect(fresh_dsn, autocommit=True) as connection:
        for hole, words in holes.items():
            connection.execute(hole.encode())
            by_check = {finding.check: finding for finding in _odd(Config(tmp_path, tmp_path, fresh_dsn))}
            assert words in by_check["tenants apart"].sentence
            assert "`mirrord migrate --policies`" in str(by_check["tenants apart"].remedy)


def test_holes_between_tenants_are_closed_by_the_advised_command(
    fresh_dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policies = load_catalogue(fresh_dsn)
    with psycopg.connect(fresh_dsn, autocommit=True) as connection:
        for hole in (
            "ALTER TABLE mirrord.page DISABLE ROW LEVEL SECURITY",
            "ALTER TABLE mirrord.record NO FORCE ROW LEVEL SECURITY",
            "CREATE POLICY one ON mirrord.page USING (true)",
            "ALTER POLICY app ON mirrord.page USING (true)",
            "DROP POLICY daemon ON mirrord.page",
        ):
            connection.execute(hole.encode())
    config = Config(tmp_path, tmp_path, fresh_dsn)
    assert "tenants apart" in {finding.check for finding in _odd(config)}
    assert not migrate.main(["--policies", "--dsn", fresh_dsn], standalone_mode=False)
    assert capsys.readouterr().out == "The schema is up to date.\nThe policies are restored.\n"
    assert "tenants apart" not in {finding.check for finding in _odd(config)}
    assert load_catalogue(fresh_dsn) == policies


def test_a_database_without_a_schema_is_not_given_one(empty_dsn: str, tmp_path: Path) -> None:
    by_check = {finding.check: finding for finding in _odd(Config(tmp_path, tmp_path, empty_dsn))}
    assert "has schema 0" in by_check["schema"].sentence
    with psycopg.connect(empty_dsn) as connection:
        assert connection.execute("SELECT to_regnamespace('mirrord')").fetchone() == (None,)


def test_an_embedded_cluster_is_not_made_by_asking(tmp_path: Path) -> None:
    assert [finding.check for finding in _odd(Config(tmp_path, tmp_path / "data"))] == ["daemon"]
    assert not (tmp_path / "data").exists()


def _config_of(mirrord: Mirrord) -> Config:
    return Config(mirrord.mirror, mirrord.data, mirrord.dsn)


def _odd(config: Config) -> list[Finding]:
    """What is worth a word; without notes, which are of the machine, such as whether this is a disk."""
    findings = diagnose(asyncio.run(gather_facts(config)))
    return [finding for finding in findings if finding.verdict in (Verdict.WRONG, Verdict.UNAVAILABLE)]


def _run(
    command: click.Command, mirrord: Mirrord, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[list[Any], int]:
    """What a command prints for programs, without the names of tenants, and its exit code."""
    capsys.readouterr()
    places = ["--mirror", str(mirrord.mirror), "--data", str(mirrord.data), "--dsn", str(mirrord.dsn)]
    code = command.main([*arguments, "--json", *places], standalone_mode=False)
    printed = json.loads(capsys.readouterr().out)
    return list(printed.values()) if isinstance(printed, dict) else printed, int(code)


def _rows(mirrord: Mirrord) -> list[tuple[object, ...]]:
    with psycopg.connect(mirrord.dsn or "") as connection:
        return connection.execute(
            "SELECT t.name, count(p.id) FROM mirrord.tenant AS t LEFT JOIN mirrord.page AS p ON p.tenant_id = t.id "
            "GROUP BY t.name ORDER BY t.name"
        ).fetchall()
