"""Differences are found in bounded time, and what is called equal is equal."""

import time
from collections.abc import Sequence
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.markdown import bounded_diff
from mirrord.markdown.bounded_diff import find_opcodes
from mirrord.markdown.frontmatter.page_properties import read_values, with_keys
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.operations.change_listing import _count_lines
from mirrord.sync.decisions.stale_buffers import merge_base

items = st.lists(st.sampled_from("abc"), max_size=12)


def _check(old: Sequence[str], new: Sequence[str]) -> None:
    at = new_at = 0
    for tag, start, end, new_start, new_end in find_opcodes(old, new):
        assert (start, new_start) == (at, new_at)
        if tag == "equal":
            assert old[start:end] == new[new_start:new_end]
        at, new_at = end, new_end
    assert (at, new_at) == (len(old), len(new))


@given(items, items)
def test_of_short_sequences_they_are_those_of_difflib(old: list[str], new: list[str]) -> None:
    assert find_opcodes(old, new) == SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


@given(items, items)
def test_all_of_both_sequences_is_covered_where_there_is_too_much_to_compare(old: list[str], new: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded_diff, "MAX_EQUAL_PAIRS", 3)
        _check(old, new)


@pytest.mark.parametrize("count", [600, 5_000])
def test_a_page_of_which_every_paragraph_changed_is_compared_in_bounded_time(count: int) -> None:
    old, new = ("".join(f"{word} {number} with words\n\n" for number in range(count)) for word in ("Old", "Fresh"))
    started = time.process_time()
    assert merge_base([old], new, old.replace("Old 3 ", "Odd 3 ")) is None
    assert _count_lines(old, new)[0] >= count
    assert time.process_time() - started < 3


def test_a_word_in_a_long_page_of_which_another_line_changed_is_still_found() -> None:
    old = "".join(f"Paragraph {number} with words.\n\n" for number in range(3_000))
    new = old.replace("Paragraph 2000 with", "Paragraph 2000 without")
    saved = old.replace("Paragraph 10 with", "Paragraph 10 of")
    assert merge_base([old], new, saved) == old


@pytest.mark.parametrize("count", [900, 2_500])
def test_a_list_with_one_item_very_often_is_changed_in_bounded_time(count: int) -> None:
    page = PageText("---\ntags:\n" + "  - same\n" * count + "---\nText\n")
    changed: list[Json] = [item for number in range(count // 2) for item in ("same", f"v{number}")]
    started = time.process_time()
    assert read_values(with_keys(page, {"tags": changed})) == {"tags": changed}
    assert time.process_time() - started < 3
