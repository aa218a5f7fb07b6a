"""The folding table against what Python knows of letters."""

import sys

import pytest

from mirrord.domain.place import FOLDING


def test_a_folded_letter_folds_no_further() -> None:
    assert not FOLDING.keys() & set(FOLDING.values())


def test_the_table_is_that_of_unicode_14() -> None:
    assert len(FOLDING) == 1454
    assert FOLDING[ord("A")] == ord("a")
    assert FOLDING[ord("Σ")] == FOLDING[ord("ς")] == ord("σ")
    assert FOLDING[0x1E9E] == ord("ß")
    assert ord("İ") not in FOLDING  # its folding has two code points


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other Pythons know other versions of Unicode")
def test_where_full_folding_gives_one_letter_the_table_gives_the_same() -> None:
    one_to_one = {
        code: ord(folded)
        for code in range(sys.maxunicode + 1)
        if len(folded := chr(code).casefold()) == 1 and ord(folded) != code
    }
    assert {code: FOLDING.get(code) for code in one_to_one} == one_to_one
