"""The record of what was measured: docs/benchmarks/VERSION.json; a part measured anew replaces what it was."""

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.bench import figures
from tests.bench.figures import Figure

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Measured:
    """
    One part.

    stolen: the host's share, as tests.bench.pace counts it. load: processes that wanted a core before it began.
    turning: how quick a core was then, as pace has it. failure: why there are no figures.
    """

    part: str
    figures: Sequence[Figure]
    seconds: float
    stolen: float
    load: float
    turning: float
    failure: str | None = None


def place() -> Path:
    """Where the record of this version is."""
    return ROOT / "docs" / "benchmarks" / f"{version('mirrord')}.json"


def add(file: Path, measured: Measured, order: Sequence[str]) -> None:
    """Put one part into a record, which is made if there is none. order: of all parts there are."""
    earlier = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    parts = {**earlier.get("parts", {}), measured.part: _as_json(measured)}
    ordered_parts = {name: parts[name] for name in order if name in parts}
    record = {"version": version("mirrord"), "parts": ordered_parts}
    file.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _as_json(measured: Measured) -> dict[str, Any]:
    return {
        "commit": _commit(),
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(measured.seconds, 1),
        "stolen": round(measured.stolen, 3),
        "load": round(measured.load, 1),
        "turning": round(measured.turning, 3),
        "failure": measured.failure,
        "figures": figures.as_json(measured.figures),
    }


def _commit() -> str:
    """What was measured; with a `+` where the product differs from it."""
    completed = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    same = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "mirrord"], cwd=ROOT, capture_output=True)
    return (completed.stdout.strip() or "unknown") + ("+" if same.returncode else "")
