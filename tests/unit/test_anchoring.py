"""Segments stay on what they were made for, whatever happens to the text."""

import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.research.segments.segment import Segment, place_segment
from mirrord.research.segments.segment_anchoring import anchor_segments
from mirrord.research.segments.text_alignment import align
from tests.support.laws import scale_examples

_words = st.lists(
    st.sampled_from(["yes", "no", "a", "river", "the house", ".\n", "\n", "Ana: ", "x", "é"]), max_size=40
)
_prose = _words.map(" ".join)
_letters = st.text("ab\n", max_size=60)
_texts = _prose | _letters


def made(text: str, start: int, end: int, id: str = "s") -> Segment:
    return place_segment(Segment(id, 0, 0, "code", "code", "human:ana"), text, start, end)


def of(text: str, quote: str) -> Segment:
    """The segment of *text* that is *quote*."""
    at = text.index(quote)
    return made(text, at, at + len(quote))


def after(text: str, quote: str, new: str) -> Segment:
    return anchor_segments([of(text, quote)], text, new)[0]


@st.composite
def _spans(draw: st.DrawFn, text: str) -> tuple[int, int]:
    start = draw(st.integers(0, len(text)))
    return start, draw(st.integers(start, len(text)))


@st.composite
def _segmented(draw: st.DrawFn) -> tuple[str, list[Segment]]:
    text = draw(_texts)
    spans = draw(st.lists(_spans(text), min_size=1, max_size=4))
    return text, [made(text, start, end, str(number)) for number, (start, end) in enumerate(spans)]


def _assert_true(text: str, segments: list[Segment]) -> None:
    for segment in segments:
        assert segment.detached or text[segment.start : segment.end] == segment.quote


@settings(max_examples=scale_examples(50), deadline=None)
@given(_segmented(), st.data())
def test_an_edit_outside_a_segment_never_changes_what_it_says(
    case: tuple[str, list[Segment]], data: st.DataObject
) -> None:
    text, segments = case
    start, end = data.draw(_spans(text))
    new = text[:start] + data.draw(_texts) + text[end:]
    for before, now in zip(segments, anchor_segments(segments, text, new), strict=True):
        if end <= before.start or before.end <= start:
            assert (now.quote, now.detached) == (before.quote, False)


@settings(max_examples=scale_examples(50), deadline=None)
@given(_segmented(), st.data())
def test_deleting_text_and_restoring_it_restores_the_segments(
    case: tuple[str, list[Segment]], data: st.DataObject
) -> None:
    text, segments = case
    start, end = data.draw(_spans(text))
    less = text[:start] + text[end:]
    without = anchor_segments(segments, text, less)
    _assert_true(less, without)

    restored = anchor_segments(without, less, text)

    for before, now in zip(segments, restored, strict=True):
        assert (now.quote, now.detached) == (before.quote, False)


@settings(max_examples=scale_examples(50), deadline=None)
@given(_segmented(), _texts, st.booleans())
def test_a_segment_that_is_not_detached_says_what_is_there_and_a_second_time_changes_nothing(
    case: tuple[str, list[Segment]], new: str, is_known: bool
) -> None:
    text, segments = case
    anchored = anchor_segments(segments, text if is_known else None, new)
    _assert_true(new, anchored)

    assert [segment.id for segment in anchored] == [segment.id for segment in segments]
    assert anchor_segments(anchored, new, new) == anchored
    for segment in anchored:
        assert segment.detached or segment.former or anchor_segments([segment], None, new) == [segment]


@settings(max_examples=scale_examples(50), deadline=None)
@given(_texts, _texts)
def test_blocks_are_equal_in_both_texts_and_ascend_in_both(old: str, new: str) -> None:
    at, to = 0, 0
    for block in align(old, new):
        assert block.size > 0
        assert block.old >= at
        assert block.new >= to
        at, to = block.old + block.size, block.new + block.size
        assert old[block.old : at] == new[block.new : to]


INTERVIEW = "Ana: How was it?\n\nBen: The river came at night.\n\nAna: And then?\n\nBen: We went up to the roof.\n"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("came at night", "came in the night", "The river came in the night."),
        ("The river", "Well, the river", "the river came at night."),
        ("night.", "night, all of it.", "The river came at night, all of it."),
    ],
)
def test_an_edit_within_a_segment_is_followed(old: str, new: str, expected: str) -> None:
    anchored = after(INTERVIEW, "The river came at night.", INTERVIEW.replace(old, new))
    assert anchored.quote is not None
    assert anchored.quote.endswith(expected.removeprefix("the ")[-12:])
    assert not anchored.detached
    assert anchored.former is not None
    assert anchored.former.quote == "The river came at night."


