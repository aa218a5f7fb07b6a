"""Figures beside goals and floors, and the parts they come from."""

import json
from pathlib import Path

from tests.bench import record
from tests.bench.figures import Figure, Goal, as_json, tail
from tests.bench.parts import HUGE, LARGE, PARTS, minutes
from tests.bench.record import Measured


def test_a_goal_is_met_only_within_its_limit_and_its_multiple_of_the_floor() -> None:
    both = Goal(15.0, 1.5)

    assert Figure("edit", 14.0, "ms", both, floor=10.0).met is True
    assert Figure("edit", 16.0, "ms", both, floor=12.0).met is False, "over the limit"
    assert Figure("edit", 14.0, "ms", both, floor=9.0).met is False, "over the multiple"
    assert Figure("heads", 90.0, "%", Goal(100.0, at_least=True)).met is False
    assert Figure("heads", 100.0, "%", Goal(100.0, at_least=True)).met is True


def test_a_percentile_beyond_the_median_stands_beside_the_floors_and_is_not_judged() -> None:
    spans, bare = [10.0] * 99 + [900.0], [5.0] * 100

    figure = tail("edit", spans, 40.0, bare)

    assert figure.value is not None
    assert figure.value > 10.0
    assert (figure.floor, figure.met) == (5.0, None)


def test_what_is_not_there_yet_has_neither_ratio_nor_verdict() -> None:
    missing = Figure("export", None, "s", Goal(3.0), floor=1.0)

    assert (missing.ratio, missing.met) == (None, None)
    assert as_json([missing])[0]["value"] is None


def test_a_part_measured_anew_replaces_itself_in_the_record_and_nothing_else(tmp_path: Path) -> None:
    file, order = tmp_path / "1.json", ["one", "two"]

    for part, value in (("two", 1.0), ("one", 2.0), ("two", 3.0)):
        record.add(
            file, Measured(part, [Figure("a", value, "s")], seconds=1.0, stolen=0.0, load=0.0, turning=0.2), order
        )

    parts = json.loads(file.read_text(encoding="utf-8"))["parts"]
    assert [(name, part["figures"][0]["value"]) for name, part in parts.items()] == [("one", 2.0), ("two", 3.0)]
    assert all(part["commit"] for part in parts.values())


def test_every_part_has_a_name_of_its_own_and_trees_are_counted_once() -> None:
    assert len({part.name for part in PARTS}) == len(PARTS)
    shared = [part for part in PARTS if part.pages == LARGE]
    alone = sum(minutes([part]) for part in shared)
    assert minutes(shared) < alone


def test_parts_on_equally_many_pages_follow_each_other_and_the_largest_come_last() -> None:
    sizes = [part.pages for part in PARTS if part.pages]

    assert sizes == sorted(sizes)
    regular_sizes = [part.pages for part in PARTS if not part.on_request]
    assert regular_sizes[-4:] == [HUGE] * regular_sizes.count(HUGE)
