"""A tree on a disk that several hosts share: one daemon at a time, the next goes on where the last one ended."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg
import pytest

from tests.support.commands import run_command
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually
from tests.support.trees import contents

LEASE_SECONDS = 60.0  # a busy machine's time for a lease to end and a daemon to start
_AS_HOST = 'hostname "$0" && exec "$@"'


class Elsewhere(Mirrord):
    """An installation on a host of another name."""

    def __init__(self, directory: Path, host: str, shared: Path, dsn: str) -> None:
        super().__init__(directory, dsn=dsn)
        self.command = ("unshare", "--uts", "sh", "-c", _AS_HOST, host, *Mirrord.command)
        self.mirror, self.root = shared, shared / self.tenant


@contextmanager
def on_host(directory: Path, host: str, dsn: str) -> Iterator[Elsewhere]:
    with Elsewhere(directory / host, host, directory / "shared", dsn) as mirrord:
        mirrord.directory.mkdir(exist_ok=True)
        yield mirrord


@pytest.fixture
def hosts(fresh_dsn: str, tmp_path: Path) -> Iterator[tuple[Elsewhere, Elsewhere]]:
    tried = subprocess.run(["unshare", "--uts", "hostname", "elsewhere"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip(f"a process cannot get a host name of its own here: {tried.stderr.decode().strip()}")
    with on_host(tmp_path, "first", fresh_dsn) as first, on_host(tmp_path, "second", fresh_dsn) as second:
        yield first, second


def start_when_free(mirrord: Mirrord) -> None:
    """Start a daemon at once, and again once it may have the lease, as a service manager does."""
    mirrord.start()

    def is_ready() -> bool:
        if not mirrord.running and _is_lease_over(mirrord):
            mirrord.start()
        return any(event.get("event") == "ready" for event in mirrord.events())

    eventually(is_ready, f"a daemon of {mirrord.directory.name} that is ready", LEASE_SECONDS)


def test_the_second_host_goes_on_where_a_killed_first_one_ended_and_back(hosts: tuple[Elsewhere, Elsewhere]) -> None:
    first, second = hosts
    assert first.dsn is not None
    save(first.file("Both.md"), "first line\n")
    save(first.file("Deleted.md"), "will be deleted\n")
    first.up()
    eventually(lambda: first.page("Both.md"), "the first row")
    first.flush()
    with psycopg.connect(first.dsn, autocommit=True) as rows:
        for number, (killed, next_one) in enumerate(((first, second), (second, first)), 1):
            killed.kill()
            save(first.file(f"Meanwhile {number}.md"), f"while no daemon ran {number}\n")
            save(first.file("Both.md"), f"first line\nline {number}\n")
            if number == 1:
                first.file("Deleted.md").unlink()
            start_when_free(next_one)
            opened = next_one.wait_event("mirror_opened")
            assert (opened["start"], opened["adopting"]) == ("MOVED", False)
            eventually(
                partial(_has_all, rows, number), f"the rows of what was saved meanwhile, {number}", LEASE_SECONDS
            )
            first.app.execute(
                "UPDATE mirrord.page SET markdown = markdown || 'by an app' WHERE name = %s", [f"Meanwhile {number}"]
            )
            expected = f"while no daemon ran {number}\nby an app".encode()
            file = first.file(f"Meanwhile {number}.md")
            eventually(partial(_is, file, expected), "the app's text", LEASE_SECONDS)
            next_one.flush()
        assert value(rows, "SELECT count(DISTINCT mirror_id) FROM mirrord.mirror_base") == 1
        living = "SELECT array_agg(name ORDER BY name) FROM mirrord.page WHERE deleted_at IS NULL"
        assert value(rows, living) == ["Both", "Meanwhile 1", "Meanwhile 2"]
        assert value(rows, "SELECT markdown FROM mirrord.page WHERE name = 'Both'") == "first line\nline 2\n"
        assert value(rows, "SELECT count(*) FROM mirrord.conflict") == 0
    assert sorted(path.name for path in first.root.glob("*.md")) == ["Both.md", "Meanwhile 1.md", "Meanwhile 2.md"]
    assert first.check() == {}


def _is_lease_over(mirrord: Mirrord) -> bool:
    with psycopg.connect(mirrord.dsn or "") as rows:
        return bool(value(rows, "SELECT bool_and(expires_at < clock_timestamp()) FROM mirrord.mirror"))


def _is(file: Path, content: bytes) -> bool:
    return contents(file) == content


def _text(mirrord: Mirrord) -> str | None:
    page = mirrord.page("Page.md")
    return page.markdown if page is not None else None


def _has_all(rows: "psycopg.Connection[tuple[object, ...]]", number: int) -> bool:
    query = (
        "SELECT count(*) FROM mirrord.page "
        "WHERE deleted_at IS NULL AND (name = %s OR name = 'Both' AND markdown LIKE %s)"
    )
    is_gone = "SELECT NOT EXISTS (SELECT FROM mirrord.page WHERE name = 'Deleted' AND deleted_at IS NULL)"
    return value(rows, query, f"Meanwhile {number}", f"%line {number}%") == 2 and bool(value(rows, is_gone))


def test_a_second_daemon_on_the_tree_of_one_that_runs_writes_nothing(hosts: tuple[Elsewhere, Elsewhere]) -> None:
    first, second = hosts
    save(first.file("Page.md"), "text\n")
    first.up()
    first.flush()
    second.start()
    eventually(lambda: not second.running, "the end of the second daemon")
    assert "is already mirrored by" in second.log_end()
    save(first.file("Page.md"), "another text\n")
    eventually(lambda: _text(first) == "another text\n", "the row of the first daemon")


def test_a_copy_that_is_behind_its_original_waits_for_a_person(
    hosts: tuple[Elsewhere, Elsewhere], tmp_path: Path
) -> None:
    first, second = hosts
    save(first.file("Page.md"), "text\n")
    first.up()
    eventually(lambda: first.page("Page.md"), "the row")
    first.stop()
    shutil.copytree(first.mirror, tmp_path / "copy", symlinks=True)
    first.up()
    save(first.file("Page.md"), "a later text\n")
    eventually(lambda: _text(first) == "a later text\n", "the later row")
    first.flush()
    first.stop()
    second.mirror, second.root = tmp_path / "copy", tmp_path / "copy" / second.tenant
    second.start()
    eventually(lambda: not second.running, "the end of the daemon of the copy")
    assert "whether it was copied or moved cannot be seen" in second.log_end()
    assert contents(second.root / "Page.md") == b"text\n"
    assert run_command("adopt", "--tenant", second.tenant, *second.places).code == 0
    second.up()
    eventually(lambda: contents(second.root / "Page.md") == b"a later text\n", "the newest text in the copy")
