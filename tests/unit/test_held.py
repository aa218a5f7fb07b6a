"""A file that a program keeps open for writing: left alone, then read now and then, never replaced meanwhile."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mirrord.domain.entry import File
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.seen_files import Index
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.sync.decisions.entry_decision import Move, Step, decide
from mirrord.sync.observation.file_look import Looker
from mirrord.sync.observation.open_files import PATIENCE_SECONDS, SNAPSHOT_SECONDS, OpenFiles
from tests.unit.states import THERE, A, B, C, all_states, base, file, row, state


class Clock:
    """Seconds that pass when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def looker(tmp_path: Path, clock: Clock) -> Iterator[Looker]:
    prepare_process()
    tree = Tree(tmp_path)
    if not tree.has_leases:
        pytest.skip("this file system does not tell who writes")
    yield Looker(tree, Index({}), Ignore(), OpenFiles(clock))
    tree.close()


def test_a_file_held_open_is_read_after_a_while_and_then_now_and_then(
    looker: Looker, clock: Clock, tmp_path: Path
) -> None:
    def held() -> bytes | None:
        look = looker.look_at_paths(["Long.md"], frozenset({"Long.md"}))
        assert look.paths_to_retry == ["Long.md"]
        assert look.troubles == []
        found_file = look.found_files.get("Long.md")
        assert found_file is None or found_file.is_held_open
        return found_file.data if found_file else None

    with (tmp_path / "Long.md").open("w") as writer:
        writer.write("first\n")
        writer.flush()
        assert held() is None
        clock.now = PATIENCE_SECONDS - 0.1
        assert held() is None
        clock.now = PATIENCE_SECONDS
        assert held() == b"first\n"
        writer.write("second\n")
        writer.flush()
        assert held() is None
        clock.now += SNAPSHOT_SECONDS
        assert held() == b"first\nsecond\n"
    look = looker.look_at_paths(["Long.md"], frozenset({"Long.md"}))
    assert (look.found_files["Long.md"].is_held_open, look.paths_to_retry) == (False, [])
    with (tmp_path / "Long.md").open("a"):
        assert held() is None  # opened anew: its time begins anew


def test_of_a_held_file_only_snapshots_go_to_the_row() -> None:
    for situation in all_states():
        if isinstance(situation.file, File):
            held_situation = replace(situation, file=replace(situation.file, is_held_open=True))
            step = decide(held_situation, seen_version=None, adopting=False).step
            free = decide(situation, seen_version=None, adopting=False)
            assert step in (free.step, Step.LATER)
            assert step not in (Step.FILE, Step.DELETE)
            assert step is not Step.ROW or free.move in (Move.INSERT, Move.ADOPT, Move.TO_ROW)


def test_a_change_of_the_row_waits_until_the_file_is_free_and_is_merged_then() -> None:
    newer, edited = row(C, version=3), file(B)
    assert (
        decide(state(base(A), replace(edited, is_held_open=True), newer), seen_version=None, adopting=False).step
        is Step.LATER
    )
    assert decide(state(base(A), edited, newer), seen_version=None, adopting=False).move is Move.MERGE
    assert (
        decide(state(base(A), replace(edited, is_held_open=True), row(A)), seen_version=None, adopting=False).move
        is Move.TO_ROW
    )
    elsewhere = row(A, place=THERE, version=3)
    assert (
        decide(state(base(A), replace(edited, is_held_open=True), elsewhere), seen_version=None, adopting=False).step
        is Step.LATER
    )
