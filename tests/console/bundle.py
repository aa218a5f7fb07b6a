"""The console's editor, built from its sources, once for all tests that need it."""

import fcntl
import subprocess
from pathlib import Path

import mirrord
from mirrord.web.own_files.assets import has_console_script
from tests.support import node
from tests.support.tiptap import SOURCE

BUILT = Path(mirrord.__file__).parent / "web" / "static" / "built" / "editor.js"
BUILDING = 110  # seconds, less than a test may take


def built() -> Path:
    """The editor as `make web` builds it, from the sources as they are; skips the test where there is no Node."""
    node.installed(SOURCE)
    with (SOURCE / "build.js").open("rb") as guard:  # tests run side by side
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not _is_current():
            run("build.js")
    return BUILT


def run(*words: str) -> str:
    """What `node` prints in the editor's directory. Fails the test where it fails."""
    completed = subprocess.run(
        ["node", *words], cwd=SOURCE, capture_output=True, text=True, timeout=BUILDING, check=False
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return completed.stdout


def _is_current() -> bool:
    sources = [*SOURCE.glob("src/**/*.*"), SOURCE / "build.js", SOURCE / "package-lock.json"]
    is_current = BUILT.exists() and BUILT.stat().st_mtime > max(source.stat().st_mtime for source in sources)
    return is_current and has_console_script()
