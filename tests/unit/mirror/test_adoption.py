"""What other writers left comes into one living journal."""

from pathlib import Path

import pytest

from mirrord.domain.entry import Digest, digest_of, new_id
from mirrord.errors import Stale
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import batch_rename, replace, trash, written_copies
from mirrord.mirror.write.batch_rename import adopt_leftovers
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import Label, label_of
from mirrord.mirror.write.rename_plan import BatchPlan, Rename
from mirrord.mirror.write.written_copies import WrittenEntries

ENTRY = new_id()


def write(tree: Tree, journal: Journal, path: str, data: bytes, over: Digest | None) -> None:
    """As commands write."""
    with written_copies.copy_during_write(journal, Label(ENTRY, over, digest_of(data)), data):
        replace.write(tree, journal, path, data, replace.ExpectedFile(ENTRY, over))


def names(root: Path, writer: str) -> list[str]:
    return sorted(path.name for path in (root / ".mirrord/tmp" / writer).iterdir())


def test_a_copy_of_what_is_written_stays_until_it_is_replaced(tree: Tree, root: Path) -> None:
    journal = Journal(tree, "mcp-1")
    write(tree, journal, "A.md", b"one", None)
    (copy,) = names(root, "mcp-1")
    assert label_of(copy) == Label(ENTRY, None, digest_of(b"one"))
    assert (root / ".mirrord/tmp/mcp-1" / copy).read_bytes() == b"one"
    write(tree, journal, "A.md", b"two", digest_of(b"one"))
    (copy,) = names(root, "mcp-1")
    assert label_of(copy) == Label(ENTRY, digest_of(b"one"), digest_of(b"two"))
    assert {path.read_bytes() for path in (root / ".mirrord/trash").iterdir()} == {b"one"}
    assert written_copies.was_replaced(tree, Label(ENTRY, None, digest_of(b"one")))
    assert not written_copies.was_replaced(tree, Label(ENTRY, digest_of(b"one"), digest_of(b"two")))
    assert WrittenEntries().of_tree(tree) == {digest_of(b"two"): ENTRY}
    journal.close()


def test_entries_of_written_bytes_are_those_of_now_at_every_call(tree: Tree, root: Path) -> None:
    entries, journal, other = WrittenEntries(), Journal(tree, "mcp-1"), Journal(tree, "mcp-2")
    assert [entries.of_tree(tree), entries.of_tree(tree)] == [{}, {}]
    write(tree, journal, "A.md", b"one", None)
    write(tree, other, "B.md", b"two", None)
    assert [entries.of_tree(tree), entries.of_tree(tree)] == [{digest_of(b"one"): ENTRY, digest_of(b"two"): ENTRY}] * 2
    for copy in (root / ".mirrord/tmp/mcp-2").iterdir():
        copy.unlink()
    assert entries.of_tree(tree) == {digest_of(b"one"): ENTRY}
    journal.close()
    other.close()


def test_nothing_is_kept_of_a_write_that_failed(tree: Tree, root: Path) -> None:
    (root / "A.md").write_bytes(b"theirs")
    journal = Journal(tree, "mcp-1")
    with pytest.raises(Stale):
        write(tree, journal, "A.md", b"two", digest_of(b"one"))
    assert names(root, "mcp-1") == []
    journal.close()


def test_the_copies_of_the_dead_and_of_the_living_come_along(tree: Tree, root: Path) -> None:
    dead, alive = Journal(tree, "mcp-1"), Journal(tree, "mcp-2")
    write(tree, dead, "A.md", b"a", None)
    write(tree, alive, "B.md", b"b", None)
    dead.close()
    other = Journal(Tree(root), "mcp-3")
    assert adopt_leftovers(tree, other, include_living=False)
    assert len(names(root, "mcp-3")) == 1
    assert not (root / ".mirrord/tmp/mcp-1").exists()
    daemon = Journal(Tree(root), "daemon")
    assert adopt_leftovers(tree, daemon, include_living=True)
    assert not adopt_leftovers(tree, daemon, include_living=True)
    assert {label.new for label in written_copies.list_copies(daemon).values()} == {digest_of(b"a"), digest_of(b"b")}
    write(tree, alive, "B.md", b"c", digest_of(b"b"))
    assert len(names(root, "mcp-2")) == 1
    for journal in (alive, other, daemon):
        journal.close()


def test_the_journal_of_the_daemon_is_its_own(tree: Tree, root: Path) -> None:
    daemon = Journal(tree, "daemon")
    write(tree, daemon, "A.md", b"a", None)
    daemon.close()
    journal = Journal(tree, "mcp-1")
    assert not adopt_leftovers(tree, journal, include_living=True)
    assert len(names(root, "daemon")) == 1
    journal.close()


def test_a_retired_copy_is_in_the_trash_and_no_late_save(tree: Tree) -> None:
    journal = Journal(tree, "daemon")
    write(tree, journal, "A.md", b"a", None)
    ((name, label),) = written_copies.list_copies(journal).items()
    written_copies.move_to_trash(journal, name, label)
    assert written_copies.list_copies(journal) == {}
    assert trash.late_saves(tree, {}) == []
    assert [item.label.expected for item in trash.list_trash(tree)] == [digest_of(b"a")]
    journal.close()


def test_a_plan_that_cannot_be_done_any_more_is_undone_by_the_next(tree: Tree, root: Path) -> None:
    (root / "A.md").write_bytes(b"a")
    (root / "B.md").write_bytes(b"b")
    dead = Journal(tree, "mcp-1")
    renames = [Rename(path, f"D/{path}", (root / path).stat().st_ino) for path in ("A.md", "B.md")]
    batch_rename._note(dead, BatchPlan(renames))
    (root / "D").mkdir()
    (root / "A.md").rename(root / "D/A.md")
    (root / "D/B.md").write_bytes(b"a person's")
    dead.close()
    journal = Journal(Tree(root), "mcp-2")
    adopt_leftovers(tree, journal, include_living=False)
    assert (root / "A.md").read_bytes() == b"a"
    assert (root / "B.md").read_bytes() == b"b"
    assert (root / "D/B.md").read_bytes() == b"a person's"
    journal.close()


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"renames": [["A.md"]]}'])
def test_a_torn_plan_is_none(tree: Tree, root: Path, text: bytes) -> None:
    (root / "A.md").write_bytes(b"a")
    dead = Journal(tree, "mcp-1")
    dead.create("t.plan", text)
    dead.close()
    journal = Journal(Tree(root), "mcp-2")
    adopt_leftovers(tree, journal, include_living=False)
    assert (root / "A.md").read_bytes() == b"a"
    assert not (root / ".mirrord/tmp/mcp-1").exists()
    journal.close()
