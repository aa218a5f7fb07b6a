import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mirrord.domain.entry import digest_of
from mirrord.errors import Busy, Damaged, Mounted, Refused, Stale, Unavailable
from mirrord.mirror.tree.tenant_tree import Tree

LIMIT = 1 << 20


def test_reading_returns_bytes_and_their_stat(tree: Tree, root: Path) -> None:
    (root / "A.md").write_bytes(b"alpha")

    data, stat = tree.read("A.md", LIMIT)

    assert data == b"alpha"
    assert stat == tree.stat("A.md")
    assert stat.size == 5
    assert stat.is_file


def test_a_digest_is_of_all_bytes_however_many(tree: Tree, root: Path) -> None:
    data = os.urandom(3_000_001)
    (root / "big.bin").write_bytes(data)

    assert tree.digest("big.bin")[0] == digest_of(data)


def test_nothing_is_at_a_path_below_a_file(tree: Tree, root: Path) -> None:
    (root / "A.md").write_bytes(b"alpha")

    assert tree.stat("B.md") is None
    assert tree.stat("A.md/x") is None


@pytest.mark.parametrize(
    "path", ["..", "../secret.md", "A/../../secret.md", "/etc/passwd", "A//B.md", "./A.md", "A/", "x\0.md"]
)
def test_a_path_that_is_not_plainly_inside_is_refused(tree: Tree, path: str) -> None:
    for act in (tree.stat, tree.digest, tree.list_stats, tree.make_directories, tree.remove_directory):
        with pytest.raises(Refused):
            act(path)
    with pytest.raises(Refused):
        tree.move(path, "B.md")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_bind_mount_is_seen_without_openat2_too(tree: Tree, root: Path, tmp_path: Path) -> None:
    for directory in (root / "Sub", tmp_path / "elsewhere"):
        directory.mkdir()
        (directory / "A.md").write_bytes(b"alpha")
    if subprocess.run(["mount", "--bind", tmp_path / "elsewhere", root / "Sub"], check=False).returncode:
        pytest.skip("mounting is refused here")
    try:
        for act in (tree.stat, tree.digest, tree.list_stats, tree.make_directories):
            with pytest.raises(Mounted, match="is on 'Sub'"):
                act("Sub/A.md")
        with pytest.raises(Mounted, match="is on 'Sub'"):
            tree.list_stats("Sub")
    finally:
        subprocess.run(["umount", root / "Sub"], check=True)
    assert tree.read("Sub/A.md", LIMIT)[0] == b"alpha"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    directory = tmp_path / "outside"
    directory.mkdir()
    (directory / "secret.md").write_bytes(b"secret")
    return directory


def test_a_symbolic_link_is_seen_but_never_followed(tree: Tree, root: Path, outside: Path) -> None:
    (root / "file.md").symlink_to(outside / "secret.md")
    (root / "inside.md").symlink_to("other.md")
    (root / "folder").symlink_to(outside)

    for name in ("file.md", "inside.md", "folder"):
        link_stat = tree.stat(name)
        assert link_stat is not None
        assert link_stat.is_link
    for path in ("file.md", "inside.md", "folder/secret.md"):
        with pytest.raises(Refused):
            tree.read(path, LIMIT)
    with pytest.raises(Refused):
        tree.stat("folder/secret.md")
    with pytest.raises(Refused):
        tree.list_stats("folder")
    with pytest.raises(Refused):
        tree.make_directories("folder/new")
    assert [path.name for path in outside.iterdir()] == ["secret.md"]


def test_a_directory_swapped_for_a_link_never_leads_out(tree: Tree, root: Path, outside: Path) -> None:
    (root / "here").mkdir()
    (root / "here" / "secret.md").write_bytes(b"public")
    (root / "link").symlink_to(outside)
    with subprocess.Popen([sys.executable, "-c", SWAP, root / "here", root / "link"]) as swapper:
        try:
            reads = [_try_read(tree, "here/secret.md") for _ in range(20_000)]
        finally:
            swapper.kill()

    assert set(reads) == {b"public", None}


SWAP = """
import os, sys
from mirrord.mirror.tree import kernel
while True:
    kernel.exchange(-100, sys.argv[1], -100, sys.argv[2])
"""


def _try_read(tree: Tree, path: str) -> bytes | None:
    try:
        return tree.read(path, LIMIT)[0]
    except (Refused, FileNotFoundError):
        return None


def test_a_root_that_is_a_link_or_missing_is_unavailable(tmp_path: Path, root: Path) -> None:
    (tmp_path / "link").symlink_to(root)

    for path in (tmp_path / "link", tmp_path / "missing"):
        with pytest.raises(Unavailable):
            Tree(path)


def test_what_is_no_regular_file_is_refused_without_waiting(tree: Tree, root: Path) -> None:
    os.mkfifo(root / "pipe.md")
    (root / "folder.md").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        previous_directory = Path.cwd()
        os.chdir(root)  # a socket's path has at most 107 bytes
        server.bind("socket.md")
        os.chdir(previous_directory)
        for path in ("pipe.md", "folder.md", "socket.md"):
            with pytest.raises(Refused, match="not a regular file"):
                tree.read(path, LIMIT)


