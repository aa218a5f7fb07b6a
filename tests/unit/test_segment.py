"""The JSON of segments: what it says comes back, what is somebody else's stays."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.research.segments.segment import Segment, Wording, decode_segments, encode_segments
from tests.support.laws import scale_examples

_text = st.text(max_size=5)
_wording = st.builds(Wording, _text, _text, _text)


@st.composite
def _segments(draw: st.DrawFn) -> Segment:
    start = draw(st.integers(0, 99))
    quote, former = draw(st.none() | _wording), draw(st.none() | _wording)
    return Segment(
        draw(st.text("abc", min_size=1, max_size=2)),
        start,
        draw(st.integers(start, 120)),
        draw(_text),
        draw(st.sampled_from(["code", "speaker", "own"])),
        draw(_text),
        quote.quote if quote else None,
        quote.prefix if quote else "",
        quote.suffix if quote else "",
        draw(st.booleans()),
        former,
        draw(st.dictionaries(st.sampled_from(["memo", "weight"]), st.integers())),
    )


@settings(max_examples=scale_examples(50), deadline=None)
@given(st.lists(_segments(), max_size=4, unique_by=lambda segment: segment.id))
def test_what_is_written_is_read_again_in_the_order_of_the_text(segments: list[Segment]) -> None:
    decoded = decode_segments(encode_segments({}, segments))
    assert decoded == sorted(segments, key=lambda segment: (segment.start, segment.end, segment.id))
    assert encode_segments(encode_segments({}, segments), decoded) == encode_segments({}, segments)


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        None,
        {"start": 1},
        {"start": -1, "end": 2},
        {"start": 3, "end": 2},
        {"start": True, "end": 2},
        {"end": 1.5},
    ],
)
def test_what_is_no_segment_is_passed_over_and_stays(value: object) -> None:
    assert decode_segments({"a": value}) == []
    assert encode_segments({"a": value}, []) == {"a": value}


def test_a_segment_that_is_left_out_is_gone() -> None:
    data = {"a": {"start": 0, "end": 1}, "b": {"start": 2, "end": 3}}
    assert encode_segments(data, decode_segments(data)[1:]).keys() == {"b"}
