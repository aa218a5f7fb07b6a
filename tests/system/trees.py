"""Files of a tree as a person sees them, read while the daemon moves and deletes them."""

import os
from collections.abc import Iterator
from pathlib import Path


def contents(path: Path) -> bytes | None:
    """What a file holds now; None: there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def tree(root: Path) -> dict[str, bytes]:
    """Every file outside .mirrord, by its path. What goes during the walk may be missing; nothing is raised."""
    found = ((path, contents(path)) for path in _files(root))
    return {path.relative_to(root).as_posix(): held for path, held in found if held is not None}


def _files(root: Path) -> Iterator[Path]:
    """os.walk passes over a directory that has gone; Path.rglob raises."""
    for directory, directories, names in os.walk(root):
        directories[:] = [name for name in directories if name != ".mirrord"]
        yield from (Path(directory, name) for name in names)
