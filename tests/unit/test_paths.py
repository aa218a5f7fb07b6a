"""Paths of bases whose entry shows itself as another kind than it was."""

import pytest

from mirrord.domain.entry import NO_TEXT, Base, Kind, Place
from mirrord.mirror.tree.tree_layout import INDEX_FILE, spot_of_directory, spot_of_file
from mirrord.sync.writing.target_paths import moved_base
from tests.unit.states import ENTRY, FOLDER, A

THERE = Place(FOLDER, "V")


def agreed(kind: Kind, path: str, *, index: bool = False) -> Base:
    digest = NO_TEXT if kind is Kind.FOLDER else A
    return Base(ENTRY, kind, path, Place(None, "W", index), 2, digest, None)


@pytest.mark.parametrize(
    ("before", "kind", "path", "after"),
    [
        (agreed(Kind.PAGE, "W.md"), Kind.PAGE, "Box/V.md", "Box/V.md"),
        (agreed(Kind.PAGE, "W.md"), Kind.FOLDER, "Box/V", "Box/V.md"),
        (agreed(Kind.PAGE, "W/_index.md", index=True), Kind.FOLDER, "Box/V", "Box/V/_index.md"),
        (agreed(Kind.FOLDER, "W"), Kind.FOLDER, "Box/V", "Box/V"),
        (agreed(Kind.FOLDER, "W"), Kind.PAGE, "Box/V.md", "Box/V"),
        (agreed(Kind.FOLDER, "W"), Kind.PAGE, "Box/V/_index.md", "Box/V"),
    ],
)
def test_what_moved_keeps_in_its_base_the_form_it_had(before: Base, kind: Kind, path: str, after: str) -> None:
    place = Place(THERE.parent, THERE.name, path.endswith(INDEX_FILE))
    base = moved_base(before, kind, path, place)
    assert (base.kind, base.path, base.digest) == (before.kind, after, before.digest)
    spot = (spot_of_directory if base.kind is Kind.FOLDER else spot_of_file)(after)
    assert spot is not None
    assert (base.place.parent, base.place.name, base.place.index) == (FOLDER, "V", spot.index)
