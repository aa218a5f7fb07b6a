"""What is durable when: the calls of a write as they are made, and what a power cut after each of them would leave."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mirrord.domain.entry import MirrorId, TenantId, digest_of, new_id
from mirrord.mirror import tree_marker
from mirrord.mirror.tree import kernel, kernel_aio
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree_marker import Marker
from mirrord.mirror.write import replace
from mirrord.mirror.write.journal import Journal

ENTRY = new_id()
OLD, NEW = b"old", b"new"
CALLS = ("create", "write", "fsync", "rename", "rename_new", "exchange", "link", "unlink")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(call, what it was about) of every call that changes the tree; each is still made."""
    call_log: list[tuple[str, str]] = []

    def recorded(name: str) -> Callable[..., object]:
        real = getattr(kernel, name)

        def call(descriptor: int, *arguments: object) -> object:
            where = Path(f"/proc/self/fd/{descriptor}").readlink()
            result = real(descriptor, *arguments)
            call_log.append((name, _about(where)))
            return result

        return call

    monkeypatch.setattr(kernel_aio, "_SYSCALL_NUMBERS", None)  # every sync is a call
    for name in CALLS:
        monkeypatch.setattr(kernel, name, recorded(name))
    return call_log


def _about(path: Path) -> str:
    """What part a directory or file has in the write."""
    if "trash" in path.parts:
        return "trash"
    if path.name == "daemon":
        return "journal"
    return "temporary file" if "daemon" in path.parts else "tree"


def test_a_new_tree_has_its_marker_and_all_that_is_private_after_few_syncs(
    tree: Tree, calls: list[tuple[str, str]]
) -> None:
    tree_marker.write(tree, Marker("acme", TenantId(new_id()), MirrorId(new_id())))

    names = [name for name, _ in calls]
    assert names == ["fsync", *["create", "write"] * 2, *["fsync"] * 2, *["rename"] * 2, "fsync"]


def test_a_replacing_text_is_durable_before_it_is_in_place_and_its_place_before_anything_else(
    tree: Tree, journal: Journal, root: Path, calls: list[tuple[str, str]]
) -> None:
    (root / "A.md").write_bytes(OLD)
    replace.write(tree, journal, "A.md", NEW, replace.ExpectedFile(ENTRY, digest_of(OLD)))
    names = [name for name, _ in calls]
    written = calls.index(("write", "temporary file"))
    durable = calls.index(("fsync", "temporary file"))
    if tree.can_exchange:
        placed = names.index("exchange")
        assert sorted(calls[placed + 1 : placed + 3]) == [("fsync", "journal"), ("fsync", "tree")]
        assert names[-1] == "rename"  # of what was replaced, out of the journal
    else:
        placed = max(index for index, name in enumerate(names) if name in ("rename", "rename_new", "link"))
        assert ("fsync", "tree") not in calls[placed:]  # the last rename is into the trash: the place is durable
    assert written < durable < placed


def test_a_new_text_is_durable_before_it_has_its_name(
    tree: Tree, journal: Journal, calls: list[tuple[str, str]]
) -> None:
    replace.write(tree, journal, "New.md", NEW, replace.ExpectedFile(ENTRY, None))
    placed = next(index for index, (name, _) in enumerate(calls) if name == "rename_new")
    assert ("fsync", "temporary file") in calls[:placed]
    assert ("fsync", "tree") in calls[placed:]
    assert ("fsync", "journal") in calls[placed:]


def test_a_removed_file_is_in_the_trash_for_good_before_the_journal_forgets_it(
    tree: Tree, journal: Journal, root: Path, calls: list[tuple[str, str]]
) -> None:
    (root / "A.md").write_bytes(OLD)
    replace.remove(tree, journal, "A.md", replace.ExpectedFile(ENTRY, digest_of(OLD)), replace.Removal("test"))
    settled = max(index for index, call in enumerate(calls) if call[0] == "rename")
    assert [call for call in calls[settled + 1 :] if call[0] == "fsync"] == [
        ("fsync", "trash"),
        ("fsync", "tree"),
        ("fsync", "journal"),
    ]


def test_a_fsync_that_fails_leaves_the_old_file_in_place(
    tree: Tree, journal: Journal, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "A.md").write_bytes(OLD)
    real = kernel.fsync

    def fail_once(descriptor: int) -> None:
        monkeypatch.setattr(kernel, "fsync", real)
        raise OSError(5, os.strerror(5))

    monkeypatch.setattr(kernel, "fsync", fail_once)
    with pytest.raises(OSError, match="Input/output"):
        replace.write(tree, journal, "A.md", NEW, replace.ExpectedFile(ENTRY, digest_of(OLD)))
    assert (root / "A.md").read_bytes() == OLD
    assert journal.leftovers() == []
    replace.write(tree, journal, "A.md", NEW, replace.ExpectedFile(ENTRY, digest_of(OLD)))
    assert (root / "A.md").read_bytes() == NEW


def test_a_move_makes_both_directories_durable(tree: Tree, root: Path, calls: list[tuple[str, str]]) -> None:
    (root / "A.md").write_bytes(OLD)
    (root / "to").mkdir()
    tree.move("A.md", "to/B.md")
    assert [name for name, _ in calls][-2:] == ["fsync", "fsync"]
