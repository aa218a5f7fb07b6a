"""The browser that looks at the console: Debian's, driven by Playwright."""

import os
from pathlib import Path

PROGRAM = Path("/usr/bin/chromium")


def arguments() -> list[str]:
    """What it is started with: root's has no sandbox."""
    return [] if os.geteuid() else ["--no-sandbox"]
