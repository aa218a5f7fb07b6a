"""When work that can wait is done."""

import pytest

from mirrord.sync.decisions.pacing import MAX_DELAY_SECONDS, is_deferred_work_due


@pytest.mark.parametrize(
    ("worked", "waiting_since", "due"),
    [
        pytest.param(100.0, 99.9, False, id="an edit just now"),
        pytest.param(99.7, 99.9, True, id="a lull"),
        pytest.param(100.0, 100.0 - MAX_DELAY_SECONDS - 0.1, True, id="no lull for too long"),
        pytest.param(0.0, 0.0, True, id="nothing was ever done"),
    ],
)
def test_what_can_wait_waits_for_a_lull_but_not_for_ever(worked: float, waiting_since: float, due: bool) -> None:
    assert is_deferred_work_due(100.0, worked_at=worked, waiting_since=waiting_since, quiet_seconds=0.2) == due
