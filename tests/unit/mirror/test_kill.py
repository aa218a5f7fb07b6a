"""What a process killed at any call of a write leaves behind."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mirrord.domain.entry import digest_of, new_id
from mirrord.errors import Stale
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import replace
from mirrord.mirror.write.journal import Journal
from tests.unit.kills import killed_at

ENTRY = new_id()
OLD, NEW, SAVE = b"old", b"new", b"their save"


def write(root: Path) -> None:
    tree = Tree(root)
    journal = Journal(tree, "daemon")
    replace.write(tree, journal, "A.md", NEW, replace.ExpectedFile(ENTRY, digest_of(OLD)))


def write_against_a_save(root: Path) -> None:
    """A save comes right before the file leaves its place."""
    for call in ("exchange", "rename"):
        _intrude(call, root)
    try:
        write(root)
    except Stale:
        assert (root / "A.md").read_bytes() == SAVE


def remove(root: Path) -> None:
    tree = Tree(root)
    journal = Journal(tree, "daemon")
    replace.remove(tree, journal, "A.md", replace.ExpectedFile(ENTRY, digest_of(OLD)), replace.Removal("test"))


@pytest.mark.parametrize("act", [write, write_against_a_save, remove])
@pytest.mark.usefixtures("tree")  # with and without the calls that may be lacking
def test_a_kill_at_any_call_loses_nothing(tmp_path: Path, act: Callable[[Path], None]) -> None:
    for number in range(1, 60):
        root = tmp_path / f"run-{number}"
        root.mkdir()
        (root / "A.md").write_bytes(OLD)
        if not killed_at(number, root, act):
            break
        _check(root, act)
        _check(root, act)  # and recovery may be repeated

    assert number > 10


def _intrude(call: str, root: Path) -> None:
    original = getattr(kernel, call)

    def intruded(out: int, source: str, into: int, target: str) -> None:
        page_leaves = "A.md" in (source, target)
        if page_leaves and (root / "A.md").exists() and (root / "A.md").read_bytes() == OLD:
            (root / "save").write_bytes(SAVE)
            (root / "save").rename(root / "A.md")
        original(out, source, into, target)

    setattr(kernel, call, intruded)


def _check(root: Path, act: Callable[[Path], None]) -> None:
    """Recover as the engine does, and look for what had been there."""
    tree = Tree(root)
    journal = Journal(tree, "daemon")
    taken_in = set()
    for leftover in journal.leftovers():
        if leftover.digest == leftover.label.new:
            journal.dispose(leftover.name, keep=False)
        elif leftover.digest == leftover.label.expected:
            journal.dispose(leftover.name, keep=True)
        else:
            taken_in.add(journal.read(leftover.name))
    page = root / "A.md"
    place = page.read_bytes() if page.exists() else None
    trash = {path.read_bytes() for path in (root / ".mirrord" / "trash").glob("[wd].*")}
    assert place in (OLD, NEW, SAVE) or (act is remove and place is None)
    assert OLD in {place, *trash} or act is write_against_a_save
    if act is write_against_a_save and OLD not in {place, *trash}:
        assert SAVE in {place, *trash, *taken_in}
    assert not list((root / ".mirrord/tmp/daemon").glob("p.*"))
    journal.close()
    tree.close()


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace kills at the call itself")
def test_a_kill_inside_the_kernels_exchange_or_sync_loses_nothing(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib, uuid;"
        "from mirrord.domain.entry import EntryId, digest_of;"
        "from mirrord.mirror.write import replace; from mirrord.mirror import process_setup as process;"
        "from mirrord.mirror.write.journal import Journal;"
        "from mirrord.mirror.tree.tenant_tree import Tree;"
        "process.prepare_process(); tree = Tree(pathlib.Path(sys.argv[1]));"
        f"replace.write(tree, Journal(tree, 'daemon'), 'A.md', {NEW!r}, "
        f"replace.ExpectedFile(EntryId(uuid.UUID('{ENTRY}')), digest_of({OLD!r})))"
    )
    killed = 0
    for call, times in (("renameat2", 2), ("fsync", 4), ("io_submit,io_getevents", 2), ("rename,renameat", 2)):
        for number in range(1, times + 1):
            root = tmp_path / f"{call}-{number}"
            root.mkdir()
            (root / "A.md").write_bytes(OLD)
            inject = f"inject={call}:signal=SIGKILL:when={number}"
            strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject]
            completed = subprocess.run([*strace, sys.executable, "-c", script, str(root)], check=False, timeout=60)
            killed += completed.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
            _check(root, write)

    assert killed >= 6
