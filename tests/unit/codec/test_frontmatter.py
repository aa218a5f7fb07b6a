from collections.abc import Mapping

import orjson
import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mirrord.domain.dialect import Dialect
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_properties import (
    REMOVED,
    Json,
    Removed,
    is_same_json,
    read_values,
    with_keys,
)
from mirrord.markdown.frontmatter.page_text import PageText, split_lines
from mirrord.markdown.frontmatter.yaml_edits import is_plain_text

TEXT = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(TEXT, max_size=12),
    st.sampled_from(["no", "1:30", "2024-01-05", "[[Page]]", "# x", "a: b", "- a", "null", "1e5", "007", "=", "<<"]),
    st.text(alphabet=st.sampled_from("a \n\t#:'\"\r\u2028"), max_size=8),
)
KEYS = st.one_of(st.sampled_from(["title", "tags", "a b", "no", "1", "é"]), st.text(TEXT, min_size=1, max_size=5))
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
RAW = {
    "title": "title: Some title\n",
    "quoted": "quoted: 'it''s' # why\n",
    "double": 'double: "a\\nb"   # spaced\n',
    "tags": "tags: [a, 'b', c]\n",
    "flow": "flow: [ x,\n  y ]\n",
    "aliases": "aliases:\n  # first\n  - one # 1\n\n  - two\n",
    "flush": "flush:\n- a\n- b: 1\n  c: 2\n",
    "text": "text: |\n  hello\n  # no comment\n\n",
    "folded": "folded: >-\n  a\n  b\n",
    "kept": "kept: |+\n  a\n\n",
    "map": "map:\n  a: 1\n  b: [1, 2]\n",
    "date": "date: 2024-01-05\n",
    "empty": "empty:\n",
    "wiki": "wiki: [[Page]]\n",
    "plain": "plain: a b\n  c d\n",
    "comment": "# a comment of its own\ncomment: no\n",
    "über": '"über": 1.10\n',
}


@given(st.text(alphabet=st.sampled_from("-a \t\r\n\ufeff"), max_size=40))
def test_the_parts_joined_are_the_text(text: str) -> None:
    parts = PageText(text)

    assert parts.bom + parts.head + parts.body == text
    if parts.head:
        assert split_lines(parts.head)[0].rstrip() == split_lines(parts.head)[-1].rstrip() == "---"


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("---\na: 1\n---\nb", "---\na: 1\n---\n"),
        ("---\r\na: 1\r\n---", "---\r\na: 1\r\n---"),
        ("--- \na: 1\n---\t\n", "--- \na: 1\n---\t\n"),
        ("---\n---\n", "---\n---\n"),
        ("---\na: 1\n ---\n---\n", "---\na: 1\n ---\n---\n"),
        ("----\na: 1\n----\n", ""),
        ("---a\n---\n", ""),
        (" ---\na: 1\n---\n", ""),
        ("\n---\na: 1\n---\n", ""),
        ("---\na: 1\n", ""),
        ("- `--a`\n- b\n---\n", ""),
        ("---\na: 1\n...\nb\n---\n", "---\na: 1\n...\n"),
        ("---\n# c\na: 1\n... \nb", "---\n# c\na: 1\n... \n"),
        ("---\nWords of a page\n...\nb", ""),
        ("---\n\nWords: a page\n...\n", ""),
        ("+++\na = 1\n+++\nb", "+++\na = 1\n+++\n"),
        ("+++\na = 1\n---\nb", ""),
        ('{\n"a": {\n}\n}\nb', '{\n"a": {\n}\n}\n'),
        ('{\n"a": 1}\nb', ""),
        ('{\n"a": 1\n} b', ""),
        ('{\n"a": b\n}\n', ""),
        ('{ "a": 1 }\n', ""),
        ("", ""),
    ],
)
def test_only_a_fence_at_the_first_column_begins_and_ends_it(text: str, head: str) -> None:
    assert PageText(text).head == head
    assert PageText("\ufeff" + text).parts == ("\ufeff", head, text[len(head) :])


@given(st.permutations(sorted(RAW)), st.integers(0, len(RAW) - 1), VALUES, st.sampled_from(["\n", "\r\n"]))
def test_setting_one_key_leaves_every_other_byte(order: list[str], place: int, value: Json, ending: str) -> None:
    raws = [RAW[key].replace("\n", ending) for key in order]
    head = f"---{ending}" + "".join(raws) + f"---{ending}"
    text = head + "body\n---\n"
    before = read_values(PageText(head))

    result = with_keys(PageText(text), {order[place]: value}).text

    parts = PageText(result)
    assert parts.body == "body\n---\n"
    assert is_same_json(read_values(parts), {**before, order[place]: value})
    own_source = raws[place]
    comment = own_source[: own_source.index("comment:")] if order[place] == "comment" else ""
    assert parts.head.startswith(f"---{ending}" + "".join(raws[:place]) + comment)
    assert parts.head.endswith("".join(raws[place + 1 :]) + f"---{ending}")
    assert (result == text) == is_same_json(before[order[place]], value)
    assert set(split_lines(parts.head)[0][3:]) <= {"\r", "\n"}
    assert all(line.endswith(ending) for line in split_lines(parts.head))


