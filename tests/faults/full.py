"""
The full campaign, played in as many sittings as it takes: `make full-fault`, see docs/reliability.md.

It is cut into lots. What became of a lot is a line of the ledger, `docs/reliability.jsonl`; lots that are in there
without a failure are not played again. The table in docs/reliability.md is made of it.
"""

import argparse
import json
import logging
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from tests.faults import cuts, machine
from tests.faults.campaigns import Outcome, Run, play_cuts, play_machine, play_mutants, play_planner, play_syscalls
from tests.faults.scenarios import SCENARIOS
from tests.faults.world import Cluster

ROOT = Path(__file__).parents[2]
LEDGER = ROOT / "docs" / "reliability.jsonl"
PAGE = ROOT / "docs" / "reliability.md"
HISTORIES, A_LOT_OF_HISTORIES = 1_000, 10  # on real files
LIVES, A_LOT_OF_LIVES = 100_000, 10_000  # of the planner, in memory
CAMPAIGNS = {
    "mutants": play_mutants,
    "planner": play_planner,
    "syscalls": play_syscalls,
    "cuts": play_cuts,
    "machine": play_machine,
}


@dataclass(frozen=True, slots=True)
class Lot:
    """So much of one campaign. what: the scenario, or the first seed and how many."""

    campaign: str
    subject: str = ""

    def played(self, cluster: Cluster, directory: Path) -> Outcome:
        """Play all of it."""
        run = Run(cluster, directory, seed=0, until=float("inf"))
        if self.campaign in ("machine", "planner"):
            outcome = Outcome()
            for seed in self.seeds():
                alone = replace(run, seed=seed, alone=True)
                outcome.add(CAMPAIGNS[self.campaign](alone))
            return outcome
        return CAMPAIGNS[self.campaign](replace(run, only=self.subject or None))

    def seeds(self) -> range:
        """Of the histories."""
        first, _, count = self.subject.partition("+")
        return range(int(first), int(first) + int(count))


@dataclass(frozen=True, slots=True)
class Line:
    """
    What became of a lot. failed: how to replay what did not hold. commit: the code that was played.

    repeated: how to replay what was played twice, because a daemon was not ready in time the first time.
    """

    campaign: str
    subject: str
    played: int
    failed: list[str]
    seconds: int
    commit: str
    date: str
    repeated: list[str] = field(default_factory=list)

    @property
    def lot(self) -> Lot:
        """What it is about."""
        return Lot(self.campaign, self.subject)

    def append(self, file: Path) -> None:
        """Put it into a ledger."""
        with file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(asdict(self), ensure_ascii=False) + "\n")


def lots() -> Iterator[Lot]:
    """All there are."""
    yield Lot("mutants")
    yield from (Lot("planner", f"{first}+{A_LOT_OF_LIVES}") for first in range(0, LIVES, A_LOT_OF_LIVES))
    yield from (Lot("syscalls", scenario.name) for scenario in SCENARIOS)
    yield from (Lot("cuts", scenario.name) for scenario in cuts.scenarios())
    yield from (Lot("machine", f"{first}+{A_LOT_OF_HISTORIES}") for first in range(0, HISTORIES, A_LOT_OF_HISTORIES))


def ledger(file: Path = LEDGER) -> dict[Lot, Line]:
    """The last line of every lot that was played."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {line.lot: line for line in (Line(**json.loads(text)) for text in lines)}


def table(lines: dict[Lot, Line]) -> str:
    """For docs/reliability.md."""
    heads = ("campaign", "lots", "played", "failed", "played twice", "hours", "days", "commits")
    rows = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for campaign in CAMPAIGNS:
        chosen_lots = [lot for lot in lots() if lot.campaign == campaign]
        finished = [lines[lot] for lot in chosen_lots if lot in lines]
        days = sorted({line.date for line in finished})
        commits = sorted({line.commit for line in finished})
        rows.append(
            f"| `{campaign}` | {len(finished)} of {len(chosen_lots)} | {sum(line.played for line in finished):,} "
            f"| {sum(len(line.failed) for line in finished)} | {sum(len(line.repeated) for line in finished)} "
            f"| {sum(line.seconds for line in finished) / 3600:.1f} "
            f"| {' to '.join(dict.fromkeys((days[0], days[-1]))) if days else '–'} | {', '.join(commits) or '–'} |"
        )
    return "\n".join(rows)


def crashes(lines: dict[Lot, Line]) -> int:
    """How often Postgres was crashed in the histories that were played."""
    seeds = [seed for lot in lines if lot.campaign == "machine" for seed in lot.seeds()]
    return sum(step.name == "crash Postgres" for seed in seeds for step in machine.history(seed).steps)


def main() -> int:
    """Play what is left for so many seconds; the exit code is 1 if anything failed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    logging.disable()
    parser = argparse.ArgumentParser(prog="python -m tests.faults.full", description="Go on with the full campaign.")
    parser.add_argument("--seconds", type=float, default=3600.0, help="after which no lot is begun; 3600")
    parser.add_argument("--campaign", choices=CAMPAIGNS, help="only this one")
    parser.add_argument("--part", default="1/1", help="every third lot, from the second: 2/3; for sittings at once")
    parser.add_argument("--table", action="store_true", help="play nothing; print what was played so far")
    options = parser.parse_args()
    if options.table:
        print(f"{table(ledger())}\n\nPostgres was crashed {crashes(ledger())} times in these histories.")
        return 0
    part, _, parts = options.part.partition("/")
    mine = [lot for lot in lots() if options.campaign in (None, lot.campaign)][int(part) - 1 :: int(parts)]
    return 1 if _sit(time.monotonic() + options.seconds, mine) else 0


def _sit(until: float, mine: Sequence[Lot]) -> bool:
    """Whether anything failed."""
    finished, failed = ledger(), False
    directory = Path(tempfile.mkdtemp(prefix="mirrord-full-"))
    print(f"What fails is kept in {directory}", flush=True)
    with Cluster(directory / "postgres") as cluster:
        for number, lot in enumerate(mine):
            if lot in finished and not finished[lot].failed:
                continue
            if time.monotonic() > until:
                break
            line = _line(lot, cluster, directory / f"lot-{number}")
            line.append(LEDGER)
            failed = failed or bool(line.failed)
            print(f"{line.campaign} {line.subject}: {line.played} played, {len(line.failed)} failed", flush=True)
    return failed


def _line(lot: Lot, cluster: Cluster, directory: Path) -> Line:
    began = time.monotonic()
    directory.mkdir()
    outcome = lot.played(cluster, directory)
    failed = [f"{replay}: {violations[0][:200]}" for replay, violations in outcome.failures]
    repeated = [f"{replay}: {why[:200]}" for replay, why in outcome.repeated]
    seconds = round(time.monotonic() - began)
    today = datetime.now(UTC).date().isoformat()
    return Line(lot.campaign, lot.subject, outcome.played, failed, seconds, _commit(), today, repeated)


def _commit() -> str:
    """What is played; with a `+` where the product differs from it."""
    named = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    same = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "mirrord"], cwd=ROOT, check=False)
    return named.stdout.strip() + ("+" if same.returncode else "")


if __name__ == "__main__":
    sys.exit(main())
