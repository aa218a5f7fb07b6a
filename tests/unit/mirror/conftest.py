"""Real trees in tmp_path, with and without the calls a kernel or file system may lack."""

import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.tree import kernel, kernel_aio
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write.journal import Journal
from tests.unit.kills import forgo_syncs

NOBODY = 65534


@pytest.fixture(scope="session", autouse=True)
def _prepared() -> None:
    prepare_process()


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test of kills at hundreds of calls, each in a tree of its own: no power is cut."""
    forgo_syncs(monkeypatch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "acme"
    directory.mkdir()
    return directory


@pytest.fixture
def as_nobody() -> Callable[[Callable[[], None]], None]:
    """Runs a function in a process of its own without root's rights; with the tree already open."""

    def run(act: Callable[[], None]) -> None:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                if os.geteuid() == 0:
                    os.setgroups([])
                    os.setresgid(NOBODY, NOBODY, NOBODY)
                    os.setresuid(NOBODY, NOBODY, NOBODY)
                act()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0

    return run


@pytest.fixture(params=["everything", "neither openat2 nor renameat2"])
def tree(request: pytest.FixtureRequest, root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tree]:
    if request.param != "everything":
        monkeypatch.setattr(kernel, "_OPENAT2", 99_999)
        monkeypatch.setattr(kernel, "_RENAMEAT2", {})
        monkeypatch.setattr(kernel_aio, "_SYSCALL_NUMBERS", None)
    opened_tree = Tree(root)
    yield opened_tree
    opened_tree.close()


@pytest.fixture
def journal(tree: Tree) -> Iterator[Journal]:
    opened_journal = Journal(tree, "daemon")
    yield opened_journal
    opened_journal.close()
