"""Merging two edits of a record."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.place import RecordFormat
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.record_text import Data, canonical_json, read_record, write_record
from mirrord.markdown.frontmatter.yaml_reader import REMOVED, is_same_json
from mirrord.merge.edit_merge import merge_record

BASE = "# Books\ndir: Books\npatterns:\n  - novels/**\n  - essays/**\n"

_data = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3) | st.text("xy", max_size=2), max_size=4)


@given(st.sampled_from(RecordFormat), _data, _data, _data)
def test_a_merge_has_what_either_side_changed_and_there_is_none_where_both_did(
    form: RecordFormat, base: Data, file: Data, row: Data
) -> None:
    texts = [write_record(form, None, data) for data in (base, file, row)]
    merged = merge_record(form, *texts)
    clash = any(
        not is_same_json(file.get(key, REMOVED), row.get(key, REMOVED))
        and not is_same_json(file.get(key, REMOVED), base.get(key, REMOVED))
        and not is_same_json(row.get(key, REMOVED), base.get(key, REMOVED))
        for key in "abcd"
    )
    if clash:
        assert merged is None
    elif merged is not None:
        mine = {
            key: file.get(key) for key in "abcd" if not is_same_json(file.get(key, REMOVED), base.get(key, REMOVED))
        }
        theirs = {
            key: row.get(key) for key in "abcd" if not is_same_json(row.get(key, REMOVED), base.get(key, REMOVED))
        }
        record = read_record(form, merged)
        assert {key: record.get(key) for key in mine} == mine
        assert {key: record.get(key) for key in theirs} == theirs
    else:
        assert form is RecordFormat.YAML


@given(_data, _data, _data)
def test_json_is_merged_whenever_no_key_was_changed_twice(base: Data, file: Data, row: Data) -> None:
    edited = {
        **base,
        **{key: value for key, value in row.items() if is_same_json(file.get(key, REMOVED), base.get(key, REMOVED))},
    }
    assert merge_record(RecordFormat.JSON, *map(canonical_json, (base, file, edited))) is not None


def test_comments_of_both_sides_stay() -> None:
    file = BASE.replace("dir: Books", "dir: Library  # moved")
    row = BASE + "description: d # said by an app\n"
    merged = merge_record(RecordFormat.YAML, BASE, file, row)
    assert merged == file + "description: d # said by an app\n"


def test_lists_are_merged_as_sets() -> None:
    merged = merge_record(
        RecordFormat.YAML, BASE, BASE + "  - plays/**\n", BASE.replace("  - essays/**\n", "  - poems/**\n")
    )
    assert merged is not None
    assert read_record(RecordFormat.YAML, merged)["patterns"] == ["novels/**", "plays/**", "poems/**"]


@pytest.mark.parametrize("base", [None, "not: [read"])
def test_without_an_ancestor_only_sides_that_say_the_same_are_one(base: str | None) -> None:
    assert merge_record(RecordFormat.YAML, base, "dir:   A\n", "dir: A\n") == "dir:   A\n"
    assert merge_record(RecordFormat.YAML, base, "dir: A\n", "dir: B\n") is None


@pytest.mark.parametrize("start", ["", "\ufeff", "---\n"])
def test_what_stands_before_the_first_key_stays(start: str) -> None:
    merged = merge_record(
        RecordFormat.YAML, start + BASE, start + BASE + "more: 1\n", start + BASE.replace("Books\np", "B\np")
    )
    assert merged == start + BASE.replace("Books\np", "B\np") + "more: 1\n"


def test_a_file_that_cannot_be_read_is_damaged() -> None:
    with pytest.raises(Damaged, match="line 2"):
        merge_record(RecordFormat.YAML, BASE, "dir: [\n", BASE)


def test_a_row_whose_text_cannot_be_read_is_not_merged() -> None:
    assert merge_record(RecordFormat.JSON, "{}", '{"a": 1}', "{") is None


def _segments(**segments: dict[str, object]) -> str:
    return canonical_json(segments)


HERS: dict[str, object] = {"start": 4, "end": 9, "quote": "flood", "label": "water", "kind": "code"}
MOVED: dict[str, object] = {**HERS, "start": 14, "end": 19, "prefix": "the "}
RENAMED: dict[str, object] = {**HERS, "label": "river"}


@pytest.mark.parametrize(
    ("file", "row", "expected"),
    [
        ({"a": RENAMED}, {"a": MOVED}, {"a": RENAMED}),
        ({"a": MOVED}, {"a": RENAMED}, {"a": RENAMED}),
        ({}, {"a": MOVED}, {}),
        ({"b": HERS}, {"a": MOVED}, {"b": HERS}),
        ({"a": MOVED}, {"a": {**MOVED, "start": 15}}, {"a": HERS}),
    ],
)
def test_a_segment_that_followed_the_text_clashes_with_no_edit(
    file: dict[str, dict[str, object]], row: dict[str, dict[str, object]], expected: dict[str, dict[str, object]]
) -> None:
    merged = merge_record(RecordFormat.JSON, _segments(a=HERS), _segments(**file), _segments(**row))
    assert merged == _segments(**expected)


def test_two_new_names_of_one_segment_are_for_a_person_to_settle() -> None:
    other = {**HERS, "label": "sea"}
    assert merge_record(RecordFormat.JSON, _segments(a=HERS), _segments(a=RENAMED), _segments(a=other)) is None
