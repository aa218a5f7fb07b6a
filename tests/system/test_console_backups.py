"""Operators have backups made in the console, one at a time; nothing that interrupts one costs an earlier one."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from mirrord.operations import backup_worker
from mirrord.web.operators.backup_api import MAX_BACKUPS_A_DAY
from tests.support.browsing import Browser
from tests.support.commands import run_command
from tests.support.consoles import RIVAL, Console, consoles
from tests.support.editors import save
from tests.support.harness import eventually
from tests.support.rows import Connection

SHELL = f'mirrord() {{ "{sys.executable}" -P -m mirrord.cli "$@"; }}\n'
_TEXTS = """
SELECT array_agg(p.markdown ORDER BY p.id) FROM mirrord.page AS p
 WHERE p.tenant_id = (SELECT id FROM mirrord.tenant WHERE name = %s)"""


@pytest.fixture
def console(fresh_dsn: str, tmp_path: Path) -> Iterator[Console]:
    with consoles(tmp_path, fresh_dsn) as served:
        yield served


def directory_of(console: Console) -> Path:
    return console.mirrord.data / "backup"


def ended_run(operator: Browser) -> dict[str, Any]:
    """The backup that was asked for last, once it ended."""

    def over() -> dict[str, Any] | None:
        run: dict[str, Any] = operator.get("backups/run")["run"]
        return run if run["is_over"] else None

    return eventually(over, "the end of the backup")


def make_backup(operator: Browser) -> int:
    """The number of a new backup."""
    operator.send("POST", "backups", status=202)
    run = ended_run(operator)
    assert run["sentence"] is None
    return int(run["number"])


def numbers_of(operator: Browser) -> list[int]:
    return [backup["number"] for backup in operator.get("backups")["backups"]]


def texts_of(dsn: str, tenant: str) -> list[str]:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(_TEXTS.encode(), [tenant]).fetchone()
    assert row is not None
    return list(row[0])


def workers_of(parent: int) -> list[int]:
    """The processes that make backups for the daemon *parent*."""
    workers = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (place / "cmdline").read_bytes().split(b"\0")
            if backup_worker.MODULE.encode() in words and str(parent).encode() in words:
                workers.append(int(place.name))
    return workers


@contextmanager
def stopped_worker(console: Console, operator: Browser, holder: Connection) -> Iterator[int]:
    """The process of a backup that was asked for and stands still; it cannot end, as a lock is in its way."""
    with holder.transaction():
        holder.execute("LOCK TABLE mirrord.page_revision")
        operator.send("POST", "backups", status=202)
        (worker,) = eventually(lambda: workers_of(console.mirrord.pid), "the process of the backup")
        os.kill(worker, signal.SIGSTOP)
        yield worker


def test_a_backup_of_the_console_is_restored_by_the_command_that_is_shown_with_it(
    console: Console, fresh_dsn: str
) -> None:
    operator = console.browser()
    assert operator.get("backups") == {
        "directory": str(directory_of(console)),
        "backups": [],
        "damaged": [],
        "run": None,
    }
    save(console.mirrord.file("notes.txt"), "not synced\n")
    assert make_backup(operator) == 1
    (listed,) = operator.get("backups")["backups"]
    (by_command,) = run_command("backup", "list", str(directory_of(console)), "--tenant", "demo").out.splitlines()
    counts = f"{listed['pages']} pages, {listed['versions']} versions, {listed['files']} files that no row has"
    assert by_command.endswith(counts)
    assert (listed["attachments"], listed["unread"]) == (1, 0)
    stored = sum(file.stat().st_size for file in (directory_of(console) / "objects").rglob("*") if file.is_file())
    assert listed["size"] == stored

    environment = {**os.environ, "MIRRORD_DSN": fresh_dsn}
    command = SHELL + listed["restore"]["beside"]
    subprocess.run(["sh", "-c", command], check=True, env=environment, capture_output=True)
    assert texts_of(fresh_dsn, "demo-of-1") == texts_of(fresh_dsn, "demo")
    assert (console.mirrord.mirror / "demo-of-1" / "notes.txt").read_text() == "not synced\n"
    refused = subprocess.run(
        ["sh", "-c", SHELL + listed["restore"]["lost"]], check=False, env=environment, capture_output=True, text=True
    )
    assert "has pages already" in refused.stderr  # nothing is restored over what is there


def test_who_asked_for_a_backup_is_in_the_events_and_others_wait_for_their_turn(
    console: Console, fresh_dsn: str, connect: Callable[[str], Connection]
) -> None:
    operator, neighbour = console.browser(name="ada"), console.browser(RIVAL)
    with stopped_worker(console, operator, connect(fresh_dsn)) as worker:
        assert "ada asked for it" in operator.send("POST", "backups", status=409)["sentence"]
        neighbour.send("POST", "backups", status=202)
        assert neighbour.get("backups/run")["run"]["percent"] is None
        (event,) = [event for event in operator.get("status")["events"] if event["type"] == "BackupRequested"]
        assert (event["by"]["name"], event["channel"]) == ("ada", "console")
        assert neighbour.get("backups")["backups"] == []
        os.kill(worker, signal.SIGCONT)
    assert ended_run(operator)["number"] == 1
    assert ended_run(neighbour)["number"] == 1
    assert (numbers_of(operator), numbers_of(neighbour)) == ([1], [1])


def test_a_backup_whose_process_is_killed_costs_no_earlier_one_and_the_next_is_made(
    console: Console, fresh_dsn: str, connect: Callable[[str], Connection]
) -> None:
    operator = console.browser()
    make_backup(operator)
    with stopped_worker(console, operator, connect(fresh_dsn)) as worker:
        os.kill(worker, signal.SIGKILL)
        run = ended_run(operator)
    assert (run["number"], "was interrupted" in run["sentence"]) == (None, True)
    assert numbers_of(operator) == [1]
    assert make_backup(operator) == 2
    assert run_command("backup", "verify", str(directory_of(console))).code == 0


def test_a_backup_ends_with_the_daemon_and_earlier_ones_are_listed_by_the_next(
    console: Console, fresh_dsn: str, connect: Callable[[str], Connection]
) -> None:
    operator = console.browser()
    make_backup(operator)
    port = console.url.rpartition(":")[2]
    with stopped_worker(console, operator, connect(fresh_dsn)) as worker:
        console.mirrord.kill()
        os.kill(worker, signal.SIGCONT)
        eventually(lambda: not Path(f"/proc/{worker}/exe").exists(), "the end of the process of the backup")
    console.mirrord.up("--tenant", RIVAL, "--console", port)
    with stopped_worker(console, operator, connect(fresh_dsn)) as worker:
        console.mirrord.stop()
        assert not Path(f"/proc/{worker}/exe").exists()
    console.mirrord.up("--tenant", RIVAL, "--console", port)

    assert operator.get("backups/run") == {"run": None}
    assert make_backup(operator) == 2
    assert numbers_of(operator) == [2, 1]
    assert run_command("backup", "verify", str(directory_of(console))).code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_disk_is_not_filled_by_backups_of_the_console(console: Console) -> None:
    operator, directory = console.browser(), directory_of(console)
    directory.mkdir(mode=0o700)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4096k", "none", directory], check=False).returncode:
        pytest.skip("mounting is refused here")
    try:
        assert make_backup(operator) == 1
        save(console.mirrord.file("large.txt"), os.urandom(5 << 20))
        operator.send("POST", "backups", status=202)
        full = ended_run(operator)["sentence"]
        console.mirrord.file("large.txt").unlink()
        (directory / "other").write_bytes(bytes(os.statvfs(directory).f_bavail * 4096 - (100 << 10)))
        operator.send("POST", "backups", status=202)
        nearly_full = ended_run(operator)["sentence"]
        leftovers = list((directory / "incoming").iterdir())
        verified = run_command("backup", "verify", str(directory))
    finally:
        subprocess.run(["umount", directory], check=True)
    assert f"The disk of {directory} is full; no new backup was made, earlier backups are complete." in full
    assert f"The disk of {directory} is nearly full" in nearly_full
    assert (verified.out.split(), leftovers) == (["whole", "1", "demo"], [])


def test_a_tenant_has_few_backups_made_within_a_day(console: Console) -> None:
    operator = console.browser()
    for number in range(1, MAX_BACKUPS_A_DAY + 1):
        assert make_backup(operator) == number
    assert "within a day" in operator.send("POST", "backups", status=429)["sentence"]
    assert numbers_of(operator) == [4, 3, 2, 1]
    assert make_backup(console.browser(RIVAL)) == 1


def test_a_tenant_sees_no_backup_of_a_former_tenant_of_its_name(console: Console) -> None:
    operator = console.browser()
    make_backup(operator)
    (manifest,) = (directory_of(console) / "backups" / "demo").iterdir()
    rival = directory_of(console) / "backups" / RIVAL
    rival.mkdir()
    (rival / manifest.name).write_bytes(manifest.read_bytes())
    (rival / f"000002-{'0' * 32}.json").write_text("damaged")

    answer = console.browser(RIVAL).get("backups")
    assert (answer["backups"], answer["damaged"]) == ([], [2])
