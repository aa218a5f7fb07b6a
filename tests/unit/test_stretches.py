"""How far long work is."""

import pytest

from mirrord.domain.measures import Work
from mirrord.sync import engine_parts
from mirrord.sync.engine_parts import IMPORT_ENTRIES, ImportProgress, ScanProgress


def test_a_stretch_counts_from_where_it_began_and_ends_when_little_waits() -> None:
    stretch = ImportProgress()
    assert stretch.progress(3, 1000) is None
    assert stretch.progress(IMPORT_ENTRIES, 1000) == Work("import", 0, IMPORT_ENTRIES)
    assert stretch.progress(2 * IMPORT_ENTRIES, 1100) == Work(
        "import", 100, 100 + 2 * IMPORT_ENTRIES
    )  # more came meanwhile
    assert stretch.progress(IMPORT_ENTRIES - 1, 1000 + 2 * IMPORT_ENTRIES) is None
    assert stretch.progress(IMPORT_ENTRIES, 1000 + 2 * IMPORT_ENTRIES) == Work("import", 0, IMPORT_ENTRIES)


def test_a_look_at_the_tree_is_told_only_when_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    scanning = ScanProgress(expected=100)
    scanning.set_count(40)
    assert scanning.progress() is None
    monkeypatch.setattr(engine_parts, "LONG_SCAN_SECONDS", 0.0)
    assert scanning.progress() == Work("scan", 40, 100)
    scanning.set_count(101)  # more than was there the last time
    assert scanning.progress() == Work("scan", 101, None)
