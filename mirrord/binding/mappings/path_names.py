"""Paths in a column of an app: the name in each, and why one cannot be a place. Pure."""

MAX_PATH_BYTES = 1_000  # of a path, in UTF-8
MAX_STEPS = 50  # folders inside each other

_NO_LETTERS = " .-"  # a name of these alone would be none


def name_in(path: str) -> str:
    """The last name in *path*."""
    return path.rpartition("/")[2]


def trouble_with(path: str) -> str | None:
    """Why a page cannot be at *path*, as the end of a sentence; None: it can."""
    if not path:
        return "it has no path"
    if len(path.encode(errors="replace")) > MAX_PATH_BYTES:
        return f"its path has more than {MAX_PATH_BYTES:,} bytes"
    if path.startswith("/") or path.endswith("/"):
        return "its path begins or ends with a slash"
    steps = path.split("/")
    if len(steps) > MAX_STEPS:
        return f"its path has more than {MAX_STEPS} steps"
    if not all(step.strip(_NO_LETTERS) for step in steps):
        return "its path has a step that is no name, such as `..`"
    return None