def test_a_file_over_the_limit_is_not_read(tree: Tree, root: Path) -> None:
    with (root / "sparse.md").open("wb") as stream:
        stream.truncate(5 << 30)

    with pytest.raises(Damaged, match="5368709120 bytes"):
        tree.read("sparse.md", LIMIT)


def test_a_file_open_for_writing_is_busy(tree: Tree, root: Path) -> None:
    with (root / "A.md").open("wb") as stream:
        stream.write(b"half")
        stream.flush()
        with pytest.raises(Busy):
            tree.read("A.md", LIMIT)

    assert tree.read("A.md", LIMIT)[0] == b"half"


@pytest.fixture
def without_leases() -> Iterator[None]:
    before = signal.signal(signal.SIGIO, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGIO, before)


@pytest.mark.usefixtures("without_leases")
def test_without_leases_a_file_that_stays_the_same_is_read(tree: Tree, root: Path) -> None:
    (root / "A.md").write_bytes(b"alpha")
    before = tree.stat("A.md")

    assert tree.read("A.md", LIMIT)[0] == b"alpha"
    assert tree.read("A.md", LIMIT, before)[0] == b"alpha"


@pytest.mark.usefixtures("without_leases")
def test_without_leases_a_file_that_changed_is_busy(tree: Tree, root: Path) -> None:
    (root / "A.md").write_bytes(b"alpha")
    before = tree.stat("A.md")
    (root / "A.md").write_bytes(b"alpha and more")

    with pytest.raises(Busy):
        tree.read("A.md", LIMIT, before)


def test_directories_are_made_with_those_above_them(tree: Tree) -> None:
    tree.make_directories("A/B/C")
    tree.make_directories("A/B/C")

    stat = tree.stat("A/B/C")
    assert stat is not None
    assert stat.is_directory


def test_a_path_longer_than_the_kernel_takes_works_step_by_step(tree: Tree) -> None:
    path = "/".join(["d" * 200] * 30)
    tree.make_directories(path)

    stat = tree.stat(path)
    assert stat is not None
    assert stat.is_directory
    assert tree.list_stats(path) == {}


def test_a_name_that_is_too_long_is_refused(tree: Tree) -> None:
    with pytest.raises(Refused, match="too long"):
        tree.stat("x" * 256)


@pytest.mark.parametrize("name", ["x" * 252 + ".md", "two\nlines.md", "-rf.md", "caf\udce9.md", "a\u202eb 🎈.md"])
def test_any_name_the_file_system_takes_can_be_read_and_moved(tree: Tree, root: Path, name: str) -> None:
    (root / name).write_bytes(b"text")

    assert list(tree.list_stats("")) == [name]
    assert tree.read(name, LIMIT)[0] == b"text"
    assert tree.move(name, "plain.md").size == 4
    assert tree.stat(name) is None


def test_only_an_empty_directory_is_removed(tree: Tree, root: Path) -> None:
    tree.make_directories("A/B")
    (root / "file.md").write_bytes(b"")

    assert not tree.remove_directory("A")
    assert tree.remove_directory("A/B")
    assert tree.remove_directory("A/B")
    assert not tree.remove_directory("file.md")


def test_a_move_replaces_nothing(tree: Tree, root: Path) -> None:
    (root / "A.md").write_bytes(b"alpha")
    (root / "B.md").write_bytes(b"beta")
    (root / "folder").mkdir()
    (root / "other").mkdir()

    with pytest.raises(Stale, match="exists already"):
        tree.move("A.md", "B.md")
    with pytest.raises(Stale, match="exists already"):
        tree.move("folder", "other")
    with pytest.raises(Stale, match="no longer there"):
        tree.move("C.md", "D.md")
    with pytest.raises(FileNotFoundError):
        tree.move("A.md", "missing/A.md")
    assert (root / "A.md").read_bytes() == b"alpha"
    assert (root / "B.md").read_bytes() == b"beta"


def test_a_move_keeps_the_inode(tree: Tree, root: Path) -> None:
    (root / "folder").mkdir()
    (root / "A.md").write_bytes(b"alpha")
    before = tree.stat("A.md")

    after = tree.move("A.md", "folder/B.md")
    tree.move("folder", "renamed")

    assert before is not None
    assert after.inode == before.inode
    assert tree.read("renamed/B.md", LIMIT)[0] == b"alpha"


def test_mirrords_own_state_cannot_be_moved(tree: Tree, root: Path) -> None:
    (root / "A.md").write_bytes(b"alpha")
    tree.make_directories(".mirrord/tmp")

    for source, target in (("A.md", ".mirrord/id"), (".mirrord/tmp", "tmp"), ("A.md", ".MIRRORD/id")):
        with pytest.raises(Refused):
            tree.move(source, target)


def test_a_replaced_root_has_another_identity(tree: Tree, root: Path) -> None:
    assert tree.root_identity() == tree.opened_as
    root.rename(root.with_name("moved"))
    assert tree.root_identity() is None
    root.mkdir()
    assert tree.root_identity() not in (None, tree.opened_as)
