"""`python -m tests.bench.agent_tasks [--json FILE]`: what tasks of agents take in calls and bytes, as one table."""

import argparse
import asyncio
import json
import statistics
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from tests.bench.agent_tasks import play
from tests.bench.agent_tasks.play import Outcome
from tests.bench.agent_tasks.synced_play import play_synced, running_vault
from tests.bench.agent_tasks.synced_tasks import SYNCED
from tests.bench.agent_tasks.task import PAGES_AND_CHANGES
from tests.bench.agent_tasks.tasks import TASKS

MEDIAN_CALLS = 4
MEDIAN_BYTES = 6 * 1024

Results = dict[str, tuple[Outcome, Outcome | None]]


def main() -> int:
    """The exit code: 1 if a task was not done, or if a median misses its goal."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.agent_tasks", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the results into this file, too")
    parser.add_argument("--only", help="tasks whose names hold this")
    options = parser.parse_args()
    results, list_bytes = asyncio.run(_play(options.only or ""))
    if not results:
        parser.error(f"no task is named {options.only!r}")
    calls, size = _medians(results)
    console = Console(width=110)
    console.print(_table(results))
    console.print(f"Median: {calls:g} calls (goal: {MEDIAN_CALLS}), {size:g} bytes in (goal: {MEDIAN_BYTES:,}).")
    console.print(f"tools/list of {PAGES_AND_CHANGES}: {list_bytes:,} bytes, once in each conversation.")
    if options.json:
        options.json.write_text(_as_json(results, list_bytes), encoding="utf-8")
    faults = [f"{name}: {fault}" for name, outcomes in results.items() for fault in _faults(outcomes)]
    for fault in faults:
        console.print(f"! {fault}", markup=False)
    return 1 if faults or calls > MEDIAN_CALLS or size > MEDIAN_BYTES else 0


async def _play(part: str) -> tuple[Results, int]:
    program = _file_server()
    results: Results = {}
    for task in TASKS:
        if part in task.name:
            bare = await play.play_bare(task, program) if program and task.bare else None
            results[task.name] = (await play.play(task), bare)
    if tasks := [task for task in SYNCED if part in task.name]:
        with running_vault() as daemon:
            for task in tasks:
                results[task.name] = (await play_synced(task, daemon), None)
    return results, await play.list_bytes()


def _file_server() -> Path | None:
    try:
        return play.file_server()
    except pytest.skip.Exception as reason:
        print(f"Without the column of server-filesystem: {reason}", file=sys.stderr)
        return None


def _medians(results: Results) -> tuple[float, float]:
    ours = [outcome for outcome, _ in results.values()]
    return statistics.median(each.calls for each in ours), statistics.median(each.bytes_in for each in ours)


def _table(results: Results) -> Table:
    table = Table("task", *("calls", "bytes in", "bytes out"), *("files: calls", "bytes in", "bytes out"))
    for name, outcomes in results.items():
        cells = [cell for outcome in outcomes for cell in _cells(outcome)]
        table.add_row(f"! {name}" if _faults(outcomes) else name, *cells)
    return table


def _cells(outcome: Outcome | None) -> list[str]:
    if outcome is None:
        return ["", "", ""]
    return [str(outcome.calls), f"{outcome.bytes_in:,}", f"{outcome.bytes_out:,}"]


def _faults(outcomes: tuple[Outcome, Outcome | None]) -> list[str]:
    return [fault for outcome in outcomes if outcome is not None for fault in outcome.faults]


def _as_json(results: Results, list_bytes: int) -> str:
    calls, size = _medians(results)
    tasks = {
        name: {"mirrord": asdict(ours), "server-filesystem": asdict(bare) if bare else None}
        for name, (ours, bare) in results.items()
    }
    content = {"median_calls": calls, "median_bytes_in": size, "tools_list_bytes": list_bytes, "tasks": tasks}
    return json.dumps(content, indent=2) + "\n"


if __name__ == "__main__":
    sys.exit(main())
