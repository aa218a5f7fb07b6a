from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import (
    decode,
    first_line_ending,
    line_starts,
    split_lines,
    with_unix_endings,
)


def test_bytes_that_are_not_utf_8_are_refused_with_their_place() -> None:
    with pytest.raises(Damaged, match=r"is not UTF-8 \(byte 17\)"):
        decode(b"0123456789abcdef\n\xff")


def test_nul_is_refused_because_postgres_cannot_hold_it() -> None:
    with pytest.raises(Damaged, match=r"NUL character \(byte 2\)"):
        decode("é\0".encode())


def test_a_byte_order_mark_is_kept() -> None:
    assert decode(b"\xef\xbb\xbf# a") == "\ufeff# a"


def test_lines_end_at_crlf_lf_and_cr_only() -> None:
    text = "a\r\nb\rc\nd\u2028e\x85f\x0bg\x0ch\x1ci"

    assert split_lines(text) == ["a\r\n", "b\r", "c\n", "d\u2028e\x85f\x0bg\x0ch\x1ci"]


@given(st.text(alphabet=st.sampled_from("a\r\n\u2028\x85")))
def test_lines_joined_are_the_text(text: str) -> None:
    assert "".join(split_lines(text)) == text
    assert "\r" not in with_unix_endings(text)
    assert len(split_lines(with_unix_endings(text))) == len(split_lines(text))
    starts = line_starts(text)
    assert [text[start:end] for start, end in pairwise(starts)] == split_lines(text)
    assert (starts[0], starts[-1]) == (0, len(text))


@pytest.mark.parametrize(("text", "ending"), [("a\r\nb\n", "\r\n"), ("a\rb", "\r"), ("a", "\n")])
def test_added_lines_end_as_the_first_one_does(text: str, ending: str) -> None:
    assert first_line_ending(text) == ending
