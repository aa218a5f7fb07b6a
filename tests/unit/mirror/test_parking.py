"""What is parked comes back, whoever died."""

from pathlib import Path
from uuid import UUID

import pytest

from mirrord.domain.entry import EntryId
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import parked_name

NAME = parked_name(EntryId(UUID(int=1)), directory=False)


@pytest.fixture
def file(root: Path) -> Path:
    (root / "a.md").write_bytes(b"alpha")
    return root / "a.md"


def restarted(tree: Tree, journal: Journal) -> None:
    """A journal whose writer died, opened by the next."""
    journal.close()
    Journal(tree, "daemon").close()


@pytest.fixture
def journal(tree: Tree) -> Journal:
    return Journal(tree, "daemon")


def test_what_is_parked_is_neither_in_the_tree_nor_a_leftover(journal: Journal, file: Path) -> None:
    journal.park("a.md", NAME, "b.md")
    assert not file.exists()
    assert journal.leftovers() == []
    journal.unpark(NAME, "b.md")
    assert file.with_name("b.md").read_bytes() == b"alpha"
    assert list((file.parent / ".mirrord/tmp/daemon").iterdir()) == []
    journal.close()


@pytest.mark.parametrize(
    ("taken_paths", "place"),
    [
        ([], "To/b.md"),
        (["To/b.md"], "a.md"),
        (["To/b.md", "a.md"], "a (2).md"),
        (["To/b.md", "a.md", "a (2).md"], "a (3).md"),
        (["To"], "a.md"),
    ],
)
def test_after_a_crash_it_is_where_it_was_to_go_or_where_it_was_or_beside_that(
    tree: Tree, journal: Journal, file: Path, taken_paths: list[str], place: str
) -> None:
    journal.park("a.md", NAME, "To/b.md")
    for path in taken_paths:
        (file.parent / path).parent.mkdir(exist_ok=True)
        (file.parent / path).write_bytes(b"other")
    restarted(tree, journal)
    assert (file.parent / place).read_bytes() == b"alpha"
    assert all((file.parent / path).read_bytes() == b"other" for path in taken_paths)
    assert list((file.parent / ".mirrord/tmp/daemon").iterdir()) == []


def test_a_directory_comes_back_with_what_is_in_it(tree: Tree, journal: Journal, root: Path) -> None:
    (root / "Old").mkdir()
    (root / "Old/page.md").write_bytes(b"page")
    journal.park("Old", NAME, "New")
    restarted(tree, journal)
    assert (root / "New/page.md").read_bytes() == b"page"


def test_a_note_of_what_was_never_parked_is_dropped(tree: Tree, journal: Journal, file: Path) -> None:
    (file.parent / ".mirrord/tmp/daemon" / f"{NAME}.path").write_bytes(b"b.md\0a.md")
    restarted(tree, journal)
    assert file.read_bytes() == b"alpha"
    assert list((file.parent / ".mirrord/tmp/daemon").iterdir()) == []


def test_where_the_directory_itself_is_gone_it_comes_back_at_the_root(tree: Tree, journal: Journal, root: Path) -> None:
    (root / "Deep").mkdir()
    (root / "Deep/a.md").write_bytes(b"alpha")
    journal.park("Deep/a.md", NAME, "Deep/b.md")
    (root / "Deep").rmdir()
    (root / "Deep").write_bytes(b"a file")
    restarted(tree, journal)
    assert (root / "a (2).md").read_bytes() == b"alpha"
