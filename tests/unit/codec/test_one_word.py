"""One word changes: the diff by characters is that word, in every block of every page."""

from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it.common.utils import MD_TRIM_CHARS

from tests import corpora
from tests.bench.codec.words import DIALECTS, Outcome, every_word_edited, few_words_edited
from tests.unit.codec.documents import markdown

PAGES = sorted(DIALECTS.glob("*.md"))
WIDE_BLANKS = frozenset(MD_TRIM_CHARS) - frozenset(" \t\r\n")  # the reader moves those at the edges of paragraphs


def not_alone(outcomes: list[Outcome]) -> list[str]:
    """The edits that changed more than a word, where the word alone would have made the document."""
    return [outcome.note for outcome in outcomes if outcome.verdict not in ("exact", "impossible")]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_each_word_of_a_page_of_another_program_changes_alone(path: Path) -> None:
    outcomes = every_word_edited(path.read_text("utf-8"))

    assert [outcome.verdict for outcome in outcomes].count("exact") > 10
    assert not_alone(outcomes) == []


def test_each_word_of_the_specifications_changes_alone(examples: list[str]) -> None:
    notes = [note for example in examples for note in not_alone(every_word_edited(example))]

    assert notes == []


def test_words_of_real_pages_change_alone(pages: list[str]) -> None:
    notes = [note for number, page in enumerate(pages) for note in not_alone(few_words_edited(page, number, 3))]

    assert notes == []


@pytest.mark.parametrize("variant", corpora.VARIANTS)
def test_a_word_changes_alone_in_every_variant_of_a_page(variant: str) -> None:
    texts = [corpora.VARIANTS[variant](path.read_text("utf-8")) for path in PAGES]
    notes = [note for number, text in enumerate(texts) for note in not_alone(few_words_edited(text, number, 6))]

    assert notes == []


@given(markdown, st.integers(0, 2**32))
@settings(max_examples=200, derandomize=True)  # a few texts in ten thousand hold open fences and links in links
def test_a_word_of_any_page_changes_alone(body: str, seed: int) -> None:
    assume(WIDE_BLANKS.isdisjoint(body))
    assert not_alone(few_words_edited("\n" + body, seed, 3)) == []  # no front matter can begin on the second line


def test_a_word_beside_a_node_that_is_a_fence_changes_alone() -> None:
    fence = '  ```tiptap-node\n  {"type": "youtube", "attrs": {"src": "x"}}\n  ```\n'
    outcomes = every_word_edited(f"- __word__ x<y\n\n{fence}\n- other\n")

    assert [outcome.verdict for outcome in outcomes] == ["exact", "exact"]
