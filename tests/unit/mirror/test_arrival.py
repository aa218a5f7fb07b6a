"""Files that are built in the journal come into the tree together, or not at all, whenever their writer dies."""

import json
from pathlib import Path

import pytest

from mirrord.errors import Stale
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import batch_rename
from mirrord.mirror.write.batch_rename import adopt_leftovers
from mirrord.mirror.write.bulk_create import BuildDirectory, build_directory
from mirrord.mirror.write.journal import JOURNALS_PATH, Journal
from mirrord.mirror.write.rename_plan import BatchPlan, Rename
from tests.unit.kills import killed_at

LINES = "".join(f"{number}\n" for number in range(5))
MANY = 300  # more files than are synced one by one


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "acme"
    directory.mkdir()
    return directory


def bring(root: Path, pages: int = 1) -> None:
    """Two directories of pages and a file, with lines that tell of them."""
    tree = Tree(root)
    journal = Journal(tree, "mcp-1")
    with build_directory(tree, journal, "Sources/New") as arrival:
        for name in ("sources", "cases"):
            arrival.make_directory(name)
            for number in range(pages):
                arrival.write(f"{name}/{number}.md", b"text")
        arrival.write("told", LINES.encode())
        arrival.sync_all()
        batch_rename.carry_out_plan(tree, journal, plan_of(arrival), lambda _: None)
    journal.close()
    tree.close()


def plan_of(arrival: BuildDirectory) -> BatchPlan:
    targets = {"sources": "Sources/New", "cases": "Cases/New"}
    renames = [Rename(arrival.path_in_tree(name), target, arrival.inode_of(name)) for name, target in targets.items()]
    return BatchPlan(renames, staged_lines=(".records/events/day.jsonl", arrival.path_in_tree("told")))


def shown(root: Path) -> set[str]:
    """Every file a person sees."""
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and ".mirrord" not in path.parts}


WHOLE = {"Sources/New/0.md", "Cases/New/0.md", ".records/events/day.jsonl"}


def test_what_was_built_is_there_and_told_and_nothing_is_left_behind(root: Path) -> None:
    bring(root)
    assert shown(root) == WHOLE
    assert (root / ".records/events/day.jsonl").read_text() == LINES
    assert list((root / JOURNALS_PATH / "mcp-1").iterdir()) == []


def test_many_files_are_built_too(root: Path) -> None:
    bring(root, MANY)
    assert len(shown(root)) == 2 * MANY + 1


def test_nothing_comes_where_one_place_is_taken(root: Path) -> None:
    (root / "Cases/New").mkdir(parents=True)
    with pytest.raises(Stale):
        bring(root)
    assert shown(root) == set()
    assert not (root / "Sources/New").exists()


@pytest.mark.usefixtures("unsynced")
def test_it_comes_as_a_whole_or_not_at_all_whenever_its_writer_is_killed(tmp_path: Path) -> None:
    number, outcomes = 0, set()
    while True:
        number += 2
        root = tmp_path / str(number)
        root.mkdir()
        if not killed_at(number, root, bring):
            break
        tree = Tree(root)
        journal = Journal(tree, "next")
        adopt_leftovers(tree, journal, include_living=False)
        journal.close()
        tree.close()
        shown_paths = shown(root)
        outcomes.add(bool(shown_paths))
        assert shown_paths in (set(), WHOLE)
        if shown_paths:
            assert set((root / ".records/events/day.jsonl").read_text().split()) == set(LINES.split())
        assert [path.name for path in (root / JOURNALS_PATH).iterdir()] == ["next"]
    assert outcomes == {True, False}


def test_what_is_built_takes_the_group_of_where_it_goes(root: Path) -> None:
    (root / "Sources").mkdir()
    (root / "Sources").chmod(0o2770)
    bring(root)
    assert (root / "Sources/New").stat().st_mode & 0o2000
    assert not (root / "Cases/New/0.md").stat().st_mode & 0o7


def test_a_plan_of_an_older_writer_is_read(root: Path) -> None:
    tree = Tree(root)
    journal = Journal(tree, "old")
    (root / "a.md").write_text("a")
    inode = (root / "a.md").stat().st_ino
    plan = {"renames": [["a.md", "b.md", inode]], "rewrites": [], "emptied": [], "note": None}
    (root / JOURNALS_PATH / "old/t.plan").write_text(json.dumps(plan))
    batch_rename.finish_plan(tree, journal)
    assert (root / "b.md").read_text() == "a"
    journal.close()
    tree.close()
