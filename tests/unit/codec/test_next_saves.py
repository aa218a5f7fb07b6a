"""A save of a page that was just read or saved begins with what is known of its text, and writes the same."""

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mirrord.domain.dialect import Dialect
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.known_readings import LATEST_READINGS, READING_CHARACTERS, KnownReadings
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.read.reparse import read_whole
from mirrord.markdown.write.render import splice_document
from mirrord.markdown.write.stored_form import values_to_store, values_to_store_before_saves
from tests.support.laws import scale_examples
from tests.unit.codec.documents import markdown

PLAIN = "One\n\n- two\n- three\n\n> four\n\n| a |\n|---|\n| b |\n\nFive [a] six\n\n```\nx\n```\n\nSeven\n\n"


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    LATEST_READINGS.forget_all()
    yield
    LATEST_READINGS.forget_all()


def save_all(bodies: list[str], dialect: Dialect) -> list[str | None]:
    """The texts of a page after saves of the documents of *bodies*, one after the other; None: one that was refused."""
    text, texts = bodies[0], list[str | None]()
    for body in bodies[1:]:
        document = read_document(body, dialect)
        try:
            text = splice_document(text, document, "\n", dialect=dialect)
        except Damaged:
            texts.append(None)
        else:
            texts.append(text)
    return texts


def save_each_first(bodies: list[str], texts: list[str | None], dialect: Dialect) -> list[str | None]:
    """As save_all(), where nothing is known of the text before each save."""
    before, results = bodies[0], list[str | None]()
    for body, text in zip(bodies[1:], texts, strict=True):
        LATEST_READINGS.forget_all()
        results += save_all([before, body], dialect)
        before = before if text is None else text
    return results


@given(st.lists(markdown, min_size=3, max_size=5), st.booleans(), st.sampled_from(Dialect))
@settings(max_examples=scale_examples(150), deadline=None)
@example(["a", "- b\n- c", "- b\n- d\n- c", "- b\n- d"], True, Dialect.PLAIN)
@example(["a", "a\n\nb", "a\n\nb c", "a\n\nb c\n\nd"], True, Dialect.PLAIN)
def test_saves_one_after_another_write_what_each_would_write_alone(
    parts: list[str], surrounded: bool, dialect: Dialect
) -> None:
    bodies = [f"{PLAIN}{part}\n\n{PLAIN}" if surrounded else part for part in parts]
    LATEST_READINGS.forget_all()

    texts = save_all(bodies, dialect)

    assert texts == save_each_first(bodies, texts, dialect)


def test_the_text_of_a_save_is_known_to_the_next_one() -> None:
    text = splice_document(PLAIN, read_document(PLAIN.replace("Seven", "Eight")), "\n")

    reading = LATEST_READINGS.recall(text, Dialect.PLAIN)

    assert reading is not None
    assert list(reading.blocks) == list(read_whole(text).blocks)


def test_the_texts_that_were_remembered_first_are_forgotten_first() -> None:
    readings = KnownReadings(max_characters=20 + 2 * READING_CHARACTERS)
    for text in ("first text\n", "second\n", "third\n"):
        readings.remember(read_whole(text))

    assert readings.recall("first text\n", Dialect.PLAIN) is None
    assert readings.recall("second\n", Dialect.PLAIN) is not None
    assert readings.recall("third\n", Dialect.OBSIDIAN) is None


def test_a_text_beyond_the_limit_is_not_remembered_and_pushes_none_out() -> None:
    readings = KnownReadings(max_characters=20 + READING_CHARACTERS)
    readings.remember(read_whole("short\n"))
    readings.remember(read_whole("a longer text than that\n"))

    assert readings.recall("short\n", Dialect.PLAIN) is not None


def test_short_pages_take_no_more_memory_than_long_ones() -> None:
    texts = [f"Count: {number}\n" for number in range(1000)]
    readings = KnownReadings(max_characters=10_000)
    for text in texts:
        readings.remember(read_whole(text))

    remembered = [text for text in texts if readings.recall(text, Dialect.PLAIN)]

    assert 0 < len(remembered) <= 10_000 / READING_CHARACTERS
    assert remembered == texts[-len(remembered) :]


def test_the_text_of_a_derivation_beside_saves_is_known_to_the_first_of_them() -> None:
    text = f"---\ntitle: Page\n---\n{PLAIN}"
    values = values_to_store_before_saves(text, None)
    body = PageText(text).body

    reading = LATEST_READINGS.recall(body, Dialect.PLAIN)

    assert values == values_to_store(text, None)
    assert reading is not None
    assert list(reading.blocks) == list(read_whole(body).blocks)


def test_a_derivation_in_a_process_that_saves_nothing_remembers_no_text() -> None:
    values_to_store(PLAIN, None)

    assert LATEST_READINGS.recall(PLAIN, Dialect.PLAIN) is None


@given(st.lists(markdown, min_size=2, max_size=3), st.booleans(), st.sampled_from(Dialect))
@settings(max_examples=scale_examples(150), deadline=None)
@example(["a\r\n\r\nb", "a\n\nc"], False, Dialect.PLAIN)
@example(["- a\n- [ ] b", "- a\n- c"], True, Dialect.LOGSEQ)
def test_a_save_of_a_derived_text_writes_what_it_would_write_of_an_unknown_one(
    parts: list[str], has_prior: bool, dialect: Dialect
) -> None:
    text, prior_text, new_text = parts[0], parts[-1], parts[1]
    prior = values_to_store(prior_text, None, dialect)[0].decode() if has_prior else None
    LATEST_READINGS.forget_all()
    [alone] = save_all([text, new_text], dialect)
    LATEST_READINGS.forget_all()

    values = values_to_store_before_saves(text, prior, dialect)

    assert save_all([text, new_text], dialect) == [alone]
    assert values == values_to_store(text, prior, dialect)
