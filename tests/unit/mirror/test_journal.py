import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from mirrord.domain.entry import digest_of, new_id
from mirrord.errors import Busy
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import replace, trash
from mirrord.mirror.write.journal import Journal, Leftover
from mirrord.mirror.write.journal_labels import Label

ENTRY = new_id()
LABEL = Label(ENTRY, digest_of(b"old"), digest_of(b"new"))


def leave(journal: Journal, label: Label, data: bytes) -> str:
    """What a writer leaves that was killed before its swap."""
    with journal.staged_file(label, data, 0o600, lambda _: None) as (name, _):
        return name


def test_what_a_dead_writer_left_is_found_with_its_label(tree: Tree) -> None:
    journal = Journal(tree, "mcp-1")
    name = leave(journal, LABEL, b"new")
    created = leave(journal, Label(ENTRY, None, digest_of(b"new")), b"their save")
    journal.close()

    again = Journal(tree, "mcp-1")

    assert {leftover.name: leftover for leftover in again.leftovers()} == {
        name: Leftover(name, LABEL, digest_of(b"new")),
        created: Leftover(created, Label(ENTRY, None, digest_of(b"new")), digest_of(b"their save")),
    }
    assert again.read(created) == b"their save"


def test_a_settled_file_is_gone_or_in_the_trash(tree: Tree, journal: Journal, root: Path) -> None:
    dropped, kept_name = leave(journal, LABEL, b"new"), leave(journal, LABEL, b"old")

    journal.dispose(dropped, keep=False)
    journal.dispose(kept_name, keep=True)

    assert journal.leftovers() == []
    assert [path.name for path in (root / ".mirrord/trash").iterdir()] == [kept_name]


def test_a_file_is_in_the_trash_under_the_digest_of_what_it_holds(tree: Tree, journal: Journal, root: Path) -> None:
    save = leave(journal, LABEL, b"somebody's save")

    journal.dispose(save, keep=True, digest=digest_of(b"somebody's save"))

    (trashed,) = trash.list_trash(tree)
    assert trashed.label == Label(LABEL.entry, digest_of(b"somebody's save"), LABEL.new)
    assert tree.digest(f".mirrord/trash/{trashed.name}")[0] == trashed.label.expected


def test_a_write_in_progress_is_no_leftover(journal: Journal) -> None:
    with journal.staged_file(LABEL, b"new", 0o600, lambda _: None) as (name, _):
        assert journal.leftovers() == []

    assert [leftover.name for leftover in journal.leftovers()] == [name]


def test_a_failed_write_leaves_nothing(journal: Journal, root: Path) -> None:
    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"), journal.staged_file(LABEL, b"new", 0o600, refuse):
        pass
    assert list((root / ".mirrord/tmp/daemon").iterdir()) == []


def test_a_directory_in_the_journal_is_a_leftover_without_digest(journal: Journal, root: Path) -> None:
    name = leave(journal, LABEL, b"new")
    (root / ".mirrord/tmp/daemon" / name).unlink()
    (root / ".mirrord/tmp/daemon" / name).mkdir()

    assert journal.leftovers() == [Leftover(name, LABEL, None)]


def test_a_second_process_cannot_write_under_the_same_name(tree: Tree, journal: Journal, root: Path) -> None:
    script = (
        "import sys, pathlib; from mirrord.mirror.write.journal import Journal;"
        "from mirrord.mirror.tree.tenant_tree import Tree;"
        "Journal(Tree(pathlib.Path(sys.argv[1])), sys.argv[2])"
    )
    run = [sys.executable, "-c", script, str(root)]

    completed = subprocess.run([*run, "daemon"], capture_output=True, text=True, check=False)
    assert "Busy" in completed.stderr
    assert subprocess.run([*run, "mcp-1"], capture_output=True, check=False).returncode == 0
    with pytest.raises(Busy):
        Journal(tree, "daemon")


def test_the_private_directories_are_closed_to_others(journal: Journal, root: Path) -> None:
    for path in (".mirrord", ".mirrord/tmp", ".mirrord/tmp/daemon"):
        assert (root / path).stat().st_mode & 0o077 == 0


def test_degraded_says_what_is_lacking(tree: Tree, journal: Journal) -> None:
    assert bool(tree.missing_abilities) == (not tree.native)
    assert tree.can_exchange == tree.native
    assert tree.has_leases


def test_a_page_moved_aside_by_a_dead_writer_is_put_back(tree: Tree, root: Path) -> None:
    journal = Journal(tree, "mcp-1")
    (root / "A.md").write_bytes(b"old")
    with ExitStack() as killed:
        name = killed.enter_context(journal.set_aside(LABEL, "A.md"))
        (root / "A.md").rename(root / ".mirrord/tmp/mcp-1" / name)
        killed.pop_all()  # no clean-up in a dead process
    journal.close()

    again = Journal(tree, "mcp-1")

    assert (root / "A.md").read_bytes() == b"old"
    assert again.leftovers() == []


def test_a_name_that_is_not_utf_8_can_be_written(tree: Tree, journal: Journal, root: Path) -> None:
    replace.write(tree, journal, "caf\udce9.md", b"new", replace.ExpectedFile(ENTRY, None))

    assert tree.read("caf\udce9.md", 100)[0] == b"new"
