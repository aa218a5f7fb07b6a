"""The diff of an edit: whoever applies it to the old text gets the new one, and it is that of `diff -u`."""

import re
from difflib import unified_diff

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.commands.core.command_plan import diff_of
from tests.support.laws import scale_examples

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "--- d", "@@ -1 +1 @@"]), max_size=12)
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def apply_diff(old: list[str], diff: str) -> list[str]:
    """What a unified diff makes of *old*; each line of context has to be there."""
    new, position, lines_left = list[str](), 0, 0
    for line in diff.split("\n")[2:]:
        if lines_left == 0:
            hunk = _HUNK.fullmatch(line)
            assert hunk is not None
            old_count, new_count = (1 if count is None else int(count) for count in (hunk[2], hunk[4]))
            begin = int(hunk[1]) - (old_count > 0)
            new += old[position:begin]
            assert len(new) == int(hunk[3]) - (new_count > 0)
            position, lines_left = begin, old_count + new_count
            continue
        if line[0] in " -":
            assert old[position] == line[1:]
            position += 1
        if line[0] in " +":
            new.append(line[1:])
        lines_left -= 2 if line[0] == " " else 1
    assert lines_left == 0
    return new + old[position:]


def text_of(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@given(LINES, LINES, LINES, LINES)
@settings(max_examples=scale_examples(300))
def test_the_diff_leads_from_the_old_text_to_the_new(
    before: list[str], old: list[str], new: list[str], behind: list[str]
) -> None:
    old_lines, new_lines = [*before, *old, *behind], [*before, *new, *behind]

    diff = diff_of("Page.md", text_of(old_lines), text_of(new_lines))

    assert (diff == "") is (old_lines == new_lines)
    assert apply_diff(old_lines, diff) == new_lines


@pytest.mark.parametrize("first", [0, 1, 3, 10, 19])
@pytest.mark.parametrize(("count", "words"), [(0, ["x"]), (1, ["x"]), (1, []), (2, ["x", "y", "z"]), (20, ["x"])])
def test_the_diff_of_one_change_is_that_of_difflib(first: int, count: int, words: list[str]) -> None:
    old = [f"line {number}" for number in range(20)]
    new = [*old[:first], *words, *old[first + count :]]

    expected = "\n".join(unified_diff(old, new, "Page.md", "Page.md", lineterm=""))

    assert diff_of("Page.md", text_of(old), text_of(new)) == expected