@given(st.permutations(sorted(RAW)), st.integers(0, len(RAW) - 1))
def test_removing_one_key_leaves_every_other_byte(order: list[str], place: int) -> None:
    raws = [RAW[key] for key in order]
    text = "---\n" + "".join(raws) + "---\nbody"

    parts = PageText(with_keys(PageText(text), {order[place]: REMOVED}).text)

    assert order[place] not in read_values(parts)
    assert parts.head.startswith("---\n" + "".join(raws[:place]))
    assert parts.head.endswith("".join(raws[place + 1 :]) + "---\n")


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.sampled_from(["", "---\nown: 1\n---\n", "\ufeffa\r\nb"]))
def test_new_keys_say_what_was_asked(added: dict[str, Json], text: str) -> None:
    result = with_keys(PageText(text), added).text

    parts = PageText(result)
    assert is_same_json(read_values(parts), {**read_values(PageText(text)), **added})
    assert parts.body == PageText(text).body
    assert orjson.dumps(read_values(parts))
    removals: Mapping[str, Json | Removed] = {key: REMOVED for key in added if key != "own"}
    assert "own" in added or with_keys(PageText(result), removals).text == text


@given(KEYS, st.booleans() | st.integers(-(2**53), 2**53), st.sampled_from(["", "---\nown: 1\n---\n"]))
def test_numbers_and_truths_are_written_as_by_yaml_itself(key: str, value: Json, text: str) -> None:
    assume(key != "own")
    new = with_keys(PageText(text), {key: value})
    written = with_keys(PageText(new.text), {key: not value} if isinstance(value, bool) else {key: "x"})
    for page in (new, with_keys(written, {key: value})):
        (line,) = [line for line in page.source.splitlines() if not line.startswith("own:")]
        assert line.endswith(f": {yaml.safe_dump([value])[2:-1]}")


@pytest.mark.parametrize("value", [2**53 + 1, -(2**60), [1, {"a": 2**70}]])
def test_a_number_that_readers_would_round_is_refused_by_its_name(value: Json) -> None:
    with pytest.raises(Damaged, match=r"the number -?\d+ would be rounded .* write it as text"):
        with_keys(PageText("---\na: 1\n---\nb"), {"c": value})


@pytest.mark.parametrize("value", ["\0", ["a", {"b": "c\0"}], {"\0": 1}])
def test_a_value_with_nul_is_refused(value: Json) -> None:
    with pytest.raises(Damaged, match="NUL"):
        with_keys(PageText("---\na: 1\n---\nb"), {"c": value})


def test_a_new_id_goes_first_and_other_new_keys_last() -> None:
    text = "---\n# mine\na: 1\n# end\n---\n"

    assert with_keys(PageText(text), {"b": 2, "id": "x"}).text == "---\nid: x\n# mine\na: 1\n# end\nb: 2\n---\n"


def test_the_front_matter_goes_with_its_last_key() -> None:
    assert with_keys(PageText("---\na: 1\n---\nbody"), {"a": REMOVED}).text == "body"


def test_the_front_matter_stays_while_it_holds_a_comment() -> None:
    assert with_keys(PageText("---\na: 1\n# why\n---\nbody"), {"a": REMOVED}).text == "---\n# why\n---\nbody"


def test_the_front_matter_stays_where_the_body_would_become_one() -> None:
    assert with_keys(PageText("---\na: 1\n---\n---\nx\n---\n"), {"a": REMOVED}).text == "---\n---\n---\nx\n---\n"


def test_equal_values_change_nothing_even_when_written_otherwise() -> None:
    text = "---\na: 1.0\nb: 'x'\nc: [[P]]\n---\n"

    assert with_keys(PageText(text), {"a": 1, "b": "x", "c": "[[P]]", "gone": REMOVED}).text == text


@pytest.mark.parametrize(
    "text",
    ["---\na: b: c\n---\n", "---\n{a: 1}\n---\n", "---\n? a\n: 1\n---\n"],
)
def test_what_cannot_be_changed_without_harm_is_refused(text: str) -> None:
    with pytest.raises(Damaged):
        with_keys(PageText(text), {"a": 2, "new": 3})


@pytest.mark.parametrize(
    "changes", [{"title": "a" * 70_000}, {"k" * 1_100: "v"}, {f"k{number}": "v" for number in range(4_000)}]
)
def test_a_front_matter_that_no_reader_takes_is_refused_though_it_is_new_and_plain(changes: dict[str, Json]) -> None:
    with pytest.raises(Damaged):
        with_keys(PageText("text\n"), changes)


def test_true_is_not_one() -> None:
    assert not is_same_json({"a": [True]}, {"a": [1]})
    assert is_same_json({"a": [1.0]}, {"a": [1]})
    assert not is_same_json(None, False)


WORDS = st.sampled_from(
    ["id", "title", "Null", "~", "off", "y", "true", "1e5", "0x1", "-", "_", ".inf", "=", "a-b", "=="]
)


@given(st.lists(WORDS | st.text("aeN0_-", max_size=3), max_size=3).map(" ".join) | st.uuids().map(str))
@example("12345678-1234-1234-1234-123456789012")
@example("title")
def test_every_reader_takes_a_plain_text_for_itself(text: str) -> None:
    assume(is_plain_text(text))

    assert yaml.safe_load(f"{text}: {text}") == {text: text}
    assert read_values(PageText(f"---\n{text}: {text}\n---\n")) == {text: text}


@pytest.mark.parametrize(
    ("text", "changes"),
    [("body", {"a": 1}), ("---\na: 1\n---\nbody", {"a": 2}), ("---\na: 1\n---\nbody", {"a": REMOVED})],
)
def test_a_page_with_other_keys_has_its_dialect_still(text: str, changes: Mapping[str, Json | Removed]) -> None:
    assert with_keys(PageText(text, Dialect.HUGO), changes).dialect is Dialect.HUGO
