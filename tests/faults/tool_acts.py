"""Acts of git, rsync, unzip, `cp -r` and `sed -i`, and of editors and loggers that hold a page for a long time."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.faults.file_acts import Act, files_of, folders_of, free_path, select_file, select_folder
from tests.faults.saves import SAVES, Save, in_place
from tests.faults.tokens import Ledger, tokens_in
from tests.faults.world import World

GIT_SECONDS = 60  # a git command that takes longer is stuck
MAX_HELD_FILES = 3
MAX_REPLACED_FILES = 30  # of one `sed -i`: a soak has hundreds of pages

_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the hash of a tree without files
_GIT_OPTIONS = (
    *("-c", "user.name=campaign", "-c", "user.email=campaign@localhost"),
    *("-c", "init.defaultBranch=main", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0"),
)


def commit_tree(world: World, ledger: Ledger, first: int, second: int) -> None:
    """`git commit` of all that is there, on one of two branches that share their beginning."""
    root = world.mirrors[first % 2].root
    if not (root / ".git").exists():
        _run_git(root, "init", "--quiet")
    _run_git(root, "add", "--all", "--", "*.md")
    _run_git(root, "commit", "--quiet", "--allow-empty", "--message", f"state {first} {second}")
    _run_git(root, "branch", "--force", f"branch-{second % 2}")


def check_out(world: World, ledger: Ledger, first: int, second: int) -> None:
    """
    `git checkout --force` of a branch: files vanish, come and change within milliseconds.

    What the branch has may stand twice afterwards, beside a file that was moved without git's knowledge. That is noted
    before: git may end half-way, and the daemon goes on moving files.
    """
    root = world.mirrors[first % 2].root
    if not (root / ".git" / f"refs/heads/branch-{second % 2}").exists():
        commit_tree(world, ledger, first, second)
        return
    _note_destruction(world, ledger, files_of(world, first % 2))
    ledger.copied |= tokens_in(_run_git(root, "diff", "--text", _EMPTY_TREE, f"branch-{second % 2}"))
    ledger.touched(len(files_of(world, first % 2)))
    _run_git(root, "checkout", "--quiet", "--force", "--detach", f"branch-{second % 2}")


def _run_git(root: Path, *words: str) -> bytes:
    """Raises OSError where git refuses: the daemon changed a file meanwhile, or there is no such branch."""
    completed = subprocess.run(
        ["git", *_GIT_OPTIONS, *words], cwd=root, capture_output=True, timeout=GIT_SECONDS, check=False
    )
    if completed.returncode != 0:
        raise OSError(completed.stderr.decode(errors="replace").strip())
    return completed.stdout


def keep_copy(world: World, _: Ledger, first: int, second: int) -> None:
    """A copy of a folder outside the tree: an archive, another machine's state, a backup."""
    folder, archive = _folder_or_root(world, first), _archive(world, first)
    shutil.rmtree(archive, ignore_errors=True)
    for path in _pages_below(folder):
        target = archive / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    (archive / ".place").write_text(str(folder), encoding="utf-8")


def put_back(world: World, ledger: Ledger, first: int, second: int) -> None:
    """The copy over what is there now, as `unzip -o`, `rsync -a`, `cp -r` or `rsync -a --delete` would put it."""
    archive, write = _archive(world, first), _COPIES[second % len(_COPIES)]
    if not archive.exists():
        keep_copy(world, ledger, first, second)
        return
    folder = Path((archive / ".place").read_text(encoding="utf-8"))
    sources = {folder / path.relative_to(archive): path for path in _pages_below(archive)}
    for target, source in sources.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        _note_destruction(world, ledger, [target])
        write(target, source.read_bytes())
        _note_copies(ledger, [source])
    if second // len(_COPIES) % 2:
        _remove_files(world, ledger, [path for path in _pages_below(folder) if path not in sources])


def copy_folder(world: World, ledger: Ledger, first: int, second: int) -> None:
    """`cp -r folder twin`; every other time `rm -r folder` follows, as file managers move across devices."""
    folder = select_folder(world, first)
    twin = free_path(folder.with_name(f"Twin {second % 3}"))
    _note_copies(ledger, _pages_below(folder))
    shutil.copytree(folder, twin)
    ledger.touched(1 + sum(1 for _ in twin.rglob("*")))
    if second % 2:
        _note_destruction(world, ledger, _pages_below(folder))
        ledger.touched(1 + sum(1 for _ in folder.rglob("*")))
        shutil.rmtree(folder)


def replace_in_all(world: World, ledger: Ledger, first: int, _: int) -> None:
    """`sed -i` over many pages: one new inode after the other, each with a line of its own."""
    for path in files_of(world, first % 2)[:MAX_REPLACED_FILES]:
        if path.name == "Keep.md":
            continue
        token = ledger.token()
        line = f"A line {token} of a script.\n".encode()
        SAVES[0](path, path.read_bytes() + b"\n" + line)
        ledger.wrote(token, f"sed -i {path}")


