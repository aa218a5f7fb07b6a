"""Packages from npm that tests hold mirrord against, installed as a lock file beside them says."""

import fcntl
import json
import shutil
import subprocess
from pathlib import Path

import pytest

INSTALLATION = 90  # seconds: less than a test may take
OUR_FAULT = ("EUSAGE", "EINTEGRITY", "EJSONPARSE")  # npm's word for a lock file that does not fit

_COMMAND = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"]


def available() -> None:
    """Skips the test where there is no Node."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("Node with npm is needed for this test")


def installed(source: Path, *options: str) -> Path:
    """
    *source* with `node_modules` in it, kept for the next run; skips where there is no Node or no registry.

    options: further ones for `npm ci`.
    """
    available()
    with (source / "package.json").open("rb") as guard:  # tests run side by side
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not is_current(source):
            install(source, *options)
    return source


def is_current(directory: Path) -> bool:
    """Whether what is installed is what the lock file says, but for what is optional."""
    lock, got = directory / "package-lock.json", directory / "node_modules" / ".package-lock.json"
    if not got.exists():
        return False
    locked = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    installed = json.loads(got.read_text(encoding="utf-8"))["packages"]
    return all(
        installed.get(name) == package for name, package in locked.items() if name and not package.get("optional")
    )


def install(directory: Path, *options: str) -> None:
    """`npm ci` in *directory*; skips the test where the registry is out of reach."""
    command = [*_COMMAND, *options]
    try:
        completed = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, timeout=INSTALLATION, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{directory.name}: npm did not finish within {INSTALLATION} s")
    if completed.returncode:
        reason = [line for line in completed.stderr.splitlines() if line.startswith("npm error")]
        assert not any(code in completed.stderr for code in OUR_FAULT), completed.stderr
        pytest.skip(f"{directory.name}: npm failed, is the registry out of reach? {reason[:1]}")
