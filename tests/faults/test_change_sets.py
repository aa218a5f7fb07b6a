"""A sample of the kills and errors at the system calls of an apply; `tests.faults.change_sets` has all of them."""

import random
from pathlib import Path

import pytest

from mirrord.mirror.process_setup import prepare_process
from tests.faults import change_sets
from tests.faults.injection import missing

SAMPLE, SEED = 25, 21


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_an_apply_with_a_fault_at_any_system_call_is_all_or_nothing(tmp_path: Path) -> None:
    prepare_process()
    rehearsal = change_sets.rehearse(tmp_path)
    points = list(rehearsal.points())
    assert len(points) > 100
    sampled = random.Random(SEED).sample(points, SAMPLE)

    assert [sentence for point in sampled for sentence in change_sets.play(tmp_path, rehearsal, point)] == []
