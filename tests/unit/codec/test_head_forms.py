"""Front matter in TOML and in JSON: what it says, changes of single keys, and what is refused."""

import tomllib

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_properties import REMOVED, Json, is_same_json, read_values, with_keys
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.frontmatter.summary_keys import head_of
from mirrord.merge.edit_merge import merge

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
SCALARS = st.one_of(
    st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)
TOML_LINES = {
    "title": "title = 'Some title' # why\n",
    "date": "date = 2024-01-05T10:00:00Z\n",
    "tags": "tags = [\n  'a', # first\n  'b',\n]\n",
    "text": 'text = """\na\nb"""\n',
    "dotted": "dotted.a = 1\ndotted.b = 'x'\n",
    "inline": "inline = { a = 1, b = [2] }\n",
}
TOML_TABLES = "\n[params] # of the theme\n  a = 1\n  [params.deep]\n  b = 2\n\n[[menu]]\nname = 'x'\n"
JSON_HEAD = '{\n\t"title": "Some title",\n\t"tags": [ "a",\n"b" ],\n\t"deep": {"a": 1}\n}\n'


def toml_page(keys: list[str], ending: str) -> str:
    return ("+++\n" + "".join(TOML_LINES[key] for key in keys) + TOML_TABLES + "+++\nBody\n").replace("\n", ending)


@given(
    st.lists(st.sampled_from(sorted(TOML_LINES)), unique=True),
    st.sampled_from([*TOML_LINES, "id", "new"]),
    VALUES,
    st.sampled_from(["\n", "\r\n"]),
)
def test_a_changed_key_of_toml_is_read_back_and_other_lines_stay(
    keys: list[str], key: str, value: Json, ending: str
) -> None:
    page = PageText(toml_page(keys, ending))
    before = read_values(page)
    try:
        after = with_keys(page, {key: value})
    except Damaged:
        assume(False)
        raise

    assert is_same_json(read_values(after), {**before, key: value})
    assert after.body == page.body
    for other in set(keys) - {key}:
        assert TOML_LINES[other].replace("\n", ending) in after.head


@given(st.sampled_from(["title", "tags", "deep", "id", "new"]), VALUES, st.sampled_from(["\n", "\r\n"]))
def test_a_changed_key_of_json_is_read_back_and_goes_again(key: str, value: Json, ending: str) -> None:
    page = PageText(JSON_HEAD.replace("\n", ending) + "Body")
    before = read_values(page)
    after = with_keys(page, {key: value})

    assert is_same_json(read_values(after), {**before, key: value})
    assert after.body == page.body
    if key not in before:
        assert with_keys(after, {key: REMOVED}).text == page.text


def test_dates_and_odd_numbers_of_toml_are_text() -> None:
    page = PageText(
        "+++\na = 2024-01-05\nb = 2024-01-05T10:00:00Z\nc = 10:30:00\nd = inf\ne = 99999999999999999\n+++\n"
    )

    assert read_values(page) == {
        "a": "2024-01-05",
        "b": "2024-01-05T10:00:00+00:00",
        "c": "10:30:00",
        "d": "inf",
        "e": "99999999999999999",
    }


@pytest.mark.parametrize("number", ["9007199254740993", "-99999999999999999999999", "1e999", "-1e999"])
def test_a_number_of_json_that_a_row_cannot_hold_is_text_as_in_yaml(number: str) -> None:
    page = PageText(f'{{\n"a": {number},\n"b": [1.5, -3, {number}]\n}}\n')

    assert read_values(page) == {"a": number, "b": [1.5, -3, number]}
    assert read_values(PageText(f"---\na: {number}\n---\n")) == {"a": number}
    assert with_keys(page, {"c": 1}).text == page.text.replace("]", '],\n"c": 1')


@pytest.mark.parametrize(
    "text", ['+++\nid = "x"\ntitle = "T"\ntags = ["a"]\n+++\n', '{\n"id": "x", "title": "T", "tags": "a"\n}\n']
)
def test_lists_show_title_id_and_tags_of_either_form(text: str) -> None:
    head = head_of(PageText(text))

    assert (head.id, head.title, head.tags) == ("x", "T", ("a",))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("+++\na = \n+++\n", "not valid TOML"),
        ('+++\na = "\\u0000"\n+++\n', "NUL"),
        ("+++\na" + ".a" * 100 + " = 1\n+++\n", "100|64 parts"),
        ("+++\na = " + "[" * 5_000 + "]" * 5_000 + "\n+++\n", "nested|valid"),
        ("+++\na = '" + "x" * 70_000 + "'\n+++\n", "64 kB"),
        ('+++\n"\\u0000" = 1\n+++\n', "NUL"),
        ('{\n"a": "\\u0000"\n}\n', "NUL"),
        ('{\n"a": "\\ud800"\n}\n', "surrogate"),
        ('{\n"a": [{"\\udfff": 1}]\n}\n', "surrogate"),
        ('{\n"a": NaN\n}\n', "NaN"),
        ('{\n"a": ' + "[" * 100 + "]" * 100 + "\n}\n", "nested"),
    ],
)
def test_what_cannot_be_read_is_named_and_left_alone(text: str, problem: str) -> None:
    page = PageText(text)

    assert page.head == text
    with pytest.raises(Damaged, match=problem):
        with_keys(page, {"title": "x"})


def test_toml_has_no_empty_values() -> None:
    with pytest.raises(Damaged, match="without a value"):
        with_keys(PageText("+++\na = 1\n+++\n"), {"a": None})


def test_the_last_key_takes_the_front_matter_along() -> None:
    assert with_keys(PageText("+++\na = 1\n+++\nBody\n"), {"a": REMOVED}).text == "Body\n"
    assert with_keys(PageText('{\n  "a": 1\n}\nBody\n'), {"a": REMOVED}).text == "Body\n"


def test_two_edits_of_toml_are_merged_by_key() -> None:
    base = "+++\na = 1\nb = 2\n+++\nBody\n"

    merged = merge(base, base.replace("a = 1", "a = 9"), base.replace("b = 2", "b = 8"))

    assert merged is not None
    assert tomllib.loads(PageText(merged).source) == {"a": 9, "b": 8}


@given(st.dictionaries(TEXTS, VALUES, max_size=3))
def test_any_object_of_json_is_read(values: dict[str, Json]) -> None:
    text = orjson.dumps({"a": 1, **values}, option=orjson.OPT_INDENT_2).decode()
    assume("\\u0000" not in text)

    assert is_same_json(read_values(PageText(text + "\nBody")), {"a": 1, **values})
