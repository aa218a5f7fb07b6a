"""What an engine works on next, and what is read meanwhile."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mirrord.domain.entry import digest_of
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.seen_files import Index
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.sync.observation.file_look import Looker
from mirrord.sync.work_queue import CHUNK_MARKS, MIN_READ_AHEAD_FILES, Intake, Queue

MANY = 2 * CHUNK_MARKS + 1


@pytest.fixture(scope="module", autouse=True)
def _prepared() -> None:
    prepare_process()


@pytest.fixture
def looker(tmp_path: Path) -> Iterator[Looker]:
    for number in range(MANY):
        (tmp_path / f"{number}.md").write_text(f"page {number}\n")
    tree = Tree(tmp_path)
    yield Looker(tree, Index({}), Ignore())
    tree.close()


@pytest.fixture
def queue() -> Queue:
    return Queue()


@pytest.fixture
def intake(queue: Queue, looker: Looker) -> Intake:
    return Intake(queue, looker)


def everything() -> list[str]:
    return [f"{number}.md" for number in range(MANY)]


async def test_every_mark_is_taken_once_and_counts_until_it_is_released(queue: Queue, intake: Intake) -> None:
    queue.mark(everything(), forced=True)
    taken_paths: list[str] = []
    while intake.is_ready:
        assert len(queue) + len(intake) + len(taken_paths) == MANY
        dirty, _ = await intake.take_chunk()
        assert len(queue) + len(intake) + len(taken_paths) == MANY
        taken_paths += dirty.paths
        intake.release(dirty)
    assert sorted(taken_paths) == sorted(everything())
    assert len(queue) + len(intake) == 0


async def test_the_files_of_the_next_chunk_of_an_import_are_read_already(queue: Queue, intake: Intake) -> None:
    queue.mark(everything(), forced=True)
    await intake.take_chunk()
    dirty, look = await intake.take_chunk()
    assert look is not None
    assert {path: found_file.digest for path, found_file in look.found_files.items()} == {
        path: digest_of(f"page {path.removesuffix('.md')}\n".encode()) for path in dirty.paths
    }


@pytest.mark.parametrize(("remaining", "is_read"), [(MIN_READ_AHEAD_FILES, True), (MIN_READ_AHEAD_FILES - 1, False)])
async def test_what_is_left_for_the_last_chunk_is_read_ahead_if_it_is_worth_it(
    queue: Queue, intake: Intake, remaining: int, is_read: bool
) -> None:
    queue.mark(everything()[: CHUNK_MARKS + remaining], forced=True)
    await intake.take_chunk()
    dirty, look = await intake.take_chunk()
    assert (len(dirty.paths), look is not None) == (remaining, is_read)


@pytest.mark.parametrize("forced", [True, False])
async def test_what_was_seen_ahead_is_seen_again_after_files_were_written(
    queue: Queue, intake: Intake, forced: bool, tmp_path: Path
) -> None:
    queue.mark(everything(), forced=forced)
    await intake.take_chunk()
    await intake.discard_read_ahead()
    (tmp_path / "800.md").write_text("written meanwhile\n")
    remaining_paths: set[str] = set()
    while intake.is_ready:
        dirty, look = await intake.take_chunk()
        remaining_paths |= dirty.paths
        if look is not None and "800.md" in look.found_files:
            assert look.found_files["800.md"].digest == digest_of(b"written meanwhile\n")
    assert len(remaining_paths) == MANY - CHUNK_MARKS


async def test_marks_whose_files_need_not_be_read_are_not_looked_at_ahead(queue: Queue, intake: Intake) -> None:
    queue.mark(everything())
    await intake.take_chunk()
    dirty, look = await intake.take_chunk()
    assert (look, dirty.forced) == (None, frozenset())
