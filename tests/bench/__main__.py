"""`python -m tests.bench [PART …]`: one table, and the same as JSON in docs/benchmarks."""

import argparse
import itertools
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from tests.bench import figures, pace, record
from tests.bench.ground import Ground, ground
from tests.bench.parts import PARTS, Part, minutes
from tests.bench.record import Measured

_console = Console(stderr=True)


def main() -> int:
    """The exit code: 0 unless something could not be measured."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended then too
    options = _asked()
    parts = [part for part in PARTS if part.name in options.parts or not (options.parts or part.on_request)]
    names = ", ".join(part.name for part in parts)
    _console.print(f"{names}: about {minutes(parts) * options.scale:.0f} minutes on two cores", style="dim")
    file = options.json or (record.place() if options.scale == 1 else None)
    measured = _measured(parts, options.scale, file)
    Console(width=140).print(figures.shown((measurement.part, measurement.figures) for measurement in measured))
    worst = [max(getattr(measurement, name) for measurement in measured) for name in ("stolen", "load", "turning")]
    Console(width=140).print(pace.sentence(*worst), style="dim")
    return 1 if any(measurement.failure for measurement in measured) else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description="Measure mirrord, and beside it in the same run loops that do nothing else.",
        epilog="parts:\n" + "\n".join(f"  {part.name:<14}{part.minutes:>4g} min  {part.purpose}" for part in PARTS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="only these; all but restart-200k by default")
    parser.add_argument("--scale", type=float, default=1.0, help="a share of all sizes, to try a part; not recorded")
    parser.add_argument("--json", type=Path, help="record into this file instead of docs/benchmarks")
    options = parser.parse_args()
    if unknown := set(options.parts) - {part.name for part in PARTS}:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; --help lists them")
    if not 0 < options.scale <= 1:
        parser.error("--scale is more than 0 and at most 1")
    return options


def _measured(parts: list[Part], scale: float, file: Path | None) -> list[Measured]:
    """Parts on equally many pages share a ground, unless it has none. file: where each part is recorded at once."""
    measurements = []
    for pages, group in itertools.groupby(parts, key=lambda part: part.pages or part.name):
        size = round(pages * scale) if isinstance(pages, int) else 0
        with (
            tempfile.TemporaryDirectory(prefix="mirrord-bench-", ignore_cleanup_errors=True) as directory,
            ground(Path(directory, "ground"), size, scale) as prepared_ground,
        ):
            for part in group:
                measurements.append(_measure(part, prepared_ground))
                if file is not None:
                    record.add(file, measurements[-1], [part.name for part in PARTS])
    return measurements


def _measure(part: Part, prepared_ground: Ground) -> Measured:
    """If it fails, the others are measured all the same."""
    _console.print(f"measuring {part.name}: {part.purpose} …", style="dim")
    load, turning = os.getloadavg()[0], pace.turning()
    before, began, failure = pace.Times.now(), time.monotonic(), None
    part_figures: list[figures.Figure] = []
    try:
        part_figures = part.act(prepared_ground)
    except Exception as error:  # of any measurement, for any reason
        failure = f"{type(error).__name__}: {error}"
        _console.print(f"! {part.name}: {failure}", markup=False)
    stolen = pace.Times.now().stolen_since(before)
    return Measured(part.name, part_figures, time.monotonic() - began, stolen, load, turning, failure)


if __name__ == "__main__":
    sys.exit(main())
