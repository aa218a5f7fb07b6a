import time

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.yaml_reader import load_values, read_properties


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("1:30", "1:30"),
        ("1.10", 1.1),
        ("12", 12),
        ("-0.5e3", -500.0),
        ("007", "007"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("+49123", "+49123"),
        (".nan", ".nan"),
        ("-.inf", "-.inf"),
        ("1e999", "1e999"),
        ("9007199254740993", "9007199254740993"),
        ("9" * 5000, "9" * 5000),
        ("~", None),
        ("", None),
        ("2024-01-05", "2024-01-05"),
        ("2024-01-05 10:00:00", "2024-01-05T10:00:00"),
        ("2024-02-30", "2024-02-30"),
        ("2024-01-05T10:00:00+02:00", "2024-01-05T10:00:00+02:00"),
        ("[[Page#Part|shown]]", "[[Page#Part|shown]]"),
        ("[[[A]], [[B, C]]]", ["[[A]]", "[[B, C]]"]),
        ("[[1, 2], [3]]", [[1, 2], [3]]),
        ("!!binary aGk=", "aGk="),
        ("!custom {a: 1}", {"a": 1}),
        ("!!seq x", "x"),
        ("!!timestamp x", "x"),
        ("!!float [1]", [1]),
        ("!!str {a: 1}", {"a": 1}),
        ("!!float '5'", 5),
        ("! '5'", 5),
        ("&here [1]", [1]),
        ("{1: x, true: y, 1.10: z}", {"1": "x", "true": "y", "1.10": "z"}),
        ('"no"', "no"),
        ("'2024-01-05 10:00:00'", "2024-01-05 10:00:00"),
    ],
)
def test_a_value_is_what_was_written(written: str, value: object) -> None:
    source = f"key: {written}\n"

    assert load_values(source) == {"key": value}
    assert orjson.dumps(load_values(source))


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("a: *x", "aliases"),
        ("a: &x [1]\nb: [*x, *x]", "line 3 .*aliases"),
        ("a: &x 1\nb: &x 2", "line 3 .*a second &x"),
        ("<<: {a: 1}", "merge keys"),
        ("? [a]\n: b", "a key is not plain text"),
        ("- a", "not made of `key: value` lines"),
        ("words", "not made of `key: value` lines"),
        ("a: 1\n---\nb: 2", "second YAML document"),
        ("a: 1\nb: c: d", "line 3 of the front matter: mapping values are not allowed"),
        ("a: " + "[" * 70 + "]" * 70, "nested deeper than 64"),
        ("a: " + "x" * 70_000, "larger than 64 kB"),
        ("a: \x01", "not valid YAML"),
        ("a: \ud800", "not valid YAML"),
        ('a: "\\0"', "line 2 of the front matter: it holds a NUL character"),
        ('a: 1\nb: [c, {d: "e\\x00"}]', "line 3 .*NUL"),
        ('"a\\u0000": 1', "NUL"),
        ('a: "\\ud800"', "line 2 .*invalid Unicode"),
    ],
)
def test_what_could_hurt_or_mislead_is_refused(source: str, problem: str) -> None:
    with pytest.raises(Damaged, match=problem):
        read_properties(source)


@pytest.mark.parametrize("unit", ["[", "{a: ", "- ", "? ", "a: [&x [", "'"])
def test_sixty_four_kilobytes_of_nesting_neither_crash_nor_take_long(unit: str) -> None:
    source = (unit * 65_536)[:65_536]
    started = time.process_time()

    with pytest.raises(Damaged):
        read_properties(source)
    assert time.process_time() - started < 2


@given(st.text(alphabet=st.sampled_from("ab: -[]{}#&*!|>'\"%@`\n\r\t,?~<é\u2028\x85"), max_size=60))
def test_any_text_is_read_or_refused(source: str) -> None:
    try:
        properties = read_properties(source)
    except Damaged:
        return
    if properties:
        assert set(load_values(source)) == {entry.key for entry in properties}


@given(st.text(alphabet=st.sampled_from("é😀a \u2028"), min_size=1, max_size=8))
def test_places_are_code_points(value: str) -> None:
    source = f"é😀: 1\nkey: {orjson.dumps(value).decode()} # end\n"
    entry = read_properties(source)[1]

    assert source[entry.key_start : entry.key_end] == "key"
    assert orjson.loads(source[entry.start : entry.end]) == value
