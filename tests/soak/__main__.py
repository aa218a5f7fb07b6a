"""`python -m tests.soak`: two daemons, people, apps and an agent for an hour; then everything is compared."""

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from mirrord.mirror.process_setup import prepare_process
from tests.faults.world import Cluster
from tests.soak.flat import RULE
from tests.soak.hours import Rates, live


def main() -> int:
    """The exit code: 0 only if nothing was lost, both sides are equal, and nothing grew."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended then too
    prepare_process()  # trees are read here too, at the end
    options = _arguments()
    seed = options.seed if options.seed is not None else random.randrange(1 << 20)
    directory = Path(tempfile.mkdtemp(prefix="mirrord-soak-"))
    rates = Rates(options.files, options.rows, options.calls, options.pages)
    print(f"SECONDS={options.seconds:g} SEED={seed} {rates}; kept if it fails: {directory}", flush=True)
    print(RULE, flush=True)
    began = time.monotonic()
    with Cluster(directory / "postgres", brief=False) as cluster:
        sentences = live(cluster, directory / "world", options.seconds, rates, seed)
    print(*sentences, sep="\n")
    print(f"{'FAILED' if sentences else 'HOLDS'} after {time.monotonic() - began:.0f} s", flush=True)
    if not sentences:
        shutil.rmtree(directory)
    return 1 if sentences else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0, help="how long edits are made; an hour")
    parser.add_argument("--files", type=float, default=5.0, help="acts a second on files; 5")
    parser.add_argument("--rows", type=float, default=5.0, help="acts a second on rows; 5")
    parser.add_argument("--calls", type=float, default=1.0, help="writes a second of an agent, at most 3; 1")
    parser.add_argument("--pages", type=int, default=300, help="how many there are about; few pages meet often; 300")
    parser.add_argument("--seed", type=int, help="of who does what; the machine's timing is its own")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
