"""How far long work is."""

import pytest

from mirrord.domain.measures import Work
from mirrord.sync import stretches
from mirrord.sync.stretches import MANY, Scanning, Stretch


def test_a_stretch_counts_from_where_it_began_and_ends_when_little_waits() -> None:
    stretch = Stretch()
    assert stretch.look(3, 1000) is None
    assert stretch.look(MANY, 1000) == Work("import", 0, MANY)
    assert stretch.look(2 * MANY, 1100) == Work("import", 100, 100 + 2 * MANY)  # more came meanwhile
    assert stretch.look(MANY - 1, 1000 + 2 * MANY) is None
    assert stretch.look(MANY, 1000 + 2 * MANY) == Work("import", 0, MANY)


def test_a_look_at_the_tree_is_told_only_when_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    scanning = Scanning(expected=100)
    scanning.tell(40)
    assert scanning.look() is None
    monkeypatch.setattr(stretches, "LONG", 0.0)
    assert scanning.look() == Work("scan", 40, 100)
    scanning.tell(101)  # more than was there the last time
    assert scanning.look() == Work("scan", 101, None)
