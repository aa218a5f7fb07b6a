"""Changed blocks: equal parts stay, and any choice of blocks is a text between both."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.merge.changed_blocks import changed_blocks, select_blocks

OLD = "---\na: 1\n\nb: 2\n---\n# T\n\none\n\ntwo\n\n```\nx\n\ny\n```\n\nthree\n"
NEW = "---\na: 1\n\nb: 3\n---\n# T\n\none!\n\ntwo\n\n```\nx\n\nz\n```\n\nthree\nfour"
PIECES = ("a\n", "b\n", "\n", "```\n", "---\n", "# t\n", "c", "\r\n", "~~~\n", " \n")

texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def test_front_matter_and_code_are_blocks_as_wholes() -> None:
    assert [(block.number, block.old, block.new) for block in changed_blocks(OLD, NEW)] == [
        (1, "---\na: 1\n\nb: 2\n---\n", "---\na: 1\n\nb: 3\n---\n"),
        (2, "one\n\n", "one!\n\n"),
        (3, "```\nx\n\ny\n```\n\n", "```\nx\n\nz\n```\n\n"),
        (4, "three\n", "three\nfour"),
    ]


def test_a_chosen_block_changes_and_no_other() -> None:
    assert select_blocks(OLD, NEW, {2}) == OLD.replace("one\n", "one!\n")


@given(texts, texts)
def test_all_blocks_are_the_new_text_and_none_the_old_one(old: str, new: str) -> None:
    numbers = {block.number for block in changed_blocks(old, new)}
    assert select_blocks(old, new, numbers) == new
    assert select_blocks(old, new, set()) == old
    assert (old == new) == (not numbers)


@given(texts, texts, st.data())
def test_the_blocks_that_were_not_chosen_are_those_that_remain(old: str, new: str, data: st.DataObject) -> None:
    blocks = changed_blocks(old, new)
    chosen = data.draw(st.sets(st.sampled_from([block.number for block in blocks]))) if blocks else set()
    text = select_blocks(old, new, chosen)
    length = len(old) + sum(len(block.new) - len(block.old) for block in blocks if block.number in chosen)
    assert len(text) == length


@pytest.mark.parametrize("count", [1_200, 8_000])
def test_texts_that_have_one_block_very_often_are_compared_in_bounded_time(count: int) -> None:
    old = ["first\n\n", *["same\n\n"] * count, "last\n"]
    new = ["first\n\n", *(block for number in range(count // 2) for block in ("same\n\n", f"{number}\n\n")), "last\n"]
    before, after = "".join(old), "".join(new)
    started = time.process_time()
    blocks = changed_blocks(before, after)
    assert select_blocks(before, after, {block.number for block in blocks}) == after
    assert select_blocks(before, after, set()) == before
    assert time.process_time() - started < 2
    assert not any("first" in block.old or "last" in block.old for block in blocks)


def test_one_change_in_a_long_text_is_one_block() -> None:
    old = [f"paragraph {number}\n\n" for number in range(6_000)]
    new = [*old[:3_000], "changed\n\n", *old[3_001:]]
    (block,) = changed_blocks("".join(old), "".join(new))
    assert (block.old, block.new) == (old[3_000], new[3_000])
