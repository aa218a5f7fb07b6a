"""Speakers in transcripts: found with a precision and recall that the labelled ones hold."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from mirrord.domain.speakers import Detection, Format, detect

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
    said = dict(line.split(":", 1) for line in head.splitlines())
    pairs = [pair.strip().rsplit(" ", 1) for pair in said["speakers"].split(",") if pair.strip()]
    format = said["format"].strip()
    expected = Counter({name: int(number) for name, number in pairs})
    return Case(str(path.relative_to(CASES)), None if format == "none" else Format(format), expected, text)


ALL = [_case(path) for path in sorted(CASES.glob("*/*.txt"))]


def _missed(case: Case, found: Detection) -> str:
    expected, counts = case.expected, Counter(found.occurrences)
    return f"{case.name}: missed {dict(expected - counts)}, wrongly {dict(counts - expected)}"


def _measured(cases: list[Case], asked: Format | None = None) -> tuple[float, float, list[str]]:
    """Precision and recall over turns, and what is not as labelled."""
    hits, found, expected, faults = 0, 0, 0, []
    for case in cases:
        result = detect(case.text, asked or Format.AUTO)
        counts = Counter(result.occurrences)
        hits += (counts & case.expected).total()
        found += counts.total()
        expected += case.expected.total()
        if counts != case.expected:
            faults.append(_missed(case, result))
    return hits / max(found, 1), hits / max(expected, 1), faults


@pytest.mark.parametrize("format", [Format.COLON, Format.BRACKET, Format.BRACE])
@pytest.mark.parametrize("group", ["tuned", "held"])
def test_turns_are_found_as_people_labelled_them(group: str, format: Format) -> None:
    cases = [case for case in ALL if case.format in (format, None) and case.name.startswith(group)]
    precision, recall, faults = _measured(cases)
    print(f"{group} {format}: precision {precision:.3f}, recall {recall:.3f} in {len(cases)} transcripts", faults)
    assert precision >= GOAL, faults
    assert recall >= GOAL, faults
