"""Where files belong that rows tell of: parents by this batch's rows, others by what was agreed."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import NO_TEXT, Base, EntryId, Kind, Place, Row
from mirrord.sync.writing.target_paths import resolve_paths, split_into_generations, without_content

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


@given(st.dictionaries(st.sampled_from([A, B, C, D]), st.none() | st.sampled_from([A, B, C, D])))
def test_each_entry_is_in_one_generation_and_its_parent_in_an_earlier_one_unless_they_form_a_circle(
    parents: dict[EntryId, EntryId | None],
) -> None:
    rows = {entry: row(entry, parent, "x") for entry, parent in parents.items()}
    generations = split_into_generations(rows)
    assert sorted(entry for generation in generations for entry in generation) == sorted(rows)
    number_of = {entry: number for number, generation in enumerate(generations) for entry in generation}
    for entry, parent in parents.items():
        if parent in rows and not _is_below_circle(entry, parents):
            assert parent is not None
            assert number_of[parent] < number_of[entry]


def _is_below_circle(entry: EntryId, parents: dict[EntryId, EntryId | None]) -> bool:
    above: EntryId | None = entry
    for _ in parents:
        above = parents.get(above) if above is not None else None
    return above is not None and above in parents


def test_content_of_an_entry_is_what_lies_below_it_at_any_depth() -> None:
    rows = {A: row(A, None, "A"), B: row(B, A, "B"), C: row(C, B, "C"), D: row(D, None, "D")}
    paths = {A: "A", B: "A/B", C: "A/B/C", D: "D"}
    assert without_content({A}, rows, paths) == {A: "A", D: "D"}
    assert without_content({B, D}, rows, paths) == {A: "A", B: "A/B", D: "D"}
