"""
A tenant that does not stop: saves spread over its pages at a rate, until it is ended.

    python -m tests.bench.noise DIRECTORY RATE      prints "saving", and at the end the number of its saves
"""

import itertools
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.editors import save


class Noise:
    """What a noisy neighbour did; known when it has ended. rate: saves a second that it came to."""

    rate = 0.0


@contextmanager
def noise(directory: Path, rate: float) -> Iterator[Noise]:
    """A neighbour for the length of a `with`."""
    background, command = Noise(), [sys.executable, "-m", "tests.bench.noise", str(directory), str(rate)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline(), "the noisy neighbour ended before it saved"
        began = time.monotonic()
        try:
            yield background
        finally:
            process.terminate()
            background.rate = int(process.stdout.readline() or 0) / (time.monotonic() - began)


def main(directory: str, rate: str) -> None:
    """Save until SIGTERM."""
    files, ended = sorted(Path(directory).rglob("*.md")), []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    print("saving", flush=True)
    began, saves = time.monotonic(), 0
    for file in itertools.cycle(files):
        if ended:
            break
        save(file, f"{texts[file]}\nnoise {saves}\n")
        saves += 1
        time.sleep(max(0.0, began + saves / float(rate) - time.monotonic()))
    print(saves, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
