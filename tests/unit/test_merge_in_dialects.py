"""Merges of pages that other programs read: their syntax is taken from one side as a whole, or not at all."""

import pytest

from mirrord.domain.dialect import Dialect
from mirrord.merge.edit_merge import merge

BLOCKS = [
    (Dialect.DOCUSAURUS, "export const one = 1, two = 2"),
    (Dialect.MKDOCS, "!!! note one two\n    inside"),
    (Dialect.LOGSEQ, "kinds:: one two"),
    (Dialect.JEKYLL, "{% include one.html at=two %}"),
]
SPANS = [
    (Dialect.HUGO, "{{< ref one at=two >}}"),
    (Dialect.DOCUSAURUS, "{one + two}"),
    (Dialect.JEKYLL, "{: .one .two }"),
]


def merge_sides(text: str, dialect: Dialect) -> str | None:
    """The merge of two edits of *text*, of which one changes `one` and the other `two`."""
    return merge(text, text.replace("one", "ONE"), text.replace("two", "TWO"), dialect)


@pytest.mark.parametrize(("dialect", "lines"), BLOCKS)
def test_words_of_foreign_lines_are_not_mixed(dialect: Dialect, lines: str) -> None:
    text = f"before\n\n{lines}\n\nafter\n"

    assert merge_sides(text, dialect) is None
    assert merge_sides(text, Dialect.PLAIN) is not None


@pytest.mark.parametrize(("dialect", "span"), SPANS)
def test_words_of_a_foreign_span_are_not_mixed(dialect: Dialect, span: str) -> None:
    text = f"a sentence with {span} in it\n"

    assert merge_sides(text, dialect) is None
    assert merge_sides(text, Dialect.PLAIN) is not None


@pytest.mark.parametrize(("dialect", "span"), SPANS)
def test_words_beside_a_foreign_span_are_merged(dialect: Dialect, span: str) -> None:
    text = f"left {span} right\n"
    merged = merge(text, text.replace("left", "LEFT"), text.replace("right", "RIGHT"), dialect)

    assert merged == f"LEFT {span} RIGHT\n"


def test_words_of_a_span_that_goes_over_lines_are_not_mixed() -> None:
    text = "see {{< figure\n src=one alt=two >}} here\n"

    assert merge_sides(text, Dialect.HUGO) is None


def test_words_of_an_outline_below_a_heading_are_merged_as_those_of_a_list() -> None:
    text = "# Head\n\t- an item of one and of two\n"

    assert merge_sides(text, Dialect.LOGSEQ) == "# Head\n\t- an item of ONE and of TWO\n"
    assert merge_sides("# Head\n\n\t- an item of one and of two\n", Dialect.PLAIN) is None
