"""An import goes in chunks, of which one is looked at while the one before is written: what if they meet?"""

from collections.abc import Callable
from pathlib import Path

import pytest

from mirrord.domain.entry import new_id
from mirrord.sync.work_queue import CHUNK_MARKS
from tests.faults.scenarios import Scenario
from tests.faults.stage import Stage, staged
from tests.faults.stage_oracle import wrong
from tests.faults.world import Cluster
from tests.support.entries import value

AGREED = "SELECT count(*) FROM mirrord.page WHERE markdown IS NOT NULL AND deleted_at IS NULL"


def _a_page_and_its_folder(stage: Stage) -> int:
    """One is the last of its chunk, the other the first of the next."""
    stage.save("z/_index.md", "the folder's own text\n")
    return 1


def _a_note_and_its_folder(stage: Stage) -> int:
    stage.save("z.md", "the folder's own text\n")
    return 1


def _copies_of_one_page(stage: Stage) -> int:
    text = f"---\nid: {new_id()}\n---\na page\n"
    stage.save("a page.md", text)
    stage.save("z/a copy.md", text)
    return 2


def _a_folder_before_its_folder(stage: Stage) -> int:
    stage.save("z/a/page.md", "deep\n")
    return 1


@pytest.mark.parametrize(
    "meet", [_a_page_and_its_folder, _a_note_and_its_folder, _copies_of_one_page, _a_folder_before_its_folder]
)
def test_what_belongs_together_is_taken_in_although_it_comes_in_two_chunks(
    own_cluster: Cluster, tmp_path: Path, meet: Callable[[Stage], int]
) -> None:
    scenario = Scenario(meet.__name__, lambda _: None, lambda _: None, frozenset())
    with staged(own_cluster, tmp_path, meet.__name__.replace("_", "-").strip("-")) as stage:
        pages = meet(stage)
        beside = 2 * CHUNK_MARKS - 1 - len([path for path in stage.root.iterdir() if path.is_file()])  # and z
        for number in range(beside):
            stage.save(f"m {number:04}.md", f"page {number}\n")
        for number in range(CHUNK_MARKS):
            stage.save(f"z/m {number:04}.md", f"page {number}\n")
        stage.converge()

        assert value(stage.app, AGREED) == pages + beside + CHUNK_MARKS
        assert wrong(stage, scenario) == []
