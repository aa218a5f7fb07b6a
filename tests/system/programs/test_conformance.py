"""The protocol's own conformance suite finds nothing to object to in our server, in both eras."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import node

SOURCE = Path(__file__).parents[2] / "conformance"
SUITE = Path("node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
NEEDED = 22  # the suite's Node; npm has one where the system's is older


def runtime(directory: Path) -> str:
    program = shutil.which("node")
    if program is not None and _major(program) >= NEEDED:
        return program
    packaged = sorted(directory.glob("node_modules/node-linux-*/bin/node"))
    if not packaged:
        pytest.skip(f"Node {NEEDED} or newer is needed for the conformance suite")
    packaged[0].chmod(0o755)
    return str(packaged[0])


def _major(program: str) -> int:
    output = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return int(re.findall(r"\d+", output)[0])


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """The URL of a server with all that the suite asks for."""
    command = [sys.executable, "-m", "tests.conformance.fixture", str(directory)]
    with subprocess.Popen(command, cwd=SOURCE.parents[1], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            assert url, "the fixture ended before it served"
            yield url
        finally:
            process.terminate()


@pytest.mark.timeout(300)  # with the installation, where that was not done yet
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_conformance_suite_passes(revision: str, tmp_path: Path) -> None:
    directory = node.installed(SOURCE)
    program = runtime(directory)
    with served(tmp_path) as url:
        completed = subprocess.run(
            [program, str(SUITE), "server", "--url", url, "--requirements", revision],
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    assert completed.returncode == 0, completed.stdout[completed.stdout.rfind("=== SUMMARY") :] or completed.stderr
    assert "server-initialize: 3 passed" in completed.stdout or "caching: 8 passed" in completed.stdout
