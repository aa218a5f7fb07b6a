"""The directory of backups: each content once, nothing half, whatever interrupts; and files that are in no row."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mirrord.domain.backup_format import Chunk, Manifest, Table
from mirrord.domain.entry import digest_of
from mirrord.errors import Damaged, Refused, UserError
from mirrord.mirror.backup.backup_directory import Backups
from mirrord.mirror.backup.unsynced_files import decode_unsynced_file, has_only, store_unsynced, write_file
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tenant_tree import Tree

EMPTY = Table((), ())
MANIFEST = Manifest(1, 16, "demo", "", "", "", 0, {}, EMPTY, ())


@pytest.fixture
def backups(tmp_path: Path) -> Backups:
    return Backups(tmp_path / "kept")


def add_backup(directory: Path, number: int) -> None:
    """A backup of its own lines and bytes, and of some that every backup has."""
    backups = Backups(directory)
    with backups.open_for_writing():
        names = [backups.add_lines([b"every", b"one"]), backups.add_lines([str(number).encode()])]
        backups.add_bytes(str(number).encode() * 1000)
        table = Table((), tuple(Chunk(name, 1) for name in names))
        backups.commit(replace(MANIFEST, number=number, tables={"page": table}))


def test_lines_and_bytes_are_found_by_their_names_once_they_are_durable(backups: Backups) -> None:
    with backups.open_for_writing():
        lines, data = backups.add_lines([b"a", b"", b"b"]), backups.add_bytes(b"bytes")
        with pytest.raises(Damaged, match="is gone"):
            backups.read_bytes(data)
        backups.publish()
        assert backups.read_lines(lines) == [b"a", b"", b"b"]
        assert backups.read_bytes(data) == b"bytes"
        assert data == digest_of(b"bytes").hex()
        backups.add_bytes(b"bytes")
    assert backups.added == 2


@pytest.mark.usefixtures("unsynced")
def test_a_kill_at_any_call_leaves_earlier_backups_whole_and_the_next_one_is_made(tmp_path: Path) -> None:
    directory = tmp_path / "kept"
    add_backup(directory, 1)
    number = 0
    while _killed_at(number := number + 1, lambda: add_backup(directory, 2)):
        backups = Backups(directory)
        for backup in backups.list_backups():
            assert backup.manifest is not None
            for chunk in backup.manifest.tables["page"].chunks:
                assert backups.read_lines(chunk.name)
        assert [backup.number for backup in backups.list_backups()] in ([1], [1, 2])
    assert number > 8
    assert list((directory / "incoming").iterdir()) == []


def _killed_at(number: int, act: Callable[[], None]) -> bool:
    child = os.fork()
    if child == 0:
        try:
            _kill_at(number)
            act()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def _kill_at(number: int) -> None:
    remaining = [number]
    for owner, name in ((kernel, "write"), (kernel, "syncfs"), (Path, "rename"), (Path, "mkdir")):
        original = getattr(owner, name)

        def counted(*arguments: Any, original: Callable[..., Any] = original, **named: Any) -> Any:
            remaining[0] -= 1
            if remaining[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments, **named)

        setattr(owner, name, counted)


def test_a_directory_that_is_used_for_something_else_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(UserError, match="holds no backups"), Backups(tmp_path).open_for_writing():
        pass
    with pytest.raises(UserError, match="holds no backups"), Backups(tmp_path / "none").open_for_reading():
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_several_may_read_but_only_one_may_write(backups: Backups) -> None:
    with backups.open_for_writing():
        pass
    with (
        backups.open_for_reading(),
        backups.open_for_reading(),
        pytest.raises(Refused, match="is going on"),
        backups.open_for_writing(),
    ):
        pass
    with backups.open_for_writing(), pytest.raises(Refused, match="is going on"), backups.open_for_reading():
        pass


def test_files_that_no_row_has_come_back_with_their_bytes_and_names(
    backups: Backups, tree: Tree, root: Path, tmp_path: Path
) -> None:
    known_digests = {digest_of(b"in a row")}
    odd = os.fsdecode(b"odd \xff.md")
    files = {"Page.md": b"edited", "a/b/notes.txt": b"", ".hidden/x": os.urandom(3 << 20), odd: b"odd"}
    files |= {".mirrord/trash/w.x": b"thrown away"}
    others = {"Same.md": b"in a row", ".mirrord/state.db": b"state", ".mirrord/tmp/daemon/x": b"on its way"}
    for path, data in (files | others).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    (root / "link.md").symlink_to("/etc/hostname")
    unread: list[str] = []
    with backups.open_for_writing():
        lines = [stray.encode() for stray in store_unsynced(tree, known_digests, backups, unread)]
        backups.publish()
    assert unread == []

    (tmp_path / "again").mkdir()
    again = Tree(tmp_path / "again")
    strays = [decode_unsynced_file(line) for line in lines]
    for stray in strays:
        write_file(again, stray, backups)
        write_file(again, stray, backups)
    assert {stray.path for stray in strays} == set(files)
    assert {path: (again.root / path).read_bytes() for path in files} == files
    assert has_only(again, strays)
    assert not has_only(tree, strays)
    again.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_cannot_be_read_is_told(backups: Backups, tree: Tree, root: Path) -> None:
    (root / "secret.md").write_text("secret")
    (root / "secret.md").chmod(0)
    unread: list[str] = []
    with backups.open_for_writing():
        assert list(store_unsynced(tree, set(), backups, unread)) == []
    assert unread == ["secret.md"]
