"""Where files belong that rows tell of: parents by this batch's rows, others by what was agreed."""

from uuid import UUID

import pytest

from mirrord.domain.entry import NO_TEXT, Base, EntryId, Kind, Place, Row
from mirrord.sync.writing.target_paths import resolve_paths

A, B, C, D = (EntryId(UUID(int=number)) for number in range(1, 5))


def base(entry: EntryId, path: str, parent: EntryId | None = None) -> Base:
    """Of a folder that was agreed to be at *path*."""
    return Base(entry, Kind.FOLDER, path, Place(parent, path.rpartition("/")[2]), 1, NO_TEXT, None)


def row(entry: EntryId, parent: EntryId | None, name: str) -> Row:
    """Of a folder that is to be below *parent*."""
    return Row(entry, Kind.FOLDER, Place(parent, name), True, 2, NO_TEXT, deleted=False)


def resolved(rows: list[Row], bases: list[Base]) -> dict[EntryId, str]:
    return resolve_paths({row.entry: row for row in rows}, {base.entry: base for base in bases})


def test_a_folder_goes_where_the_one_above_it_goes_in_the_same_batch() -> None:
    bases = [base(A, "A"), base(B, "A/B", A), base(C, "A/B/C", B)]
    assert resolved([row(A, None, "New"), row(C, B, "C")], bases) == {A: "New", C: "New/B/C"}
    assert resolved([row(B, None, "B"), row(A, B, "A")], bases) == {B: "B", A: "B/A"}


@pytest.mark.parametrize("parent", [B, C])
def test_a_folder_that_goes_below_what_has_to_leave_it_first_waits(parent: EntryId) -> None:
    bases = [base(A, "A"), base(B, "A/B", A), base(C, "A/B/C", B), base(D, "D")]
    assert resolved([row(A, parent, "A")], bases) == {}
    assert resolved([row(A, parent, "A"), row(D, A, "D")], bases) == {}


def test_a_folder_whose_parent_is_nowhere_waits() -> None:
    assert resolved([row(A, B, "A")], [base(A, "A")]) == {}


def test_folders_far_below_each_other_are_followed() -> None:
    entries = [EntryId(UUID(int=number + 1)) for number in range(150)]
    rows = [row(entry, parent, "x") for entry, parent in zip(entries, [None, *entries], strict=False)]
    assert resolved(list(reversed(rows)), [])[entries[-1]] == "/".join("x" * 150)
