"""How editors and other tools save: the tools themselves where `run` is used, else the calls they make, in order."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

Save = Callable[[Path, str], None]


def save(path: Path, text: str | bytes) -> None:
    """Save as careful editors do: a new file, renamed over the old one. Directories are made as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.saving")
    fresh.write_bytes(text.encode() if isinstance(text, str) else text)
    fresh.replace(path)


def save_in_place(path: Path, text: str) -> None:
    """Save as simple editors do: truncate, then write."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(text)


def vim(*settings: str) -> Save:
    """Vim itself, with its swap file, and a backup made as *settings* say."""

    def save(path: Path, text: str) -> None:
        fresh = path.parents[1] / "typed"
        fresh.write_text(text)
        commands = [part for command in settings for part in ("-c", command)]
        commands += ["-c", "%delete _", "-c", f"call setline(1, readfile('{fresh}'))", "-c", "wq"]
        run("vim", "-Nu", "NONE", "-es", str(path), *commands)

    return save


def sed(path: Path, text: str) -> None:
    """`sed -i` itself: a temporary file beside the old one, renamed over it."""
    script = "\\n".join(text.removesuffix("\n").split("\n"))
    run("sed", "-i", f"1s/.*/{script}/;2,$d", str(path))


def emacs(path: Path, text: str) -> None:
    """A lock that is a dangling link; the first save of a session renames the old file, later ones write in place."""
    lock = path.with_name(f".#{path.name}")
    lock.symlink_to("somebody@somewhere.1234:1700000000")
    path.with_name(f"#{path.name}#").write_text(text[: len(text) // 2])  # what it saves by itself
    backup = path.with_name(f"{path.name}~")
    if not backup.exists():
        path.rename(backup)
    _write(path, text)
    path.with_name(f"#{path.name}#").unlink()
    lock.unlink()


def nano(path: Path, text: str) -> None:
    """A lock file in vim's manner, then truncated and written in pieces."""
    lock = path.with_name(f".{path.name}.swp")
    lock.write_bytes(b"b0nano")
    _write(path, text)
    lock.unlink()


def code(path: Path, text: str) -> None:
    """VS Code, Obsidian, and formatters such as prettier: opened with O_TRUNC, written, closed."""
    _write(path, text)


def code_stepwise(path: Path, text: str) -> None:
    """VS Code where the file has other owners: truncated in one step, written in another."""
    os.truncate(path, 0)
    with path.open("r+b") as file:
        file.write(text.encode())


def jetbrains(path: Path, text: str) -> None:
    """Safe write: a new file beside it, two renames, the old one deleted."""
    fresh, old = path.with_name(f"{path.name}___jb_tmp___"), path.with_name(f"{path.name}___jb_old___")
    _write(fresh, text)
    path.rename(old)
    fresh.rename(path)
    old.unlink()


def rsync(path: Path, text: str) -> None:
    """rsync: a hidden file with six letters behind its name, renamed over the old one."""
    fresh = path.with_name(f".{path.name}.aB3xYz")
    _write(fresh, text)
    os.utime(fresh, (1_600_000_000, 1_600_000_000))
    fresh.rename(path)


def rsync_inplace(path: Path, text: str) -> None:
    """`rsync --inplace`: overwritten block by block, cut at the end."""
    data = text.encode()
    with path.open("r+b") as file:
        for begin in range(0, len(data), 7):
            file.write(data[begin : begin + 7])
            file.flush()
        file.truncate()
    os.utime(path, (1_600_000_000, 1_600_000_000))


def rsync_delayed(path: Path, text: str) -> None:
    """`rsync --delay-updates`: everything into a hidden directory first, then renamed."""
    waiting = path.with_name(".~tmp~")
    waiting.mkdir(exist_ok=True)
    _write(waiting / path.name, text)
    (waiting / path.name).rename(path)
    waiting.rmdir()


def run(*command: str, directory: Path | None = None) -> None:
    """Run a tool to its end; it must succeed, and read no one's configuration."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "TERM": "dumb"}
    subprocess.run(
        command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60
    )


def _write(path: Path, text: str) -> None:
    """Opened with O_TRUNC, written in two pieces."""
    data = text.encode()
    with path.open("wb") as file:
        file.write(data[: len(data) // 2])
        file.flush()
        file.write(data[len(data) // 2 :])
        file.flush()
        os.fsync(file.fileno())
