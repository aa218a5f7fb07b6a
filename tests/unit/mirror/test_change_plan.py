"""Changes of many files are done as a whole or not at all: kills, full disks and foreign saves at every call."""

import errno
import itertools
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from mirrord.domain.entry import Digest, digest_of, new_id
from mirrord.errors import Busy, Refused, Stale
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import batch_rename, change_plan, change_recovery
from mirrord.mirror.write.batch_rename import adopt_leftovers
from mirrord.mirror.write.change_plan import FileChanges, FileMove, FileText
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.rename_plan import Removal
from mirrord.mirror.write.tree_locks import write_lock
from tests.support.trees import tree as files_of
from tests.unit.kills import killed_at

BEFORE = {"A.md": b"a", "B.md": b"b", "C.md": b"c", "Old/D.md": b"d", "E.md": b"e"}
AFTER = {"A.md": b"b", "B.md": b"a", "C.md": b"new c", "New/Deep/D.md": b"new d", "F/_index.md": b"f", "E.md": b"e2"}
IDS = {path: new_id() for path in (*BEFORE, "F/_index.md")}
EVENTS = ".records/events/2026-01-01.host.jsonl"


def changes() -> FileChanges:
    """A circle of moves, a moved and edited file, an edited, a replaced and a new one."""
    digests = {path: digest_of(data) for path, data in BEFORE.items()}
    return FileChanges(
        moves=[
            FileMove("A.md", "B.md", IDS["A.md"], digests["A.md"]),
            FileMove("B.md", "A.md", IDS["B.md"], digests["B.md"]),
            FileMove("Old/D.md", "New/Deep/D.md", IDS["Old/D.md"], digests["Old/D.md"]),
        ],
        texts=[
            FileText("New/Deep/D.md", IDS["Old/D.md"], digests["Old/D.md"], b"new d"),
            FileText("C.md", IDS["C.md"], digests["C.md"], b"new c"),
            FileText("F/_index.md", IDS["F/_index.md"], None, b"f"),
            FileText("E.md", IDS["E.md"], None, b"e2"),
        ],
        removals=[Removal("E.md", str(IDS["E.md"]), digests["E.md"].hex(), "0123456789abcdef", "test", "E")],
        emptied=["Old"],
        appended_lines=(EVENTS, '{"type": "ChangesApplied"}\n'),
    )


def fill(root: Path) -> None:
    root.mkdir(exist_ok=True)
    for path, data in BEFORE.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_bytes(data)


def apply(root: Path, make_changes: Callable[[], FileChanges] = changes) -> None:
    tree = Tree(root)
    journal = Journal(tree, "writer")
    try:
        with write_lock(tree):
            change_plan.carry_out(tree, journal, make_changes())
    finally:
        journal.close()
        tree.close()


def recover(root: Path) -> None:
    """As the next command does."""
    tree = Tree(root)
    journal = Journal(tree, "next")
    with write_lock(tree):
        adopt_leftovers(tree, journal, include_living=False)
        assert not batch_rename.has_unfinished_plan(tree)
    journal.close()
    tree.close()


def pages(root: Path) -> dict[str, bytes]:
    return {path: data for path, data in files_of(root).items() if not path.startswith(".records")}


def leftovers(root: Path) -> list[str]:
    return [path.name for path in (root / ".mirrord/tmp").glob("*/*") if not path.name.startswith("a.")]


@pytest.mark.usefixtures("tree")  # with and without the calls that may be lacking
def test_all_is_done_and_what_was_replaced_is_in_the_trash(tmp_path: Path) -> None:
    root = tmp_path / "run"
    fill(root)
    apply(root)

    assert pages(root) == AFTER
    trash = {path.read_bytes() for path in (root / ".mirrord/trash").glob("[wd].*") if path.suffix != ".json"}
    assert trash == {b"c", b"d", b"e"}
    assert not (root / "Old").exists()
    assert (root / EVENTS).read_text().count("ChangesApplied") == 1
    assert leftovers(root) == []


@pytest.mark.usefixtures("tree", "unsynced")
def test_a_kill_at_any_call_leaves_all_or_nothing(tmp_path: Path) -> None:
    outcomes = []
    for number in range(1, 400):
        root = tmp_path / f"run-{number}"
        fill(root)
        if not killed_at(number, root, apply):
            break
        recover(root)
        assert pages(root) in (BEFORE, AFTER), number
        is_complete = pages(root) == AFTER
        assert (root / EVENTS).exists() == is_complete, number
        assert (root / "Old").exists() != is_complete
        assert (root / "New").exists() == is_complete
        assert leftovers(root) == []
        outcomes.append(is_complete)
    assert outcomes == sorted(outcomes)
    assert {*outcomes} == {False, True}
    assert len(outcomes) > 40


