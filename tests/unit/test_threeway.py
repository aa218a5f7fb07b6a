from hypothesis import given
from hypothesis import strategies as st

from mirrord.markdown.frontmatter.page_text import split_lines
from mirrord.operations.three_way_diff import FILE_MARK, MIDDLE_MARK, ROW_MARK, diff_lines, has_markers, mark_conflicts

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "# d"])).map("\n".join) | st.text("ab\r\n", max_size=12)
ENDED = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"])).map("".join)


def side(text: str, *, row: bool) -> str:
    """The text of one side, out of a marked one."""
    kept_lines, where = [], ""
    for line in split_lines(text):
        bare = line.rstrip("\r\n")
        if bare in (ROW_MARK, MIDDLE_MARK, FILE_MARK):
            where = bare
        elif where not in (ROW_MARK, MIDDLE_MARK) or row == (where == ROW_MARK):
            kept_lines.append(line)
    return "".join(kept_lines)


@given(TEXTS, TEXTS)
def test_only_equal_texts_have_no_difference(before: str, after: str) -> None:
    assert (diff_lines(before, after, "a", "b") == []) == (before == after)


@given(ENDED, ENDED)
def test_without_a_base_both_texts_are_whole_in_the_marked_one(file: str, row: str) -> None:
    text = mark_conflicts(None, file, row)
    assert side(text, row=True) == row
    assert side(text, row=False) == file
    assert has_markers(text) == (file != row)


@given(ENDED, ENDED, ENDED)
def test_a_change_of_one_side_alone_is_taken_and_what_both_say_is_there(base: str, file: str, row: str) -> None:
    assert mark_conflicts(base, base, row) == row
    assert mark_conflicts(base, file, base) == file
    text = mark_conflicts(base, file, row)
    assert set(split_lines(file)) - set(split_lines(base)) <= set(split_lines(text))
    assert set(split_lines(row)) - set(split_lines(base)) <= set(split_lines(text))


def test_markers_stand_around_what_differs() -> None:
    text = mark_conflicts("one\ncolour?\nend\n", "one\nred\nend\n", "ONE\nblue\nend\n")
    assert text == f"{ROW_MARK}\nONE\nblue\n{MIDDLE_MARK}\none\nred\n{FILE_MARK}\nend\n"


def test_a_difference_shows_line_endings_and_their_lack() -> None:
    assert diff_lines("a\nb", "a\r\nb\n", "before", "after")[3:] == [
        *("-a", "-b", "\\ No newline at end of file", "+a␍", "+b"),
    ]


def test_a_heading_underlined_with_equal_signs_is_no_marker() -> None:
    assert not has_markers(f"Title\n{MIDDLE_MARK}\n")
    assert has_markers(f"a\r\n{FILE_MARK}\r\n")
    assert has_markers("<<<<<<< the row's text\na\n=======\nb\n")  # begun before the marks had these words
