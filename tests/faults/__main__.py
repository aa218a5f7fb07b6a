"""`python -m tests.faults`: the campaigns, for so many seconds; the exit code is 1 if anything does not hold."""

import argparse
import logging
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.campaigns import CAMPAIGNS, ERRORS, Outcome, Run, sentences_of, shrink_machine
from tests.faults.world import Cluster

SECONDS = 60.0  # for all campaigns together


def main() -> int:
    """The exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended then too
    logging.disable()  # what engines in this process log is no news: they are hurt on purpose
    options = _arguments()
    seed = options.seed if options.seed is not None else random.randrange(1 << 20)
    names = [options.campaign] if options.campaign else list(CAMPAIGNS)
    alone = (
        options.seed is not None
        and options.seconds is None
        and options.campaign in ("machine", "binding", "planner", "race", "processes")
    )
    options.seconds = options.seconds or SECONDS
    directory = Path(tempfile.mkdtemp(prefix="mirrord-faults-"))
    print(f"SEED={seed}; what fails is kept in {directory}", flush=True)
    outcomes = {name: _attempt(name, directory, seed, options, alone=alone) for name in names}
    print(_summary(outcomes))
    return 1 if any(outcome.failures for outcome, _ in outcomes.values()) else 0


def _attempt(
    name: str, directory: Path, seed: int, options: argparse.Namespace, *, alone: bool
) -> tuple[Outcome, float]:
    """Play a campaign; one that an error ends is a failure, and the others are played."""
    try:
        return _play(name, directory, seed, options, alone=alone)
    except ERRORS as error:
        outcome = Outcome()
        outcome.take(f"CAMPAIGN={name} SEED={seed}", sentences_of(error))
        return outcome, 0.0


def _play(name: str, directory: Path, seed: int, options: argparse.Namespace, *, alone: bool) -> tuple[Outcome, float]:
    share, campaign = CAMPAIGNS[name]
    began = time.monotonic()
    with Cluster(directory / f"postgres-{name}") as cluster:
        seconds = options.seconds if options.campaign else options.seconds * share
        run = Run(cluster, directory / name, seed, time.monotonic() + seconds, alone, options.scenario, options.point)
        outcome = (shrink_machine if options.shrink and name == "machine" else campaign)(run)
    return outcome, time.monotonic() - began


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Play faults and look for losses.")
    parser.add_argument("--seconds", type=float, help=f"for all campaigns together; {SECONDS:.0f}")
    parser.add_argument("--seed", type=int, help="the first seed; with a campaign and no seconds: only this history")
    parser.add_argument("--campaign", choices=CAMPAIGNS, help="only this one")
    parser.add_argument("--scenario", help="only this one (syscalls, cuts)")
    parser.add_argument("--point", help="only this one of its points, as a failure spells it")
    parser.add_argument("--shrink", action="store_true", help="find the fewest steps of a history that fail")
    return parser.parse_args()


def _summary(outcomes: dict[str, tuple[Outcome, float]]) -> str:
    lines = ["", f"{'campaign':<10} {'played':>12} {'failed':>7} {'seconds':>8}"]
    for name, (outcome, seconds) in outcomes.items():
        played = f"{outcome.played}" + (f"/{outcome.of}" if outcome.of else "")
        lines.append(f"{name:<10} {played:>12} {len(outcome.failures):>7} {seconds:>8.0f}")
        lines += [f"    {note}" for note in outcome.notes]
        lines += [f"    played twice {replay}: {why[:150]}" for replay, why in outcome.repeated]
        lines += [f"    FAILED {replay}: {violations[0][:150]}" for replay, violations in outcome.failures]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