@pytest.mark.usefixtures("unsynced")
def test_a_kill_of_the_recovery_leaves_all_or_nothing_too(tmp_path: Path) -> None:
    for number in range(24, 80, 8):
        for second in range(1, 200, 3):
            root = tmp_path / f"run-{number}-{second}"
            fill(root)
            assert killed_at(number, root, apply)
            if not killed_at(second, root, recover):
                break
            recover(root)
            assert pages(root) in (BEFORE, AFTER), (number, second)


@pytest.mark.usefixtures("unsynced")
def test_a_kill_leaves_all_or_nothing_if_the_mark_of_the_end_is_not_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_fsync = kernel.fsync

    def fail_for_mark(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode) and change_recovery.MARK_NAME in os.listdir(descriptor):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        plain_fsync(descriptor)

    def apply_in_vain(root: Path) -> None:
        monkeypatch.setattr(kernel, "fsync", fail_for_mark)
        with pytest.raises(OSError, match="Input/output"):
            apply(root)

    for number in itertools.count(1):
        root = tmp_path / f"run-{number}"
        fill(root)
        is_killed = killed_at(number, root, apply_in_vain)  # a process of its own, and its patches go with it
        recover(root)
        assert pages(root) in (BEFORE, AFTER), number
        if not is_killed:
            break
    assert pages(root) == BEFORE
    assert number > 60


@pytest.mark.parametrize("call", ["create", "write", "fsync", "rename", "rename_new", "exchange", "mkdir"])
@pytest.mark.usefixtures("unsynced")
def test_a_disk_that_is_full_in_the_middle_leaves_nothing_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    original = getattr(kernel, call)
    for number in range(1, 100):
        root = tmp_path / f"run-{number}"
        fill(root)
        count = [number]

        def failing(*arguments: object, count: list[int] = count) -> object:
            count[0] -= 1
            if count[0] == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return original(*arguments)

        monkeypatch.setattr(kernel, call, failing)
        with suppress(OSError):
            apply(root)
        monkeypatch.setattr(kernel, call, original)
        if count[0] > 0:
            break
        recover(root)
        assert pages(root) in (BEFORE, AFTER), (call, number)
    assert number > 1


@pytest.mark.parametrize("path", ["A.md", "B.md", "C.md", "Old/D.md", "E.md"])
@pytest.mark.usefixtures("unsynced")
def test_a_save_of_another_program_at_any_moment_is_never_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    originals = {call: getattr(kernel, call) for call in ("rename_new", "exchange", "rename")}
    for number in range(1, 40):
        root = tmp_path / f"run-{number}"
        fill(root)
        count = [number]

        saved: list[str] = []

        def intruded(
            *arguments: object, call: str, root: Path = root, count: list[int] = count, saved: list[str] = saved
        ) -> object:
            count[0] -= 1
            if count[0] == 0 and (root / path).exists():
                saved.append(call)
                (root / "save").write_bytes(b"their save")
                (root / "save").rename(root / path)
            return originals[call](*arguments)

        for call in originals:
            monkeypatch.setattr(kernel, call, lambda *arguments, call=call: intruded(*arguments, call=call))
        try:
            apply(root)
            is_applied = True
        except (Stale, Busy, Refused):
            is_applied = False
        for call, original in originals.items():
            monkeypatch.setattr(kernel, call, original)
        if count[0] > 0:
            break
        recover(root)
        everywhere = {*files_of(root).values(), *(file.read_bytes() for file in (root / ".mirrord").rglob("[wd].*"))}
        assert b"their save" in everywhere or saved == [], number
        if not is_applied:
            others = {other: data for other, data in pages(root).items() if data != b"their save"}
            assert others.items() <= BEFORE.items(), number
            assert len({*BEFORE.values()} - everywhere) <= 1  # the one that the other program replaced
    assert number > 5


def test_a_file_that_changed_since_is_named_and_nothing_happens(tmp_path: Path) -> None:
    root = tmp_path / "run"
    fill(root)
    (root / "C.md").write_bytes(b"saved")

    with pytest.raises(Stale, match=r"C\.md"):
        apply(root)

    assert pages(root) == BEFORE | {"C.md": b"saved"}
    assert leftovers(root) == []


def test_a_taken_new_path_is_named_and_nothing_happens(tmp_path: Path) -> None:
    root = tmp_path / "run"
    fill(root)
    (root / "F").mkdir()
    (root / "F/_index.md").write_bytes(b"theirs")

    with pytest.raises(Stale, match=r"F/_index\.md"):
        apply(root)

    assert pages(root) == BEFORE | {"F/_index.md": b"theirs"}


def test_unknown_digests_do_not_apply(tmp_path: Path) -> None:
    root = tmp_path / "run"
    fill(root)
    move = FileMove("A.md", "Z.md", IDS["A.md"], Digest(bytes(32)))

    with pytest.raises(Stale):
        apply(root, lambda: FileChanges(moves=[move]))

    assert pages(root) == BEFORE
