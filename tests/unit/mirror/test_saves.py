import os
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from mirrord.domain.entry import EntryId, digest_of
from mirrord.mirror.seen_files import Index, is_complete
from mirrord.mirror.state_file import CachedStat
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.tenant_tree import Tree

NOTHING = Ignore()
KNOWN = ("A.md", "B.md", "Projects/Alpha.md", "assets/plan.png")


@pytest.fixture
def tree(root: Path) -> Iterator[Tree]:
    for path in KNOWN:
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_bytes(path.encode())
    tree = Tree(root)
    yield tree
    tree.close()


@pytest.fixture
def index(tree: Tree) -> Index:
    index = Index({})
    for path in (*KNOWN, "Projects"):
        stat = tree.stat(path)
        assert stat is not None
        index.record(path, CachedStat(*stat[:5], digest_of(b""), EntryId(UUID(int=1))))
    return index


def save(path: Path, data: bytes) -> None:
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(data)
    beside.replace(path)


@pytest.mark.parametrize("path", ["A.md", "Projects/Alpha.md", "assets/plan.png"])
def test_new_content_of_a_known_file_is_told_however_it_was_saved(tree: Tree, index: Index, path: str) -> None:
    (tree.root / path).write_bytes(b"in place")
    assert is_complete(tree, index, NOTHING, path)
    save(tree.root / path, b"by a new file")
    assert is_complete(tree, index, NOTHING, path)


@pytest.mark.parametrize("path", [".A.md.swp", "A.md~", "4913", "sedXy12", ".mirrord/state.db", ".obsidian/app.json"])
def test_what_is_no_page_is_told_whether_it_is_there_or_not(tree: Tree, index: Index, path: str) -> None:
    assert is_complete(tree, index, NOTHING, path)
    (tree.root / path).parent.mkdir(exist_ok=True)
    (tree.root / path).write_bytes(b"x")
    assert is_complete(tree, index, NOTHING, path)


def test_a_name_that_came_or_went_waits(tree: Tree, index: Index) -> None:
    (tree.root / "A.md").rename(tree.root / "C.md")
    assert not is_complete(tree, index, NOTHING, "A.md")
    assert not is_complete(tree, index, NOTHING, "C.md")
    (tree.root / "Archive").mkdir()
    assert not is_complete(tree, index, NOTHING, "Archive")


def test_a_known_file_at_the_name_of_another_waits(tree: Tree, index: Index) -> None:
    (tree.root / "A.md").replace(tree.root / "B.md")
    assert not is_complete(tree, index, NOTHING, "B.md")


def test_the_number_of_a_file_that_was_replaced_is_no_rename(tree: Tree, index: Index) -> None:
    old = index.get("A.md")
    assert old is not None
    save(tree.root / "B.md", b"beta")
    stat = tree.stat("B.md")
    assert stat is not None
    index.record("A.md", old._replace(inode=stat.inode))  # A.md had this number once
    index.record("A.md", old)
    assert is_complete(tree, index, NOTHING, "B.md")


def test_an_empty_file_and_a_directory_wait(tree: Tree, index: Index) -> None:
    (tree.root / "A.md").write_bytes(b"")
    assert not is_complete(tree, index, NOTHING, "A.md")
    assert not is_complete(tree, index, NOTHING, "Projects")


def test_what_is_no_file_waits(tree: Tree, index: Index) -> None:
    (tree.root / "A.md").unlink()
    (tree.root / "A.md").symlink_to("B.md")
    assert not is_complete(tree, index, NOTHING, "A.md")
    (tree.root / "B.md").unlink()
    os.mkfifo(tree.root / "B.md")
    assert not is_complete(tree, index, NOTHING, "B.md")
