"""Speakers in transcripts: found with a precision and recall that the labelled ones hold."""

import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.research.speakers.speaker_labels import Detection, Format
from mirrord.research.speakers.speaker_turns import find_speakers
from tests.support.laws import scale_examples

CASES = Path(__file__).parents[1] / "cases" / "transcripts"
GOAL = 0.98


@dataclass(frozen=True, slots=True)
class Case:
    """A transcript and who speaks in it, how often. format None: nobody."""

    name: str
    format: Format | None
    expected: Counter[str]
    text: str


def _case(path: Path) -> Case:
    head, _, text = path.read_text(encoding="utf-8").partition("---\n")
    header = dict(line.split(":", 1) for line in head.splitlines())
    pairs = [pair.strip().rsplit(" ", 1) for pair in header["speakers"].split(",") if pair.strip()]
    format = header["format"].strip()
    expected = Counter({name: int(number) for name, number in pairs})
    return Case(str(path.relative_to(CASES)), None if format == "none" else Format(format), expected, text)


ALL = [_case(path) for path in sorted(CASES.glob("*/*.txt"))]


def _missed(case: Case, detection: Detection) -> str:
    expected, counts = case.expected, Counter(detection.occurrences)
    return f"{case.name}: missed {dict(expected - counts)}, wrongly {dict(counts - expected)}"


def _measured(cases: list[Case], requested: Format | None = None) -> tuple[float, float, list[str]]:
    """Precision and recall over turns, and what is not as labelled."""
    hits, found_count, expected, faults = 0, 0, 0, []
    for case in cases:
        result = find_speakers(case.text, requested or Format.AUTO)
        counts = Counter(result.occurrences)
        hits += (counts & case.expected).total()
        found_count += counts.total()
        expected += case.expected.total()
        if counts != case.expected:
            faults.append(_missed(case, result))
    return hits / max(found_count, 1), hits / max(expected, 1), faults


@pytest.mark.parametrize("format", [Format.COLON, Format.BRACKET, Format.BRACE])
@pytest.mark.parametrize("group", ["tuned", "held"])
def test_turns_are_found_as_people_labelled_them(group: str, format: Format) -> None:
    cases = [case for case in ALL if case.format in (format, None) and case.name.startswith(group)]
    precision, recall, faults = _measured(cases)
    print(f"{group} {format}: precision {precision:.3f}, recall {recall:.3f} in {len(cases)} transcripts", faults)
    assert precision >= GOAL, faults
    assert recall >= GOAL, faults


def test_the_labelled_transcripts_are_many_and_a_third_was_not_tuned_on() -> None:
    held_out = [case for case in ALL if case.name.startswith("held")]
    assert len(ALL) >= 60
    assert 3 * len(held_out) >= len(ALL)


def test_no_time_and_no_heading_is_taken_for_a_person() -> None:
    names = [name for case in ALL for name in find_speakers(case.text).speakers]
    assert [name for name in names if re.search(r"\d[:.]\d", name) or name.startswith("#")] == []
    assert find_speakers(TIMES).speakers == ()


@pytest.mark.parametrize("case", [case for case in ALL if case.format is not None], ids=lambda case: case.name)
def test_the_format_is_the_one_that_most_turns_have(case: Case) -> None:
    assert find_speakers(case.text).format_used is case.format


TIMES = """# Part 1: morning
# Part 1: morning
00:01:23: noise
00:01:23: more noise
12:03 the door
12:03 the door
[00:10]
[00:10]
{00:10}
{00:10}
10:30: Break.
10:30: Break.
Part 2: The other half of it begins here.
Part 2: It goes on, and on, and on.
https://example.org/a is a page.
https://example.org/a is a page.
"""

TALK = """Recorded in May.

Ana: How was it?

Ben: [laughs] Wet.
We had no boots.

All night long.

## Later

Ana:
And then?

00:10 Ben: Then nothing.
(door)
Ana: Hm.
Ben:
"""


def _said(text: str, format: Format = Format.AUTO) -> list[tuple[str, str]]:
    return [(turn.name, text[turn.start : turn.end]) for turn in find_speakers(text, format).turns]


def test_a_turn_is_what_is_said_up_to_the_next_one_or_a_heading() -> None:
    assert _said(TALK) == [
        ("Ana", "How was it?"),
        ("Ben", "[laughs] Wet.\nWe had no boots.\n\nAll night long."),
        ("Ana", "And then?"),
        ("Ben", "Then nothing."),
        ("Ana", "Hm."),
        ("Ben", "Ben"),
    ]


def test_of_subtitles_neither_numbers_nor_times_are_said() -> None:
    (case,) = [case for case in ALL if case.name.endswith("subtitles-srt.txt")]
    assert ("PILOT", "I remember them.\nThat is better than seeing.") in _said(case.text)
    assert not any("-->" in words for name, words in _said(case.text) if name == "ANA")


def test_a_format_that_is_asked_for_is_the_only_one_looked_at() -> None:
    text = "Ana: Hm.\n[Ben] Ha.\nAna: So?\n[Ben] So.\nAna: Not I.\n"
    assert find_speakers(text).occurrences == {"Ana": 3}
    assert find_speakers(text, Format.BRACKET).occurrences == {"Ben": 2}
    assert find_speakers(text, Format.BRACE).format_used is Format.BRACE
    assert find_speakers(text, Format.BRACE).speakers == ()


def test_one_name_is_one_speaker_however_its_case() -> None:
    detection = find_speakers("ANA: Is it on?\nBen: It is.\nAna: Good.\nBen: Now?\n")
    assert detection.occurrences == {"ANA": 2, "Ben": 2}


def test_a_name_that_comes_once_counts_in_a_short_text_only() -> None:
    short = "Ana: Is it on?\nBen: It is.\nAna: Good.\nCleo: I am late.\n"
    assert "Cleo" in find_speakers(short).speakers
    assert "Cleo" not in find_speakers("Ana: Is it on?\nBen: It is.\n" * 6 + short).speakers


_NAMES = st.sampled_from(["Ana", "P1", "Dr. Smith", "O'Brien", "INTERVIEWER", "José", "王老师", "Ольга", "يوسف"])
_SAID = st.sampled_from(["Me too.", "I was there, at 10:30 I think.", "Why? Note: it rained.", "We go: on.\n\nAnd on."])


@settings(max_examples=scale_examples(50), deadline=None)
@given(
    st.sampled_from(["{}: ", "[{}] ", "[{}]: ", "{{{}}} ", "**{}:** "]), st.lists(st.tuples(_NAMES, _SAID), max_size=12)
)
def test_whoever_speaks_again_is_found_with_every_word(pattern: str, spoken: list[tuple[str, str]]) -> None:
    turns = [turn for turn in spoken for _ in range(3)]
    text = "".join(f"{pattern.format(name)}{words}\n\n" for name, words in turns)
    assert _said(text) == turns


@settings(max_examples=scale_examples(50), deadline=None)
@given(st.text("Ab: []{}()\n#-*1.>", max_size=200))
def test_turns_ascend_without_overlap_within_any_text(text: str) -> None:
    for format in Format:
        detection, behind = find_speakers(text, format), 0
        assert sum(detection.occurrences.values()) == len(detection.turns)
        for turn in detection.turns:
            assert behind <= turn.start < turn.end <= len(text)
            behind = turn.end


@pytest.mark.parametrize("text", ["A" * 200_000, "Ana (" * 40_000, "[" * 200_000, "> " * 100_000, "Ana: \n" * 3_000])
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    find_speakers(text)
    assert time.process_time() - began < 2.0
