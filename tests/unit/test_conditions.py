"""Laws of conditions on front matter, of times, and of the words of a search."""

import unicodedata
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mirrord.domain.page_facets import PageFacts, count_facets
from mirrord.domain.property_conditions import Condition, ConditionError, Operator, read_conditions, read_moment
from mirrord.domain.search_query import MAX_NEAR_LETTERS, MIN_NEAR_LETTERS, near_term, terms_of
from mirrord.domain.time_reading import TimeError, read_past_time, span_of
from mirrord.markdown.frontmatter.front_matter import FrontMatter
from mirrord.markdown.read.heading_lines import heading_lines
from mirrord.mirror.read.page_summary import JoinedTexts

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)

dates = st.dates().map(str) | st.datetimes(timezones=st.none() | st.just(UTC)).map(datetime.isoformat)
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | dates
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)
properties = st.dictionaries(st.sampled_from(["a", "b", "a.b"]), values, max_size=3)
operands = st.dictionaries(st.sampled_from([*Operator, "like"]), values, max_size=3)
wheres = st.dictionaries(st.sampled_from(["a", "b", "a.b", ""]), values | operands, max_size=4)


@given(properties, wheres)
def test_every_condition_is_explained_or_answered_whatever_the_page_says(
    page: dict[str, object], where: dict[str, object]
) -> None:
    try:
        conditions = read_conditions(where)
    except ConditionError as error:
        conditions, sentence = (), str(error)
    else:
        sentence = "They are conditions."
    assert sentence.endswith(".")
    assert all(isinstance(condition.fits(page), bool) for condition in conditions)


@given(properties, plain)
def test_not_is_the_complement_of_equals(page: dict[str, object], operand: object) -> None:
    equals, differs = (Condition("a", operator, operand) for operator in (Operator.EQUALS, Operator.NOT))
    assert equals.fits(page) is not differs.fits(page)
    assert Condition("a", Operator.IN, [operand]).fits(page) is equals.fits(page)


@given(plain, plain)
@example("2026-05-01", "2026-05-01T10:00:00+00:00")
@example(True, 1)
def test_of_values_of_one_type_exactly_one_order_holds_and_of_others_none(value: object, operand: object) -> None:
    assume(operand is not None and not isinstance(operand, bool))

    def fits(operator: Operator) -> bool:
        return Condition("a", operator, operand).fits({"a": value})

    orders = [fits(Operator.LESS), fits(Operator.EQUALS), fits(Operator.GREATER)]
    assert sum(orders) == (1 if _type_of(value) == _type_of(operand) else 0)
    assert fits(Operator.AT_MOST) is (orders[0] or orders[1])
    assert fits(Operator.AT_LEAST) is (orders[1] or orders[2])


def _type_of(value: object) -> str:
    if isinstance(value, str):
        return "moment" if read_moment(value.strip()) is not None else "text"
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


@given(st.lists(plain, max_size=3), plain)
def test_a_list_meets_what_one_of_its_items_meets(items: list[object], operand: object) -> None:
    for operator in (Operator.EQUALS, Operator.GREATER, Operator.AT_MOST):
        condition = Condition("a", operator, operand)
        assume(operand is not None)
        assert condition.fits({"a": items}) is any(condition.fits({"a": item}) for item in items if item is not None)


@given(st.dictionaries(st.text(min_size=1, max_size=6), st.text(max_size=6) | st.integers(), max_size=3))
def test_a_key_that_front_matter_has_is_never_ruled_out(keys: dict[str, object]) -> None:
    front = FrontMatter(yaml.safe_dump(keys, allow_unicode=True))
    assert all(front.may_have(key) for key in front.properties)


@given(st.text(max_size=30))
@example("2026-05-01T10:00:00+99:99")
@example("0001-01-01T00:00:00+23:59")
@example("9999-12-31")
def test_every_text_is_a_past_time_or_none(text: str) -> None:
    span = span_of(text)
    assert span is None or span[0] <= span[1]
    with suppress(TimeError):
        assert read_past_time(text, NOW) <= NOW


@given(st.integers(0, 400), st.sampled_from(["minute", "hour", "day", "week"]))
def test_so_long_ago_is_so_long_ago(count: int, unit: str) -> None:
    assert read_past_time(f"{count} {unit}s ago", NOW) == NOW - count * timedelta(**{f"{unit}s": 1})


