"""Edits of whole blocks, items, rows and columns touch only the lines that they are about."""

import pytest

from tests.bench.codec.structural_edits import KINDS
from tests.bench.codec.structure import outcomes_of

PAGES = (
    "# Head\n\nOne two three.\n\nFour *five*\nsix.\n\n***\n\n> quoted words\n\nLast one.\n",
    "* one two\n* three four\n  * five six\n  * seven &lt; eight\n\nText here\n\n"
    "1)  a b\n2)  c d\n\n- [ ] do it\n- [X] done it\n",
    "| a  | b   |\n|----|:---:|\n| x  | __y__ |\n| z  |     |\n\nText between\n\na | b\n-|-\nc | d\n",
    "-   a\n-   b c\n\n    d e\n-   f\n\n\tcode\n\n## Part ##\n\n[link][x] words\n\n[x]: https://example.org\n",
)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("page", range(len(PAGES)))
def test_a_structural_edit_touches_only_its_lines(page: int, seed: int) -> None:
    outcomes = outcomes_of(PAGES[page], seed)
    assert [(each.kind, each.note) for each in outcomes if each.verdict != "tight"] == []


def test_every_kind_of_structural_edit_is_made_somewhere() -> None:
    assert {outcome.kind for page in PAGES for outcome in outcomes_of(page, 1)} == set(KINDS)
