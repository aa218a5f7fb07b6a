"""The ways in which editors and tools put new bytes under an old name; each leaves a moment for somebody to meddle."""

import mmap
import os
from collections.abc import Callable
from pathlib import Path

Save = Callable[[Path, bytes], None]


def by_rename(path: Path, data: bytes) -> None:
    """Obsidian, `sed -i`, most tools: a new file, renamed over the old one."""
    fresh = path.with_name(f".{path.name}.saving")
    fresh.write_bytes(data)
    fresh.replace(path)


def in_place(path: Path, data: bytes) -> None:
    """VS Code, nano: truncate, then write."""
    path.write_bytes(data)


def in_two_pieces(path: Path, data: bytes) -> None:
    """A slow writer: the file is open, and half of it is there, for a while."""
    with path.open("wb", buffering=0) as file:
        file.write(data[: len(data) // 2])
        os.sched_yield()
        file.write(data[len(data) // 2 :])


def by_backup(path: Path, data: bytes) -> None:
    """vim: the old file gets out of the way, a new one takes the name, the old one goes."""
    backup = path.with_name(path.name + "~")
    path.rename(backup)
    path.write_bytes(data)
    backup.unlink()


def by_two_renames(path: Path, data: bytes) -> None:
    """JetBrains' safe write: new beside it, old away, new into place."""
    fresh, old = (path.with_name(f"{path.name}___jb_{kind}___") for kind in ("tmp", "old"))
    fresh.write_bytes(data)
    path.rename(old)
    fresh.rename(path)
    old.unlink()


def over_the_bytes(path: Path, data: bytes) -> None:
    """`rsync --inplace`: the same file, written over from its first byte, cut at the end."""
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()


def by_link(path: Path, data: bytes) -> None:
    """Emacs with `backup-by-copying-when-linked`: the old file has two names until the new one is in place."""
    fresh, backup = path.with_name(f".{path.name}.saving"), path.with_name(path.name + "~")
    os.link(path, backup)
    fresh.write_bytes(data)
    fresh.replace(path)
    backup.unlink()


def through_memory(path: Path, data: bytes) -> None:
    """Databases, some IDEs: the file is mapped, and changes without a call of write."""
    with path.open("r+b") as file:
        file.truncate(len(data))
        with mmap.mmap(file.fileno(), len(data)) as mapped:
            mapped[:] = data
            mapped.flush()


SAVES: tuple[Save, ...] = (
    by_rename,
    in_place,
    in_two_pieces,
    by_backup,
    by_two_renames,
    over_the_bytes,
    by_link,
    through_memory,
)
