"""A difference is both texts again, and marks what changed and nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from mirrord.web.text_comparison import diff_hunks

TEXTS = st.lists(st.sampled_from(["one two", "one three", "", "a  b", "x"]), max_size=12).map("\n".join)


@given(TEXTS, TEXTS)
def test_nothing_of_a_changed_line_is_left_out(before: str, after: str) -> None:
    lines = [line for hunk in diff_hunks(before, after) for line in hunk]
    old, new = before.splitlines(), after.splitlines()
    for line in lines:
        text = "".join(piece.text for piece in line.pieces)
        assert line.before is None or old[line.before - 1] == text
        assert line.after is None or new[line.after - 1] == text
        assert (line.mark == "+") == (line.before is None)
        assert (line.mark == "-") == (line.after is None)
    removed = {line.before for line in lines if line.mark == "-"}
    added = {line.after for line in lines if line.mark == "+"}
    assert [text for number, text in enumerate(old, 1) if number not in removed] == [
        text for number, text in enumerate(new, 1) if number not in added
    ]


@given(TEXTS)
def test_equal_texts_have_no_difference(text: str) -> None:
    assert diff_hunks(text, text) == []


def test_only_the_words_that_changed_are_marked() -> None:
    ((old, new),) = diff_hunks("the quick fox", "the slow fox")
    assert [(piece.text, piece.changed) for piece in old.pieces] == [("the ", False), ("quick", True), (" fox", False)]
    assert [piece.text for piece in new.pieces if piece.changed] == ["slow"]


def test_a_text_of_many_lines_is_shown_without_being_compared() -> None:
    assert len(diff_hunks("x\n" * 6000, "y\n")[0]) == 6001


def test_of_long_texts_without_anything_in_common_words_are_compared_for_a_while_only() -> None:
    words = " ".join(f"w{number}" for number in range(190))
    texts = ["\n".join(f"{sign}{line} {words}" for line in range(100)) for sign in "ab"]
    (lines,) = diff_hunks(*texts)
    removed = [line for line in lines if line.mark == "-"]
    assert len(removed) == 100
    assert len(removed[0].pieces) > 1
    assert [piece.changed for piece in removed[-1].pieces] == [True]
