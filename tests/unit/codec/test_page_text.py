"""A page's text is split at its fences, byte for byte, where python-frontmatter splits otherwise."""

import pytest
from frontmatter.default_handlers import YAMLHandler
from hypothesis import given
from hypothesis import strategies as st

from mirrord.markdown.frontmatter.page_text import PageText

PIECES = st.sampled_from(["---", "----", "--- ", "\n", "\r\n", "\r", "\ufeff", "a: 1", "- x", " ", "body", "\u2028"])


@given(st.lists(PIECES, max_size=14).map("".join))
def test_the_parts_joined_are_the_text(text: str) -> None:
    page = PageText(text)

    assert "".join(page.parts) == text
    assert page.opening + page.source + page.closing == page.head


def test_plain_front_matter_is_what_the_library_takes_it_for() -> None:
    text = "---\ntitle: a\ntags: [b]\n---\n# Body\n\n---\n\nmore\n"

    source, body = YAMLHandler().split(text)

    assert (source.strip(), body.strip()) == (PageText(text).source.strip(), PageText(text).body.strip())


def test_blank_lines_after_the_front_matter_are_lost_by_the_library() -> None:
    text = "---\na: 1\n---\n\n\nbody\n"

    assert YAMLHandler().split(text)[1] == "\nbody\n"
    assert PageText(text).body == "\n\nbody\n"


def test_a_longer_line_of_dashes_ends_the_front_matter_for_the_library() -> None:
    text = "---\na: |\n  b\n----\nc: 1\n---\nbody\n"

    assert YAMLHandler().split(text)[1] == "\nc: 1\n---\nbody\n"
    assert PageText(text).body == "body\n"


@pytest.mark.parametrize(
    "text", ["---\ra: 1\r---\rbody\r", "\ufeff---\na: 1\n---\nbody\n"], ids=["CR", "byte order mark"]
)
def test_front_matter_that_the_library_does_not_find(text: str) -> None:
    assert not YAMLHandler().detect(text)
    assert PageText(text).source.strip() == "a: 1"
