"""The units for systemd: what it thinks of them, and that mirrord works inside what they allow."""

import ctypes.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from mirrord.cli.host.units import SERVICE, Layout, render_units
from mirrord.mirror.heartbeat import Heartbeat
from tests.support.editors import save
from tests.support.filtered import allowed_calls
from tests.support.harness import Mirrord, eventually

SHIPPED = Path(__file__).parents[2] / "systemd"
STANDARD = Layout(is_system=True)
ODD = Layout(
    True,
    (sys.executable, "-P", "-m", "mirrord.cli"),
    '/srv/a "tree" of $5; 100 %',
    "/home/ada/my data",
    "/srv/$; 5 %",
)
NOBODY = 65534
MOST_EXPOSED = 2.0

systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here")


def test_the_units_in_the_repository_are_those_that_are_installed() -> None:
    assert {file.name: file.read_text(encoding="utf-8") for file in SHIPPED.iterdir()} == render_units(STANDARD)


@systemd
@pytest.mark.parametrize(
    "layout", [STANDARD, ODD, Layout(False), Layout(False, ODD.program, ODD.mirror, ODD.data, ODD.backup)], ids=str
)
def test_systemd_has_nothing_to_say_against_them(layout: Layout, tmp_path: Path) -> None:
    scope = ["--system"] if layout.is_system else ["--user"]
    completed = subprocess.run(
        ["systemd-analyze", "verify", *scope, *map(str, _written(layout, tmp_path))],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (completed.stderr, completed.returncode) == ("", 0)


@systemd
@pytest.mark.parametrize("layout", [STANDARD, ODD], ids=str)
def test_little_is_exposed(layout: Layout, tmp_path: Path) -> None:
    services = [str(file) for file in _written(layout, tmp_path) if file.suffix == ".service"]
    for service in services:
        completed = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", service], capture_output=True, text=True, check=True
        )
        assert float(completed.stdout.strip().splitlines()[-1].split(": ")[1].split()[0]) <= MOST_EXPOSED, (
            completed.stdout
        )


def test_odd_paths_reach_the_unit_as_they_are() -> None:
    text = render_units(ODD)[SERVICE]
    assert 'Environment="MIRROR_DIR=/srv/a \\"tree\\" of $5; 100 %%"\n' in text
    assert 'ReadWritePaths="/home/ada/my data"\n' in text
    assert "ProtectHome=read-only\n" in text


@pytest.fixture
def confined() -> Iterator[Mirrord]:
    """An installation of an ordinary user whose every program runs under the filters of the unit."""
    if ctypes.util.find_library("seccomp") is None:
        pytest.skip("libseccomp is not here")
    with tempfile.TemporaryDirectory(prefix="mirrord-") as place:  # nobody may enter pytest's
        unit = Path(place, SERVICE)
        unit.write_text(render_units(STANDARD)[SERVICE], encoding="utf-8")
        become: tuple[str, ...] = ()
        if os.geteuid() == 0:
            os.chown(place, NOBODY, NOBODY)
            become = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
            # the second is not the unit's: Python itself may be where only root may look
            capabilities = "-all,+lease,+dac_read_search"
            become += (f"--inh-caps={capabilities}", f"--ambient-caps={capabilities}", f"--bounding-set={capabilities}")
        with Mirrord(Path(place)) as mirrord:
            mirrord.command = (*become, sys.executable, "-m", "tests.support.filtered", str(unit), *Mirrord.command)
            yield mirrord


@systemd
def test_a_daemon_with_its_own_postgres_works_under_the_filters(confined: Mirrord) -> None:
    calls = allowed_calls(render_units(STANDARD)[SERVICE])
    assert {"fchown", "syncfs", "flock", "prctl", "kill"} <= calls
    assert calls.isdisjoint({"mount", "bpf", "setuid", "ptrace", "reboot"})
    confined.start()
    confined.wait_ready()
    save(confined.file("Page.md"), "# A page\n\nwith `a document`\n")
    os.chown(confined.file("Page.md"), *[NOBODY if os.geteuid() == 0 else -1] * 2)
    with psycopg.connect(confined.postgres.dsn(), autocommit=True) as administrator:
        administrator.execute("SELECT set_config('mirrord.tenant', id::text, false) FROM mirrord.tenant")
        update = "UPDATE mirrord.page SET markdown = 'from a row' WHERE name = 'Page'"
        eventually(lambda: administrator.execute(update).rowcount, "a row of the page")
        eventually(lambda: confined.text("Page.md") == "from a row", "the row's text in the file")
        query = "SELECT content FROM mirrord.page WHERE name = 'Page' AND content IS NOT NULL"
        eventually(lambda: administrator.execute(query).fetchone(), "a document, which a worker makes")
    heartbeat = eventually(Heartbeat(confined.mirror).read, "what the daemon says")
    assert heartbeat["degraded"] == []  # leases are to be had, too
    assert confined.stop() == 0


def _written(layout: Layout, directory: Path) -> list[Path]:
    for name, text in render_units(layout).items():
        (directory / name).write_text(text, encoding="utf-8")
    return [directory / name for name in render_units(layout)]
