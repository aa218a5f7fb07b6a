"""A sample of the kills and errors at the system calls of an apply; `make fault CAMPAIGN=changes` plays all of them."""

import random
from pathlib import Path

import pytest

from mirrord.mirror.process_setup import prepare_process
from tests.faults import change_sets
from tests.faults.injection import missing

SAMPLE, SEED = 10, 21


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
@pytest.mark.parametrize("choice", change_sets.CHOICES)
def test_an_apply_with_a_fault_at_any_system_call_is_all_or_nothing(tmp_path: Path, choice: str) -> None:
    prepare_process()
    rehearsal = change_sets.rehearse(tmp_path, choice)
    points = list(rehearsal.points())
    assert len(points) > 100
    last_syncs = [point for point in points if point.call == "fsync" and point.error is not None][-3:]
    sampled = [*random.Random(SEED).sample(points, SAMPLE), *last_syncs]  # full after everything was done

    assert [sentence for point in sampled for sentence in change_sets.play(tmp_path, rehearsal, point)] == []
