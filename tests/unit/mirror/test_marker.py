import stat
from pathlib import Path
from uuid import uuid4

import pytest

from mirrord.domain.entry import MirrorId, TenantId
from mirrord.errors import Damaged
from mirrord.mirror import marker
from mirrord.mirror.marker import Marker
from mirrord.mirror.tree import Tree

MARKER = Marker("acme", TenantId(uuid4()), MirrorId(uuid4()))


def test_a_marker_is_read_as_it_was_written(tree: Tree, root: Path) -> None:
    assert marker.read(tree) is None

    marker.write(tree, MARKER)
    assert marker.read(tree) == MARKER

    copy = Marker("acme", MARKER.tenant_id, MirrorId(uuid4()))
    marker.write(tree, copy)
    assert marker.read(tree) == copy
    assert sorted(path.name for path in (root / ".mirrord").iterdir()) == [".gitignore", "id", "tmp", "trash"]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"tenant": "a", "tenant_id": "x", "mirror": 7}', "\xff"])
def test_a_marker_that_cannot_be_understood_is_damaged(tree: Tree, root: Path, text: str) -> None:
    marker.make_state_directory(tree)
    (root / ".mirrord/id").write_bytes(text.encode("latin-1"))

    with pytest.raises(Damaged, match="which mirror"):
        marker.read(tree)


def test_git_does_not_see_private_state(tree: Tree, root: Path) -> None:
    marker.make_state_directory(tree)

    assert (root / ".mirrord/.gitignore").read_text() == "*\n"


def test_a_fresh_root_is_private_and_an_existing_one_keeps_its_mode(tmp_path: Path) -> None:
    assert marker.make_root(tmp_path / "mirror" / "acme")
    assert stat.S_IMODE((tmp_path / "mirror" / "acme").stat().st_mode) == 0o700

    assert marker.make_root(tmp_path / "shared", 0o2770)
    assert not marker.make_root(tmp_path / "shared", 0o700)
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o2770
