"""Records: reading YAML and JSON, writing values without touching the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.place import RecordFormat
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.record_text import Data, canonical_json, read_record, write_record
from mirrord.markdown.frontmatter.yaml_reader import Json

TEXT = "# Books\ndir: Books   # where\n\npatterns:\n  - 'novels/**'\n  - essays/**\n# the end\n"

_words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
_scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
_values: st.SearchStrategy[Json] = st.recursive(
    _scalars | _words, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=3)
)
_objects = st.dictionaries(_words, _values, max_size=4)
_plain = st.dictionaries(
    st.sampled_from(["dir", "patterns", "description", "more"]),
    st.text("ab: #'\"-\n", max_size=8) | st.lists(st.text("ab*/ ", max_size=6), max_size=3) | st.integers(0, 99),
)


@given(_objects)
def test_json_is_read_as_it_was_written(data: Data) -> None:
    text = write_record(RecordFormat.JSON, None, data)
    assert read_record(RecordFormat.JSON, text) == data
    assert write_record(RecordFormat.JSON, text, data) == text == canonical_json(data)


@given(_plain, _plain)
def test_yaml_says_what_it_was_told_whatever_it_said_before(before: Data, after: Data) -> None:
    text = write_record(RecordFormat.YAML, None, before)
    assert read_record(RecordFormat.YAML, text) == before
    assert read_record(RecordFormat.YAML, write_record(RecordFormat.YAML, text, after)) == after


@given(_plain)
def test_comments_and_untouched_keys_keep_their_bytes(change: Data) -> None:
    data = {
        **read_record(RecordFormat.YAML, TEXT),
        "description": "new",
        **{k: v for k, v in change.items() if k == "more"},
    }
    text = write_record(RecordFormat.YAML, TEXT, data)
    assert text.startswith(TEXT)
    assert read_record(RecordFormat.YAML, text) == data


def test_json_that_says_the_same_keeps_its_bytes() -> None:
    text = '{"b":1,   "a": {"x": 2}}'
    assert write_record(RecordFormat.JSON, text, {"a": {"x": 2}, "b": 1}) == text


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
def test_a_key_is_added_on_a_line_of_its_own(ending: str) -> None:
    text = write_record(RecordFormat.YAML, f"\ufeffdir: A{ending}", {"dir": "A", "description": "B"})
    line = ending or "\n"
    assert text == f"\ufeffdir: A{line}description: B{line}"


@pytest.mark.parametrize(
    ("form", "text", "reason"),
    [
        (RecordFormat.YAML, "dir: A\npatterns: [a\n", "line 3"),
        (RecordFormat.YAML, "- a\n", "line 1: it is not made of"),
        (RecordFormat.YAML, "a: &x 1\nb: *x\n", "line 2: aliases"),
        (RecordFormat.YAML, 'a: "\\0"\n', "NUL"),
        (RecordFormat.YAML, f"a: {'x' * 70_000}", "larger than 64 kB"),
        (RecordFormat.JSON, '{\n"a": x}', "line 2"),
        (RecordFormat.JSON, "[1]", "line 1: it is not one object"),
        (RecordFormat.JSON, "", "line 1"),
        (RecordFormat.JSON, '{"a": NaN}', "NaN"),
        (RecordFormat.JSON, '{"a": 1e999}', "too large"),
        (RecordFormat.JSON, f'{{"a": {"9" * 5000}}}', "number"),
        (RecordFormat.JSON, f'{{"a": [{1 << 64}]}}', "too large"),
        (RecordFormat.JSON, f'{{"a": {-(1 << 63) - 1}}}', "too large"),
        (RecordFormat.JSON, '{"a": "\\ud800"}', "surrogate"),
        (RecordFormat.JSON, '{"a":' * 5000, "nested deeper"),
        (RecordFormat.JSON, '{"a":' * 70 + "1" + "}" * 70, "nested deeper"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_cannot_be_read_is_damaged_and_says_where(form: RecordFormat, text: str, reason: str) -> None:
    with pytest.raises(Damaged, match=reason):
        read_record(form, text)
    with pytest.raises(Damaged):
        write_record(form, text, {"a": 1})


def test_a_number_that_no_file_can_say_is_refused() -> None:
    with pytest.raises(Damaged, match="too large"):
        write_record(RecordFormat.JSON, None, {"a": float("inf")})


def test_yaml_knows_only_what_json_knows() -> None:
    text = "a: no\nb: 0x1F\nc: 1:30\nd: true\ne:\nf: 1.5\ng: 2024-01-05\nh: ~\n"
    assert read_record(RecordFormat.YAML, text) == {
        "a": "no",
        "b": "0x1F",
        "c": "1:30",
        "d": True,
        "e": None,
        "f": 1.5,
        "g": "2024-01-05",
        "h": None,
    }