def test_days_begin_in_the_zone_of_the_question() -> None:
    assert read_past_time("yesterday", NOW) == datetime(2026, 5, 31, tzinfo=UTC)
    assert read_past_time("2026-05-01T10:00", NOW) == datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert span_of("2026-05-01") == (datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 5, 2, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("08:30", datetime(2026, 6, 1, 8, 30, tzinfo=UTC)),
        ("9:05:07", datetime(2026, 6, 1, 9, 5, 7, tzinfo=UTC)),
        ("an hour ago", datetime(2026, 6, 1, 11, tzinfo=UTC)),
        ("a day ago", datetime(2026, 5, 31, 12, tzinfo=UTC)),
        ("2 Hours ago", datetime(2026, 6, 1, 10, tzinfo=UTC)),
        ("Yesterday", datetime(2026, 5, 31, tzinfo=UTC)),
    ],
)
def test_a_time_of_day_is_that_of_today_and_words_have_any_case(text: str, moment: datetime) -> None:
    assert read_past_time(text, NOW) == moment


@pytest.mark.parametrize("text", ["13:00", "25:00", "12:61", "1400", "14", "noon"])
def test_a_time_of_day_that_is_none_or_still_to_come_is_refused(text: str) -> None:
    with pytest.raises(TimeError):
        read_past_time(text, NOW)


letters = st.text(st.characters(categories=["Ll", "Lu"]), min_size=MIN_NEAR_LETTERS, max_size=12)


@given(letters, st.data())
def test_a_word_with_one_edit_is_near(word: str, data: st.DataObject) -> None:
    word = unicodedata.normalize("NFC", word)
    term = near_term(*terms_of(word, case_sensitive=False))
    assume(term is not None)
    assert term is not None
    at, letter = data.draw(st.integers(0, len(word) - 1)), data.draw(st.sampled_from("xyz"))
    swapped = word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]
    for other in (word, word[:at] + letter + word[at + 1 :], word[:at] + letter + word[at:], word + letter, swapped):
        assert term.pattern.search(f"so {other}, then"), other


@pytest.mark.parametrize("other", ["zebraxxfish", "zebrish", "zebrafishes", "abrzefish", "beasts"])
def test_a_word_with_more_edits_is_not_near(other: str) -> None:
    term = near_term(*terms_of("zebrafish", case_sensitive=False))
    assert term is not None
    assert not term.pattern.search(f"so {other}, then")


@pytest.mark.parametrize("word", ["abc", "a" * (MAX_NEAR_LETTERS + 1), '"two words"', "c++11", "a-b-c"])
def test_short_words_phrases_and_signs_are_not_misspelt(word: str) -> None:
    (term,) = terms_of(word, case_sensitive=False)
    assert near_term(term) is None


@given(
    st.lists(st.text("aAbBéÉe\u0301 ſsSΣσς\n\x1f", max_size=12), max_size=6),
    st.text("aAbBéÉe\u0301ſsSΣσς ", max_size=4),
)
def test_folded_texts_hold_a_term_where_its_expression_matches(texts: list[str], query: str) -> None:
    joined = JoinedTexts(lambda: texts)
    for case_sensitive in (False, True):
        for term in terms_of(f'"{query}"', case_sensitive=case_sensitive):
            expected = {at for at, text in enumerate(texts) if term.pattern.search(text.replace("\n", " "))}
            assert joined.indexes_of(term) == expected


@given(st.text("#`~ ab\n\r", max_size=60))
def test_headings_are_lines_that_begin_with_the_sign(body: str) -> None:
    lines = [line.strip("\r") for line in body.split("\n")]
    for heading in filter(None, heading_lines(body).split("\n")):
        assert any(line.startswith("#") and line.strip("# \t").startswith(heading.strip("# \t")) for line in lines)


def test_headings_in_fenced_code_do_not_count() -> None:
    body = "# One\n\n```sh\n# no\n~~~\n```\n\n## Two\r\n~~~~\n# no\n~~~\n# no\n~~~~\n### Three\n```\n# no\n"
    assert heading_lines(body).split("\n") == ["One", "Two", "Three"]


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.lists(st.sampled_from("xyz"), max_size=3), properties)))
def test_facets_count_each_page_once(pages: list[tuple[str, list[str], dict[str, object]]]) -> None:
    facets = count_facets(PageFacts(folder, tuple(tags), values) for folder, tags, values in pages)

    assert sum(facets.folders.values()) == len(pages)
    assert facets.tags == {tag: n for tag in "xyz" if (n := sum(tag in tags for _, tags, _ in pages))}
    for key, facet in facets.keys.items():
        assert facet.pages == sum(values.get(key) is not None for _, _, values in pages)
        assert all(1 < count <= facet.pages for count in facet.values.values())
