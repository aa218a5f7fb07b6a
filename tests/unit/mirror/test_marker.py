import stat
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from mirrord.domain.dialect import DayFormats, Dialect
from mirrord.domain.entry import MirrorId, TenantId
from mirrord.errors import Damaged
from mirrord.mirror import tree_marker
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree_marker import Marker

MARKER = Marker("acme", TenantId(uuid4()), MirrorId(uuid4()))


def test_a_marker_is_read_as_it_was_written(tree: Tree, root: Path) -> None:
    assert tree_marker.read(tree) is None

    tree_marker.write(tree, MARKER)
    assert tree_marker.read(tree) == MARKER

    copy = Marker("acme", MARKER.tenant_id, MirrorId(uuid4()))
    tree_marker.write(tree, copy)
    assert tree_marker.read(tree) == copy
    assert sorted(path.name for path in (root / ".mirrord").iterdir()) == [".gitignore", "id", "tmp", "trash"]


DAMAGED = ["", "{", "[]", "{}", '{"tenant": "a", "tenant_id": "x", "mirror": 7}', "\xff", "[" * 60_000]


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_a_marker_that_cannot_be_understood_is_damaged(tree: Tree, root: Path, text: str) -> None:
    tree_marker.write(tree, MARKER)
    (root / ".mirrord/id").write_bytes(text.encode("latin-1"))

    with pytest.raises(Damaged, match="which mirror"):
        tree_marker.read(tree)


def test_git_does_not_see_private_state(tree: Tree, root: Path) -> None:
    tree_marker.write(tree, MARKER)

    assert (root / ".mirrord/.gitignore").read_text() == "*\n"


def test_a_fresh_root_is_private_and_an_existing_one_keeps_its_mode(tmp_path: Path) -> None:
    assert tree_marker.make_root(tmp_path / "mirror" / "acme")
    assert stat.S_IMODE((tmp_path / "mirror" / "acme").stat().st_mode) == 0o700

    assert tree_marker.make_root(tmp_path / "shared", 0o2770)
    assert not tree_marker.make_root(tmp_path / "shared", 0o700)
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o2770


def test_formats_of_days_are_in_the_marker(tree: Tree) -> None:
    marker = replace(MARKER, dialect=Dialect.LOGSEQ, days=DayFormats("dd-MM-yyyy", "yyyyMMdd"))
    tree_marker.write(tree, marker)

    assert tree_marker.read(tree) == marker


def test_the_dialect_is_in_the_marker_and_one_that_is_not_known_is_plain(tree: Tree, root: Path) -> None:
    tree_marker.write(tree, replace(MARKER, dialect=Dialect.LOGSEQ))
    assert tree_marker.read(tree) == replace(MARKER, dialect=Dialect.LOGSEQ)

    file = root / ".mirrord/id"
    file.write_text(file.read_text().replace("logseq", "of-a-later-version"))
    assert tree_marker.read(tree) == MARKER
