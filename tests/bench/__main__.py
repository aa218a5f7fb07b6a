"""`python -m tests.bench`: a table of figures, and the same as `bench.json` in the working directory."""

import json
import os
import platform
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from tests.bench import agents, figures, finding, imports, latency, pace
from tests.bench.figures import Figure
from tests.bench.vault import generate
from tests.system.harness import Mirrord

RESULT = Path("bench.json")
SMALL, LARGE = 1_000, 10_000  # files


class Run:
    """What has been measured so far, and what could not be."""

    def __init__(self) -> None:
        self.figures: list[Figure] = []
        self.failures: list[str] = []
        self._console = Console(stderr=True)

    def measure(self, name: str, act: Callable[[], list[Figure]]) -> None:
        """Add what *act* measures; if it fails, the others are measured all the same."""
        self._console.print(f"measuring {name} …", style="dim")
        try:
            self.figures += act()
        except Exception as error:  # of any measurement, for any reason
            self.failures.append(f"{name}: {type(error).__name__}: {error}")
            self._console.print(f"! {self.failures[-1]}", markup=False)


def main() -> int:
    """The exit code: 0 unless something could not be measured."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended then too
    run, before = Run(), pace.Times.now()
    with tempfile.TemporaryDirectory(prefix="mirrord-bench-", ignore_cleanup_errors=True) as directory:
        _measure_small(run, Path(directory, "small"))
        _measure_large(run, Path(directory, "large"))
    stolen = pace.Times.now().stolen_since(before)
    Console(width=120).print(figures.shown(run.figures))
    Console(width=120).print(pace.sentence(stolen), style="dim")
    RESULT.write_text(json.dumps(_result(run, stolen), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if run.failures else 0


def _measure_small(run: Run, directory: Path) -> None:
    with _installed(directory) as mirrord:
        paths = generate(mirrord.root, SMALL)
        run.measure(f"the import of {SMALL} files", lambda: imports.import_tree(mirrord, SMALL))
        run.measure("row (markdown) → file", lambda: latency.texts_to_files(mirrord, paths))
        run.measure("row (document) → file", lambda: latency.documents_to_files(mirrord, paths))
        run.measure("edit → row", lambda: _edits_to_rows(mirrord, paths))


def _edits_to_rows(mirrord: Mirrord, paths: list[str]) -> list[Figure]:
    ours = latency.edits_to_rows(mirrord, paths)
    mirrord.stop()
    return latency.beside_bare_loop(mirrord.directory / "bare", mirrord.postgres.dsn(), ours)


def _measure_large(run: Run, directory: Path) -> None:
    with _installed(directory) as mirrord:
        generate(mirrord.root, LARGE)
        run.measure(f"the import of {LARGE} files", lambda: imports.import_tree(mirrord, LARGE))
        run.measure(f"a restart on {LARGE} files", lambda: imports.restart(mirrord, LARGE))
        run.measure("idle memory", lambda: imports.idle_memory(mirrord, LARGE))
        run.measure(f"finding among {LARGE} files", lambda: finding.measure(mirrord.root))
    run.measure("the server for agents", lambda: agents.figures(directory.with_name("agents"), LARGE))


@contextmanager
def _installed(directory: Path) -> Iterator[Mirrord]:
    """A tenant with an empty tree, and a Postgres that goes on when the daemon stops."""
    with Mirrord(directory) as mirrord:
        directory.mkdir()
        mirrord.postgres.start()
        mirrord.dsn = mirrord.postgres.dsn()
        made = mirrord.run("init", mirrord.tenant)
        assert made.returncode == 0, f"`mirrord init` failed: {made.stderr}"
        yield mirrord


def _result(run: Run, stolen: float) -> dict[str, object]:
    machine = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "stolen": round(stolen, 3),
    }
    return {"machine": machine, "figures": figures.as_json(run.figures), "failures": run.failures}


if __name__ == "__main__":
    sys.exit(main())
