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
    pairs = ((path, contents(path)) for path in files(root))
    return {path.relative_to(root).as_posix(): content for path, content in pairs if content is not None}


def files(root: Path) -> Iterator[Path]:
    """Every file, in the same way."""
    return (Path(directory, name) for directory, _, names in _walk(root) for name in names)


def directories(root: Path) -> Iterator[Path]:
    """Every directory below *root*, in the same way."""
    return (Path(directory, name) for directory, names, _ in _walk(root) for name in names)


def _walk(root: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """os.walk passes over a directory that has gone; Path.rglob raises."""
    for directory, names, file_names in os.walk(root):
        names[:] = [name for name in names if name != ".mirrord"]
        yield directory, names, file_names
