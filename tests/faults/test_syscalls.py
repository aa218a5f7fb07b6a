"""A sample of the kills and errors of `make fault`, and the points at which something once went wrong."""

from pathlib import Path

import pytest

from tests.faults import syscalls
from tests.faults.injection import Point, missing
from tests.faults.scenarios import SCENARIOS
from tests.faults.world import Cluster

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}

needs_strace = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@needs_strace
def test_a_file_whose_conflict_is_recorded_gets_its_rows_text_after_a_kill(
    own_cluster: Cluster, tmp_path: Path
) -> None:
    rehearsal = syscalls.rehearse(own_cluster, tmp_path, BY_NAME["both edited, same line"])

    looks = rehearsal.trace.count_before('"p.', "openat2")  # before the first new text is written

    assert syscalls.play(own_cluster, tmp_path, rehearsal, Point("openat2", looks)) == []


@needs_strace
def test_an_engine_outlives_a_disk_that_fails_once_while_it_looks_around(own_cluster: Cluster, tmp_path: Path) -> None:
    rehearsal = syscalls.rehearse(own_cluster, tmp_path, BY_NAME["a new file"])
    last = rehearsal.trace.counts()["openat2"]

    assert syscalls.play(own_cluster, tmp_path, rehearsal, Point("openat2", last, "EIO")) == []