def test_what_stands_around_follows_the_text() -> None:
    new = INTERVIEW.replace("How was it?", "What happened?")
    anchored = after(INTERVIEW, "The river came at night.", new)
    assert (
        anchored.prefix == new[anchored.start - 32 : anchored.start] if anchored.start >= 32 else new[: anchored.start]
    )


def test_a_paragraph_that_moves_takes_its_segment_along() -> None:
    moved = "Ben: The river came at night.\n\n"
    anchored = after(INTERVIEW, "The river came at night.", INTERVIEW.replace(moved, "") + "\n" + moved)
    assert (anchored.quote, anchored.detached) == ("The river came at night.", False)
    assert anchored.start > len(INTERVIEW) - len(moved)


def test_a_paragraph_that_moves_and_is_corrected_is_still_found() -> None:
    text = INTERVIEW.replace("The river", "It was late and the river, which nobody had looked at,")
    quote = "It was late and the river, which nobody had looked at, came at night."
    moved = f"Ben: {quote}\n\n"
    new = text.replace(moved, "") + "\n" + moved.replace("late", "very late")
    anchored = after(text, quote, new)
    assert not anchored.detached
    assert anchored.quote == quote.replace("late", "very late")


def test_the_second_of_two_equal_answers_stays_the_second() -> None:
    text = "".join(f"Ana: Question {number}?\nBen: Yes.\n" for number in range(9))
    at = text.index("Yes.", text.index("Question 4"))
    new = text.replace("Ana: Question 1?\nBen: Yes.\n", "").replace("Question 3", "Question three")
    anchored = anchor_segments([made(text, at, at + 4)], text, new)[0]
    assert new[: anchored.start].endswith("Question 4?\nBen: ")


def test_a_deleted_answer_is_not_taken_for_an_equal_one_elsewhere() -> None:
    text = "Ana: Cold?\nBen: Yes, very.\nAna: Wet?\nBen: Yes.\nAna: Dark?\nBen: Yes, rather.\n"
    at = text.index("Yes.")
    new = text.replace("Ana: Wet?\nBen: Yes.\n", "")
    anchored = anchor_segments([made(text, at, at + 3)], text, new)[0]
    assert anchored.detached
    assert anchor_segments([anchored], new, text)[0] == made(text, at, at + 3)


def test_a_text_that_was_rewritten_detaches_and_nothing_is_dropped() -> None:
    anchored = after(INTERVIEW, "The river came at night.", "Something else altogether.\n")
    assert anchored.detached
    assert anchored.quote == "The river came at night."


def test_a_segment_without_a_quote_means_what_is_there() -> None:
    anchored = anchor_segments([Segment("s", 5, 16, "q", "code", "app:x")], None, INTERVIEW)[0]
    assert (anchored.quote, anchored.prefix, anchored.detached) == ("How was it?", "Ana: ", False)


def test_a_segment_beyond_the_text_is_detached() -> None:
    assert anchor_segments([Segment("s", 5, 1600, "q", "code", "app:x")], None, INTERVIEW)[0].detached


def test_offsets_that_somebody_changed_without_the_quote_follow_the_quote() -> None:
    right = of(INTERVIEW, "And then?")
    wrong = Segment("s", 1, 9, "code", "code", "human:ana", right.quote, right.prefix, right.suffix)
    assert anchor_segments([wrong], INTERVIEW, INTERVIEW)[0] == right


def _long_text(seed: int, paragraphs: int) -> str:
    chance = random.Random(seed)
    words = ["".join(chance.choices("abcdefghij", k=chance.randint(1, 9))) for _ in range(3_000)]
    return "".join(f"S{number % 3}: {' '.join(chance.choices(words, k=90))}.\n\n" for number in range(paragraphs))


def _turns(text: str) -> list[Segment]:
    begins = [match.end() for match in re.finditer(": ", text)]
    return [made(text, at, text.index("\n", at), str(at)) for at in begins]


def test_a_megabyte_with_two_thousand_segments_is_followed_through_hundreds_of_edits() -> None:
    text = _long_text(1, 2_000)
    segments, lines = _turns(text), text.split("\n")
    for number in random.Random(2).sample(range(len(lines)), 300):
        lines[number] = lines[number].replace(" ", "  ", 2)
    began = time.process_time()

    anchored = anchor_segments(segments, text, "\n".join(lines))

    assert time.process_time() - began < 5.0
    assert len(anchored) == 2_000
    assert not any(segment.detached for segment in anchored)


def test_segments_of_another_text_are_given_up_in_bounded_time() -> None:
    text = _long_text(1, 400)
    began = time.process_time()

    anchored = anchor_segments(_turns(text), None, _long_text(3, 400))

    assert time.process_time() - began < 5.0
    assert sum(segment.detached for segment in anchored) == 400
