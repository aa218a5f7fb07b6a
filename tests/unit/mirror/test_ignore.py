from pathlib import Path

import pytest

from mirrord.errors import Damaged
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.tenant_tree import Tree


def test_a_tree_without_patterns_ignores_nothing(tree: Tree, root: Path) -> None:
    assert not Ignore.load(tree).matches("A.md", False)

    (root / ".mirrorignore").write_text("# only a comment\n\n")
    ignore = Ignore.load(tree)
    assert ignore.is_empty
    assert not ignore.matches("A.md", False)


def test_patterns_are_gits(tree: Tree, root: Path) -> None:
    (root / ".mirrorignore").write_text("drafts/\n*.draft.md\n!keep.draft.md\n/top.md\n", encoding="utf-8-sig")
    ignore = Ignore.load(tree)

    assert ignore.matches("A/drafts", True)
    assert not ignore.matches("A/drafts", False)
    assert ignore.matches("drafts/x.md", False)
    assert ignore.matches("A/x.draft.md", False)
    assert not ignore.matches("A/keep.draft.md", False)
    assert ignore.matches("top.md", False)
    assert not ignore.matches("A/top.md", False)


def test_patterns_that_cannot_be_read_are_damaged(tree: Tree, root: Path) -> None:
    (root / ".mirrorignore").write_bytes(b"caf\xe9/\n")
    with pytest.raises(Damaged, match="UTF-8"):
        Ignore.load(tree)

    with pytest.raises(Damaged, match="pattern"):
        Ignore("!\n")
