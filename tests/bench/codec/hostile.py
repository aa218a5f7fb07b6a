"""Front matter made to hurt: each is read in a process of its own, with no memory to spare."""

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from mirrord.markdown.frontmatter.page_properties import read_views
from tests.bench.codec.report import NONE, Report
from tests.bench.figures import Figure, Goal

MILLISECONDS, MEGABYTES = 50.0, 50
_PATIENCE = 60.0  # seconds, for a process that would never end

_BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
_MERGES = "a: &a {k: 1}\n" + "".join(
    f"m{n}: &m{n} {{<<: [*{'a' if n == 0 else f'm{n - 1}'}, *a]}}\n" for n in range(99)
)

SOURCES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "aliases that grow to a gigabyte": lambda: _BOMB,
        "merge keys on merge keys": lambda: _MERGES,
        "100,000 lists in each other": lambda: "a: " + "[" * 100_000,
        "30,000 lists in each other": lambda: "a: " + "[" * 30_000 + "]" * 30_000,
        "10,000 mappings in each other": lambda: "a: " + "{a: " * 10_000 + "1" + "}" * 10_000,
        "block lists in each other": lambda: "a:\n  " + "- " * 20_000 + "x",
        "an integer of 60,000 digits": lambda: "a: " + "9" * 60_000,
        "a float without end": lambda: "a: 1e999999999\nb: -.inf\nc: .nan",
        "dates that are none": lambda: "a: 2024-13-45\nb: 2024-02-30 25:61:61\nc: 0000-00-00",
        "sexagesimal": lambda: "a: " + ":".join(["59"] * 10_000),
        "60,000 blanks behind a key": lambda: "a:" + " " * 60_000 + "b",
        "4,500 keys": lambda: "".join(f"key{number}: {number}\n" for number in range(4_500)),
        "the same key 10,000 times": lambda: "a: 1\n" * 10_000,
        "an unclosed quote": lambda: "a: '" + "x\n\n" * 15_000,
        "tags that would run": lambda: "a: !!python/object/apply:os.system ['true']\nb: !!binary eA==",
        "3,500 anchors": lambda: "".join(f"k{number}: &a{number} 1\n" for number in range(3_500)),
        "control characters": lambda: "a: \x01\x02\nb: \ud7ff\ufffe",
        "a megabyte": lambda: "a: " + "x" * 1_000_000,
        "a megabyte of lines": lambda: "a: 1\r" * 200_000,
        "a megabyte of fences that are none": lambda: "--- -\n" * 166_000,
    }
)


def measure() -> Report:
    """Whatever they hold, the page is read or refused at once."""
    report, slowest = Report(), 0.0
    for name in SOURCES:
        run = subprocess.run(
            [sys.executable, "-m", "tests.bench.codec.hostile", name],
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        if run.returncode:
            report.broken.append(f"hostile front matter, {name}: exit code {run.returncode}: {run.stderr[-300:]}")
            continue
        spent = float(run.stdout)
        slowest = max(slowest, spent)
        if spent > MILLISECONDS:
            report.notes.append(f"hostile front matter, {name}: {spent:.0f} ms")
    report.figures = [
        Figure("hostile front matter: slowest", slowest, "ms", Goal(MILLISECONDS)),
        Figure(f"hostile front matter: broken, or over {MEGABYTES} MB", len(report.broken), f"of {len(SOURCES)}", NONE),
    ]
    return report


def _alone(name: str) -> float:
    """Milliseconds of processor time for reading the front matter *name*, within MEGABYTES more than now."""
    source = f"{SOURCES[name]()}\n"
    read_views("a: 1\n")
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEGABYTES * 10**6,) * 2)
    began = time.process_time()
    read_views(source)
    return (time.process_time() - began) * 1000


if __name__ == "__main__":
    print(_alone(sys.argv[1]))
