"""Beginnings of pages and of their parts, as a person sees them before following a link."""

import pytest

from mirrord.markdown.page_beginnings import MAX_CHARACTERS, beginning_of

PAGE = "---\ntitle: T\n---\nabove\n\n# One\n\nfirst\n\n## Below it\n\nsecond\n\n# Two\n\nthird\n"


@pytest.mark.parametrize(
    ("heading", "beginning"),
    [
        ("", "above\n\n# One\n\nfirst\n\n## Below it\n\nsecond\n\n# Two\n\nthird"),
        ("One", "# One\n\nfirst\n\n## Below it\n\nsecond"),
        ("One#Below it", "## Below it\n\nsecond"),
        ("TWO", "# Two\n\nthird"),
        ("Nothing of this name", "above\n\n# One\n\nfirst\n\n## Below it\n\nsecond\n\n# Two\n\nthird"),
    ],
)
def test_a_link_to_a_part_shows_that_part(heading: str, beginning: str) -> None:
    assert beginning_of(PAGE, heading) == beginning


def test_a_long_page_ends_with_a_whole_block_if_that_leaves_enough() -> None:
    paragraph = "word" * 80
    assert beginning_of(f"{paragraph}\n\n{paragraph}\n\n{paragraph}", "") == paragraph
    assert len(beginning_of("word " * 1_000, "")) == MAX_CHARACTERS
