"""What people and tools do to the files of one mirror. An act that finds its target gone did nothing."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg

from tests.faults.saves import SAVES
from tests.faults.tokens import Ledger, tokens_in, tokens_of_rows
from tests.faults.world import World
from tests.support.trees import directories, files

NAMES = ("Alpha", "beta", "Gamma delta", "Über", "note (2)")
FOLDERS = ("Box", "Crate/Inner")
LEFTOVERS = (
    "~",
    "___jb_old___",
    "___jb_tmp___",
    "swapping.tmp",
)  # the only place of a page's bytes while its editor works

Act = Callable[[World, Ledger, int, int], None]


def files_of(world: World, mirror: int, *, assets: bool = False) -> list[Path]:
    """The pages of a mirror (or its attachments), in order."""
    root = world.mirrors[mirror].root
    paths = [path for path in files(root) if path.is_file() and _is_visible(path, root)]
    return sorted(path for path in paths if ("assets" in path.parts) is assets and (assets or path.suffix == ".md"))


def folders_of(world: World, mirror: int) -> list[Path]:
    """The directories of a mirror, in order."""
    root = world.mirrors[mirror].root
    paths = [path for path in directories(root) if _is_visible(path, root)]
    return sorted(path for path in paths if path.name != "assets")


def _is_visible(path: Path, root: Path) -> bool:
    return not any(part.startswith(".") for part in path.relative_to(root).parts)


def select_file(world: World, number: int) -> Path:
    """Raises FileNotFoundError where there is none. Keep.md is never chosen: a tree that loses all its files halts."""
    paths = [path for path in files_of(world, number % 2) if path.name != "Keep.md"]
    if not paths:
        raise FileNotFoundError
    return paths[number // 2 % len(paths)]


def select_folder(world: World, number: int) -> Path:
    """Raises FileNotFoundError where there is none."""
    paths = folders_of(world, number % 2)
    if not paths:
        raise FileNotFoundError
    return paths[number // 2 % len(paths)]


def free_path(path: Path) -> Path:
    """Raises FileExistsError: people do not overwrite what they see."""
    if path.exists():
        raise FileExistsError(path)
    return path


def make(world: World, ledger: Ledger, first: int, second: int) -> None:
    root = world.mirrors[first % 2].root
    folder = (root, *(root / name for name in FOLDERS), *folders_of(world, first % 2))[first // 2 % 7 % 3]
    path = free_path(folder / f"{NAMES[second % len(NAMES)]}.md")
    token = ledger.token()
    path.parent.mkdir(parents=True, exist_ok=True)
    head = f"---\ntitle: {path.stem}\n---\n" if second % 3 == 0 else ""
    path.write_text(f"{head}A page {token} begins.\n\nIt ends.\n", encoding="utf-8")
    ledger.wrote(token, f"made {path}")


def edit(world: World, ledger: Ledger, first: int, second: int) -> None:
    path, save = select_file(world, first), SAVES[second % len(SAVES)]
    before = path.read_bytes()
    token = ledger.token()
    line = f"A line {token} of an editor.\n".encode()
    at_front = second // 8 % 3 == 0 and not before.startswith(b"---")
    save(path, line + b"\n" + before if at_front else before + b"\n" + line)
    ledger.wrote(token, f"{save.__name__} {path}")


def rewrite(world: World, ledger: Ledger, first: int, second: int) -> None:
    path, save = select_file(world, first), SAVES[second % len(SAVES)]
    ledger.destroy(world, path.read_bytes())
    token = ledger.token()
    save(path, f"Everything is new {token}.\n".encode())
    ledger.wrote(token, f"rewrote with {save.__name__} {path}")


def rename(world: World, ledger: Ledger, first: int, second: int) -> None:
    path = select_file(world, first)
    path.rename(free_path(path.with_name(f"{NAMES[second % len(NAMES)]}.md")))
    ledger.touched()


def move(world: World, ledger: Ledger, first: int, second: int) -> None:
    path, folder = select_file(world, first), select_folder(world, first % 2 + 2 * second)
    path.rename(free_path(folder / path.name))
    ledger.touched()


def remove(world: World, ledger: Ledger, first: int, _: int) -> None:
    path = select_file(world, first)
    ledger.remove(world, path.read_bytes())
    path.unlink()
    ledger.touched()


def copy(world: World, ledger: Ledger, first: int, second: int) -> None:
    path = select_file(world, first)
    target, data = free_path(path.with_name(f"Copy {second % 5}.md")), path.read_bytes()
    target.write_bytes(data)
    ledger.copied |= tokens_in(data)
    ledger.touched()


def swap(world: World, ledger: Ledger, first: int, second: int) -> None:
    """
    Three renames. A look between them, at a page whose path has a file that mirrord does not know yet, sees a save by
    rename: then both texts stay, and the page's text is also in the page of its new path.
    """
    path, other = select_file(world, first), select_file(world, first % 2 + 2 * second)
    aside = path.with_name("swapping.tmp")
    pair = [tokens_in(path.read_bytes()) for path in (path, other)]
    ledger.swapped.append(pair[0] | pair[1])
    with suppress(psycopg.OperationalError):
        synced = tokens_of_rows(world)
        if any(tokens.isdisjoint(synced) for tokens in pair):
            ledger.copied |= pair[0] | pair[1]
    path.rename(aside)
    with suppress(FileNotFoundError):
        other.rename(path)
    aside.rename(other)
    ledger.touched(2)


def rename_folder(world: World, ledger: Ledger, first: int, second: int) -> None:
    folder = select_folder(world, first)
    folder.rename(free_path(folder.with_name(f"Folder {second % 4}")))
    ledger.touched(_below(folder))


def move_folder(world: World, ledger: Ledger, first: int, second: int) -> None:
    folder, into = select_folder(world, first), select_folder(world, first % 2 + 2 * second)
    if into.is_relative_to(folder):
        return
    folder.rename(free_path(into / folder.name))
    ledger.touched(_below(folder))


def remove_folder(world: World, ledger: Ledger, first: int, _: int) -> None:
    """`rm -r`: one file after the other, then the directories; what somebody makes meanwhile stays."""
    folder = select_folder(world, first)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            path.rmdir()
        else:
            ledger.remove(world, path.read_bytes())
            path.unlink()
        ledger.touched()
    folder.rmdir()
    ledger.touched()


def attach(world: World, ledger: Ledger, first: int, second: int) -> None:
    folder = (world.mirrors[first % 2].root, *folders_of(world, first % 2))[0 if second % 2 else -1]
    path = folder / "assets" / f"picture {second % 3}.png"
    path.parent.mkdir(exist_ok=True)
    token = ledger.token()
    if path.exists():
        ledger.destroy(world, path.read_bytes())
    SAVES[0](path, b"\x89PNG " + token.encode() + bytes(second % 200))
    ledger.wrote(token, f"attached {path}")


def detach(world: World, ledger: Ledger, first: int, second: int) -> None:
    paths = files_of(world, first % 2, assets=True)
    if paths:
        path = paths[second % len(paths)]
        ledger.destroy(world, path.read_bytes())
        path.unlink()
        ledger.touched()


def _below(folder: Path) -> int:
    return 1 + sum(1 for _ in (*files(folder.parent), *directories(folder.parent)))


FILE_ACTS: dict[str, tuple[int, Act]] = {  # by name: how often, among all acts
    "make": (10, make),
    "edit": (16, edit),
    "rewrite": (3, rewrite),
    "rename": (5, rename),
    "move": (4, move),
    "remove": (4, remove),
    "copy": (2, copy),
    "swap": (2, swap),
    "rename folder": (3, rename_folder),
    "move folder": (2, move_folder),
    "remove folder": (1, remove_folder),
    "attach": (3, attach),
    "detach": (1, detach),
}

# What an act meets when a daemon, an earlier act or a crash was quicker: it did nothing, or half of it.
MISSED = (OSError, psycopg.Error)


def leave_no_halves(world: World, ledger: Ledger) -> None:
    """What an editor left under a name of its own when it failed half-way goes where its user would put it."""
    while ledger.open_files:
        ledger.open_files.pop()[1].close()
    for mirror in world.mirrors:
        for path in _paths_below(mirror.root):
            if path.name.endswith(LEFTOVERS) and _is_visible(path, mirror.root):
                ledger.copied |= tokens_in(path.read_bytes())
                path.rename(path.with_name(f"Saved {path.name.split('.')[0]}.md"))
                ledger.touched()


def _paths_below(root: Path) -> list[Path]:
    """Daemons are at work: a directory that goes meanwhile holds nothing."""
    return [Path(directory, name) for directory, _, names in os.walk(root) for name in names]