def change_case(world: World, ledger: Ledger, first: int, _: int) -> None:
    path = select_file(world, first)
    path.rename(free_path(path.with_name(f"{path.stem.swapcase()}.md")))
    ledger.touched()


def open_in_editor(world: World, ledger: Ledger, first: int, _: int) -> None:
    """The editor reads the page; what it shows grows old."""
    path = select_file(world, first)
    ledger.buffers[path] = path.read_bytes()


def save_twice(world: World, ledger: Ledger, first: int, second: int) -> None:
    """An editor saves what it showed, with a new line, and then saves the very same bytes once more."""
    if not ledger.buffers:
        open_in_editor(world, ledger, first, second)
        return
    path = sorted(ledger.buffers)[first % len(ledger.buffers)]
    save, token = SAVES[second % len(SAVES)] if path.exists() else in_place, ledger.token()
    buffer = ledger.buffers.pop(path) + f"\nA line {token} of an old buffer.\n".encode()
    _note_destruction(world, ledger, [path])
    ledger.copied |= tokens_in(buffer) - {token}
    save(path, buffer)
    ledger.wrote(token, f"old buffer saved with {save.__name__} {path}")
    _note_destruction(world, ledger, [path])
    ledger.excused -= {token}
    save(path, buffer)
    ledger.touched()


def hold_open(world: World, ledger: Ledger, first: int, _: int) -> None:
    """A program opens a page for writing and keeps it open while everything else goes on."""
    if len(ledger.open_files) < MAX_HELD_FILES:
        path = select_file(world, first)
        ledger.open_files.append((path, path.open("ab", buffering=0)))


def write_held(world: World, ledger: Ledger, first: int, second: int) -> None:
    """The program writes its line at the end of the file that it has held, wherever that is now, and closes it."""
    if not ledger.open_files:
        hold_open(world, ledger, first, second)
        return
    path, file = ledger.open_files.pop(first % len(ledger.open_files))
    token = ledger.token()
    with file:
        file.write(f"\nA line {token} of a late writer.\n".encode())
        ledger.wrote(token, f"written late into what was {path}")
        if os.fstat(file.fileno()).st_nlink == 0:
            ledger.excused.add(token)  # its author's own file had been deleted before


def _folder_or_root(world: World, number: int) -> Path:
    folders = folders_of(world, number % 2)
    return folders[number // 2 % len(folders)] if folders and number % 3 else world.mirrors[number % 2].root


def _archive(world: World, number: int) -> Path:
    return world.directory / "archives" / str(number % 2)


def _pages_below(folder: Path) -> list[Path]:
    pages = sorted(folder.rglob("*.md"))
    return [path for path in pages if not any(part.startswith(".") for part in path.relative_to(folder).parts)]


def _note_destruction(world: World, ledger: Ledger, paths: Iterable[Path]) -> None:
    """The bytes of *paths* are about to go. A path without a file has none."""
    ledger.destroy(world, b"\n".join(path.read_bytes() for path in paths if path.is_file()))


def _note_copies(ledger: Ledger, paths: Iterable[Path]) -> None:
    """The bytes of *paths* stand, or may stand, in two places from now on."""
    for path in paths:
        ledger.copied |= tokens_in(path.read_bytes())
        ledger.touched()


def _remove_files(world: World, ledger: Ledger, paths: list[Path]) -> None:
    for path in paths:
        if path.name != "Keep.md":
            _note_destruction(world, ledger, [path])
            path.unlink()
            ledger.touched()


def _unlink_and_write(path: Path, data: bytes) -> None:
    """`unzip -o`, `tar x`: the old file goes first."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def _write_with_old_time(path: Path, data: bytes) -> None:
    """`rsync -a`: a new file beside it with the time stamp of the source, renamed over the old one."""
    fresh = path.with_name(f".{path.name}.a1b2c3")
    fresh.write_bytes(data)
    os.utime(fresh, (1_700_000_000, 1_700_000_000))
    fresh.replace(path)


def _write_in_place(path: Path, data: bytes) -> None:
    """`cp`: the same inode, truncated first."""
    path.write_bytes(data)


_COPIES: tuple[Save, ...] = (_unlink_and_write, _write_with_old_time, _write_in_place)

TOOL_ACTS: dict[str, tuple[int, Act]] = {  # by name: how often, among all acts
    "commit tree": (3, commit_tree),
    "check out": (5, check_out),
    "keep copy": (3, keep_copy),
    "put copy back": (6, put_back),
    "copy folder": (4, copy_folder),
    "replace in all": (3, replace_in_all),
    "change case": (3, change_case),
    "open in editor": (4, open_in_editor),
    "save twice": (6, save_twice),
    "hold open": (4, hold_open),
    "write held": (4, write_held),
}
