"""The real TipTap in a Node process: documents go in, and what an editor makes of them comes back."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import cast

import pytest

from mirrord.codec.document import Document
from mirrord.codec.properties import Json

SOURCE = Path(__file__).parents[1] / "tiptap"
FILES = ("package.json", "package-lock.json", ".npmrc", "mirrord.js", "roundtrip.js")
INSTALLATION = 90  # seconds: less than a test may take
OUR_FAULT = ("EUSAGE", "EINTEGRITY", "EJSONPARSE")  # npm's word for a lock file that does not fit

Schema = dict[str, dict[str, dict[str, Json]]]


class TipTap:
    """An editor to which documents are given."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def load(self, content: Document, *, typed: str | None = None) -> Document:
        """What the editor holds after loading *content*, and after somebody typed. Fails where TipTap refuses."""
        return cast(Document, self._asked({"content": content, "typed": typed})["content"])

    def paste(self, content: Document) -> Document:
        """What an empty editor holds after *content* was copied in another and pasted."""
        return cast(Document, self._asked({"content": content, "pasted": True})["content"])

    def schema(self) -> Schema:
        """The default of each attribute of each type, under `nodes` and `marks`."""
        return cast(Schema, self._asked({"schema": True}))

    def _asked(self, request: object) -> dict[str, object]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, object] = json.loads(self._process.stdout.readline())
        assert "error" not in answer, f"{answer['error']}: {json.dumps(request)}"
        return answer


def installed(cache: Path) -> Path:
    """A directory with TipTap in it, ours or *cache*; skips where there is no Node or nowhere to get TipTap from."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("Node with npm is needed to try the real TipTap")
    if _is_current(SOURCE):
        return SOURCE
    for name in FILES:
        shutil.copy(SOURCE / name, cache)
    _install(cache)
    return cache


def _is_current(directory: Path) -> bool:
    """Whether what is installed is what the lock file says."""
    lock, got = directory / "package-lock.json", directory / "node_modules" / ".package-lock.json"
    if not got.exists():
        return False
    wanted = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    del wanted[""]
    return bool(wanted == json.loads(got.read_text(encoding="utf-8"))["packages"])


def _install(directory: Path) -> None:
    command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"]
    try:
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=INSTALLATION, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"TipTap could not be installed within {INSTALLATION} s")
    if done.returncode:
        reason = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
        assert not any(code in done.stderr for code in OUR_FAULT), done.stderr
        pytest.skip(f"TipTap could not be installed, is the registry out of reach? {reason[:1]}")


@contextmanager
def running(directory: Path) -> Iterator[TipTap]:
    """The editor's process, as long as it is asked."""
    command = ["node", "roundtrip.js"]
    with subprocess.Popen(command, cwd=directory, stdin=PIPE, stdout=PIPE, text=True, encoding="utf-8") as process:
        yield TipTap(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=10) == 0
