"""
`python -m tests.bench.codec`: whether the codec keeps its laws on two real vaults and the specifications.

The exit code is 1 when one is broken, 2 where the corpora are missing.
"""

import argparse
import json
import os
import platform
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.table import Table

from mirrord.mirror.process_setup import prepare_process
from tests import corpora
from tests.bench import figures
from tests.bench.codec import (
    anew,
    bodies,
    editors,
    foreign,
    hostile,
    keys,
    saves,
    speed,
    structure,
    trials,
    untouched,
    words,
)
from tests.bench.codec.report import Report

SHOWN = 20  # broken laws of one section that are shown without --verbose

# Markdown → model → Markdown, every block written anew: same HTML of CommonMark's 652 and GFM's 673 examples, same
# bytes; percent
ANCHORS: Sequence[tuple[str, float, float, float]] = (
    ("prosemirror-markdown 1.13", 76.5, 75.9, 18),
    ("@tiptap/markdown", 71.8, 71.2, 16),
    ("tiptap-markdown 0.9", 69.0, 68.9, 13),
    ("remark (not ProseMirror)", 99.1, 97.5, 30),
    ("mdformat (not ProseMirror)", 98.8, 98.8, 33),
    ("a prototype of this design", 96.0, 96.1, 24),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    options = _options(arguments)
    prepare_process()  # as daemon and workers do
    console = Console(width=140)
    if not corpora.CORPORA.exists():
        print(corpora.MISSING, file=sys.stderr)
        return 2
    total_report = Report()
    with ProcessPoolExecutor(options.processes) as workers:
        for name, measure in _sections(options, workers).items():
            if options.only and name not in options.only:
                continue
            Console(stderr=True).print(f"measuring {name} …", style="dim")
            report = measure()
            _show(console, report, verbose=options.verbose)
            total_report.add(report)
    console.print(_beside_anchors(total_report))
    console.print(figures.shown([("codec", total_report.figures)]))
    if options.json:
        options.json.write_text(
            json.dumps(_result(total_report, options), indent=2, ensure_ascii=False) + "\n", "utf-8"
        )
    return 1 if total_report.broken else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-codec", description=__doc__)
    parser.add_argument(
        "--only",
        action="append",
        help="a section: untouched, anew, words, foreign, structure, bodies, edits, editors, frontmatter, saves, speed",
    )
    parser.add_argument("--trials", type=int, default=20_000, help="random edits")
    parser.add_argument("--seed", type=int, help="of the first edit; the next one has the next number")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    parser.add_argument("--verbose", action="store_true", help="every failure, and what was refused")
    options = parser.parse_args(arguments)
    if options.seed is None:
        options.seed = random.randrange(10**9)
    return options


def _sections(options: argparse.Namespace, workers: ProcessPoolExecutor) -> Mapping[str, Callable[[], Report]]:
    return {
        "untouched": lambda: untouched.measure(workers),
        "anew": lambda: _together(anew.measure_examples(), anew.measure_pages(workers)),
        "words": lambda: words.measure(workers, options.seed),
        "foreign": lambda: foreign.measure(workers, options.seed),
        "structure": lambda: structure.measure(workers, options.seed),
        "bodies": lambda: bodies.measure(workers, options.seed),
        "edits": lambda: trials.measure(workers, options.trials, options.seed),
        "editors": editors.measure,
        "frontmatter": lambda: _together(keys.measure(workers), hostile.measure()),
        "saves": lambda: saves.measure(workers, options.seed),
        "speed": speed.measure,
    }


def _together(*reports: Report) -> Report:
    total_report = Report()
    for report in reports:
        total_report.add(report)
    return total_report


def _show(console: Console, report: Report, *, verbose: bool) -> None:
    shown_lines = report.broken + report.notes if verbose else report.broken[:SHOWN]
    for line in shown_lines:
        console.print(f"! {line}", markup=False, highlight=False, soft_wrap=True)
    if (hidden := len(report.broken) - len(shown_lines)) > 0:
        console.print(f"! and {hidden} more (--verbose)", markup=False)


def _beside_anchors(total_report: Report) -> Table:
    table = Table(title="every block written anew", box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for column in ("CommonMark 652", "GFM 673", "same bytes"):
        table.add_column(column, justify="right")
    for name, *values in ANCHORS:
        table.add_row(name, *(f"{value:g} %" for value in values))
    value_by_name = {figure.name: f"{figure.value:.1f} %" for figure in total_report.figures}
    names = ("CommonMark, anew: same HTML", "GFM, anew: same HTML", "CommonMark, anew: same bytes")
    table.add_row("mirrord", *(value_by_name.get(name, "not measured") for name in names), style="bold")
    return table


def _result(total_report: Report, options: argparse.Namespace) -> dict[str, object]:
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}
    return {
        "machine": machine,
        "seed": options.seed,
        "anchors": [dict(zip(("name", "commonmark", "gfm", "bytes"), each, strict=True)) for each in ANCHORS],
        "figures": figures.as_json(total_report.figures),
        "broken": total_report.broken,
    }


if __name__ == "__main__":
    sys.exit(main())
