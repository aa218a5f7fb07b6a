"""Acts of the random histories note what they did, also if they end half-way."""

import subprocess
from pathlib import Path

import pytest

from tests.faults.tokens import Ledger
from tests.faults.tool_acts import check_out, commit_tree
from tests.faults.world import Cluster, World


def refuse_checkout_of(root: Path, name: str) -> None:
    """A filter of git fails on the file, after git has written those before it."""
    for setting in ("clean=cat", "smudge=false", "required=true"):
        key, _, value = setting.partition("=")
        subprocess.run(["git", "config", f"filter.refusal.{key}", value], cwd=root, check=True)
    (root / ".git" / "info" / "attributes").write_text(f"{name} filter=refusal\n", encoding="utf-8")


def test_a_checkout_that_ends_half_way_notes_the_files_that_git_brought_back(
    own_cluster: Cluster, tmp_path: Path
) -> None:
    world, ledger = World(own_cluster, tmp_path, "half-way"), Ledger()
    root = world.mirrors[0].root
    root.mkdir(parents=True)
    for name in ("First", "Second"):
        (root / f"{name}.md").write_text(f"A page {ledger.token()}.\n", encoding="utf-8")
    commit_tree(world, ledger, 0, 0)
    (root / "First.md").rename(root / "Moved.md")
    (root / "Second.md").unlink()
    refuse_checkout_of(root, "Second.md")
    with pytest.raises(OSError, match="smudge filter"):
        check_out(world, ledger, 0, 0)
    assert (root / "First.md").is_file()
    assert "Qz0001" in ledger.copied
