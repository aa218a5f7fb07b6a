import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mirrord.errors import Busy, Refused, Unavailable
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write.tree_locks import Lock, clear_unfinished, is_marked_unfinished, mark_unfinished, write_lock

HOLD = (
    "import sys, pathlib; from mirrord.mirror.write.tree_locks import Lock;"
    "lock = Lock(pathlib.Path(sys.argv[1])); lock.acquire(); print('held', flush=True); sys.stdin.read()"
)


def test_a_second_process_is_refused_by_name(root: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Refused, match=f"already mirrored by process {holder.pid}"):
            Lock(root).acquire()
        holder.kill()
        holder.wait()
        with Lock(root):
            assert int((root / ".mirrord/daemon.pid").read_text()) == os.getpid()


def test_a_program_started_by_the_holder_does_not_keep_the_lock(root: Path) -> None:
    lock = Lock(root)
    lock.acquire()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False) as started:
        lock.release()
        with Lock(root):
            assert started.poll() is None


def test_a_missing_directory_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        Lock(tmp_path / "missing").acquire()


def test_the_process_id_is_not_written_through_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (root / ".mirrord").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="directory"):
        Lock(root).acquire()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_commands_on_one_tenant_take_turns(tree: Tree) -> None:
    with write_lock(tree), pytest.raises(Busy), write_lock(tree, patience=0.02):
        pass

    order: list[str] = []
    with write_lock(tree):
        other = threading.Thread(target=_locked, args=(tree, order))
        other.start()
        order.append("first")
    other.join()
    assert order == ["first", "second"]


def _locked(tree: Tree, order: list[str]) -> None:
    with write_lock(tree):
        order.append("second")


def test_a_deleted_lock_file_does_not_let_two_in(tree: Tree, root: Path) -> None:
    with write_lock(tree):
        (root / ".mirrord/write.lock").unlink()
        with write_lock(tree):
            pass  # the first holder's file is gone: nothing can tell the others
    with write_lock(tree), pytest.raises(Busy), write_lock(tree, patience=0.02):
        pass


def test_the_locks_file_is_opened_once_and_closed_with_the_tree(root: Path) -> None:
    tree = Tree(root)
    with write_lock(tree):
        assert tree.idle_locks == []
    locks = list(tree.idle_locks)
    with write_lock(tree):
        pass
    assert tree.idle_locks == locks
    tree.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(locks[0])


def test_a_lock_that_is_let_go_is_free_for_other_processes(root: Path, tree: Tree) -> None:
    other = Tree(root)
    with write_lock(tree):
        pass
    with write_lock(other, patience=0.0), pytest.raises(Busy), write_lock(tree, patience=0.0):
        pass
    with write_lock(tree, patience=0.0):
        pass
    other.close()


def test_a_lock_behind_a_link_is_refused_though_it_was_open_before(tree: Tree, root: Path, tmp_path: Path) -> None:
    with write_lock(tree):
        pass
    (root / ".mirrord").rename(tmp_path / "elsewhere")
    (root / ".mirrord").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/write.lock").unlink()
    (tmp_path / "elsewhere/write.lock").write_bytes(b"")
    with pytest.raises(Refused), write_lock(tree):
        pass


def test_a_mark_stays_until_somebody_found_nothing_and_a_new_file_has_one(tree: Tree, root: Path) -> None:
    with write_lock(tree):
        assert is_marked_unfinished(tree)  # nobody looked yet
        clear_unfinished(tree)
        assert not is_marked_unfinished(tree)
        mark_unfinished(tree)
    with write_lock(tree):
        assert is_marked_unfinished(tree)
        clear_unfinished(tree)
    (root / ".mirrord/write.lock").unlink()
    with write_lock(tree):
        assert is_marked_unfinished(tree)
