"""A person pauses the sync of a tree and settles what stays out, and no text of theirs is lost for it."""

import os
from pathlib import Path

import pytest

from mirrord.errors import Damaged, Refused, Stale
from mirrord.mirror import tree_settings
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree_settings import pause_sync, read_ignore_text, resume_sync, write_ignore_text


def test_a_pause_is_a_file_that_goes_with_it(tree: Tree, root: Path) -> None:
    resume_sync(tree)
    pause_sync(tree)
    pause_sync(tree)
    assert (root / "PAUSE").read_bytes() == b""
    resume_sync(tree)
    assert list(root.iterdir()) == []


def test_a_text_of_the_name_of_the_pause_is_left(tree: Tree, root: Path) -> None:
    (root / "PAUSE").write_text("why I paused this")
    with pytest.raises(Refused, match="remove it"):
        resume_sync(tree)
    assert (root / "PAUSE").read_text() == "why I paused this"


def test_patterns_are_written_over_those_that_were_read_and_keep_their_access(tree: Tree, root: Path) -> None:
    first = write_ignore_text(tree, "*.tmp\n", read_ignore_text(tree).digest)
    assert (root / ".mirrorignore").stat().st_mode & 0o777 == 0o660 & ~_umask() | root.stat().st_mode & 0o044
    (root / ".mirrorignore").chmod(0o604)
    write_ignore_text(tree, "*.bak\n", first)

    assert read_ignore_text(tree).text == "*.bak\n"
    assert (root / ".mirrorignore").stat().st_mode & 0o777 == 0o604
    assert [path.name for path in root.iterdir()] == [".mirrorignore"]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("before", [None, b"theirs\n"])
def test_patterns_that_changed_since_they_were_read_stay(tree: Tree, root: Path, before: bytes | None) -> None:
    if before is not None:
        (root / ".mirrorignore").write_bytes(before)
    read_digest = read_ignore_text(tree).digest
    (root / ".mirrorignore").write_bytes(b"newer\n")
    with pytest.raises(Stale, match="meanwhile"):
        write_ignore_text(tree, "mine\n", read_digest)
    assert (root / ".mirrorignore").read_bytes() == b"newer\n"
    assert [path.name for path in root.iterdir()] == [".mirrorignore"]


@pytest.mark.parametrize("before", [None, b"theirs\n"])
def test_a_save_between_the_check_and_the_write_stays(
    tree: Tree, root: Path, before: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if before is not None:
        (root / ".mirrorignore").write_bytes(before)
    read_digest = read_ignore_text(tree).digest
    fsync = kernel.fsync

    def save_first(descriptor: int) -> None:
        monkeypatch.setattr(kernel, "fsync", fsync)
        (root / "saved").write_bytes(b"saved in between\n")
        (root / "saved").rename(root / ".mirrorignore")
        fsync(descriptor)

    monkeypatch.setattr(kernel, "fsync", save_first)
    with pytest.raises(Stale, match="meanwhile"):
        write_ignore_text(tree, "mine\n", read_digest)
    assert (root / ".mirrorignore").read_bytes() == b"saved in between\n"
    assert [path.name for path in root.iterdir()] == [".mirrorignore"]


@pytest.mark.parametrize("text", ["!\n", "x" * (tree_settings.MAX_IGNORE_BYTES + 1)])
def test_patterns_that_nothing_understands_are_refused(tree: Tree, root: Path, text: str) -> None:
    with pytest.raises(Damaged):
        write_ignore_text(tree, text, None)
    assert list(root.iterdir()) == []
