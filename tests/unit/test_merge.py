import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.markdown.frontmatter.page_properties import read_values
from mirrord.markdown.frontmatter.page_text import PageText, split_lines, with_unix_endings
from mirrord.merge.edit_merge import merge
from tests.support.laws import scale_examples

_HEADS = [
    "",
    "---\ntitle: a\ntags: [x, y]\n---\n",
    "---\n# why\ntitle: a\ntags:\n  - x\n  - y\nn: 1\n---\n",
    "---\na: b: c\n---\n",
]
_LINES = st.sampled_from(["one", "two three", "- four five", "", "```", "| a | b |", "|---|---|", "# six", "x y z"])


@st.composite
def heads(draw: st.DrawFn) -> str:
    """Front matter from few words, so that sides often agree and often clash."""
    if draw(st.booleans()):
        return draw(st.sampled_from(_HEADS))
    title = draw(st.sampled_from(["", "title: a\n", "title: b\n", "title: a # why\n"]))
    tags = draw(st.sampled_from(["", "tags: [x]\n", "tags: [x, y, z]\n", "tags:\n  - y\n  - w\n", "tags: x\n"]))
    further = draw(st.sampled_from(["", "n: 1\n", "n: 2\n", "# note\n"]))
    return f"---\n{title}{tags}{further}---\n" if title + tags + further else ""


texts = st.builds(
    lambda bom, head, body, end, ending: (bom + head + "\n".join(body) + end).replace("\n", ending),
    st.sampled_from(["", "", "\ufeff"]),
    heads(),
    st.lists(_LINES, max_size=8),
    st.sampled_from(["", "\n"]),
    st.sampled_from(["\n", "\n", "\r\n"]),
)


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, str, str]:
    """A base and two edits of it, each of a few lines or words."""
    base = draw(texts)
    return base, _edited(draw, base), _edited(draw, base)


def _edited(draw: st.DrawFn, text: str) -> str:
    parts = PageText(text)
    body = split_lines(parts.body)
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(body)))
        size = draw(st.integers(0, 2))
        body[place : place + size] = [line + "\n" for line in draw(st.lists(_LINES, max_size=2))]
    head = draw(heads()) if draw(st.booleans()) else parts.head
    return parts.bom + head + "".join(body)


@given(texts, texts)
def test_a_side_that_did_not_change_gives_way(base: str, other: str) -> None:
    assert merge(base, base, other) == other
    assert merge(base, other, base) == other
    assert merge(base, other, other) == other


@given(edits())
@settings(max_examples=scale_examples(200), deadline=None)
def test_which_side_is_which_does_not_decide_whether_they_clash(texts: tuple[str, str, str]) -> None:
    base, file, row = texts
    first, other = merge(base, file, row), merge(base, row, file)

    assert (first is None) == (other is None)
    if first is not None and other is not None:
        assert with_unix_endings(PageText(first).body) == with_unix_endings(PageText(other).body)


@given(edits())
@settings(max_examples=scale_examples(200), deadline=None)
def test_a_merge_holds_what_either_side_added_and_nothing_else(texts: tuple[str, str, str]) -> None:
    base, file, row = texts
    merged = merge(base, file, row)
    if merged is None:
        return

    old, mine, theirs, new = (set(PageText(text).body.split()) for text in (base, file, row, merged))
    assert (mine | theirs) - old <= new
    assert new <= old | mine | theirs
    heads = [PageText(text).views for text in (file, row, merged)]
    assert heads[2].error is None or heads[0].error or heads[1].error


@pytest.mark.parametrize(
    ("base", "file", "row", "merged"),
    [
        ("a\n\nb\n", "A\n\nb\n", "a\n\nB\n", "A\n\nB\n"),
        ("a\n", "a\nb\n", "c\na\n", "c\na\nb\n"),
        ("a\nb", "a\nb\nc", "A\nb", "A\nb\nc"),
        ("a\n", "a\nb\n", "a\nb\n", "a\nb\n"),
        ("a\n\nb\n\nc\n", "a\n\nc\n", "a\n\nb\n\nC\n", "a\n\nC\n"),
        ("the big cat sat\n", "the large cat sat\n", "the big cat stood\n", "the large cat stood\n"),
        ("- the big cat sat\n", "- the large cat sat\n", "- the big cat stood\n", "- the large cat stood\n"),
        ("```\na\n\nb\n```\n", "```\nA\n\nb\n```\n", "```\na\n\nB\n```\n", "```\nA\n\nB\n```\n"),
    ],
)
def test_edits_of_different_places_are_both_kept(base: str, file: str, row: str, merged: str) -> None:
    assert merge(base, file, row) == merged
    assert merge(base, row, file) == merged


@pytest.mark.parametrize(
    ("base", "file", "row"),
    [
        ("a\n", "b\n", "c\n"),
        ("the cat\n", "a cat\n", "that cat\n"),
        ("a b c\n", "x b c\n", ""),
        ("", "a\n", "b\n"),
        ("```\nthe big cat sat\n```\n", "```\nthe large cat sat\n```\n", "```\nthe big cat stood\n```\n"),
        ("- ~~~\n  big cat sat\n", "- ~~~\n  large cat sat\n", "- ~~~\n  big cat stood\n"),
        ("| big | sat |\n|-|-|\n", "| large | sat |\n|-|-|\n", "| big | stood |\n|-|-|\n"),
        ("a\n|-|\n", "| big | x |\n|-|-|\n", "a\n|-|-|\n"),
        ("---\na: 1\n---\n", "---\na: 2\n---\n", "---\na: 3\n---\n"),
        ("---\na: 1\n---\n", "---\na: 2\n---\n", ""),
        ("---\na: b: c\n---\n", "---\na: b: d\n---\n", "---\na: b: e\n---\n"),
    ],
)
def test_edits_of_the_same_place_overlap(base: str, file: str, row: str) -> None:
    assert merge(base, file, row) is None
    assert merge(base, row, file) is None


@pytest.mark.parametrize(
    ("base", "file", "row", "merged"),
    [
        ("title: a\nn: 1\n", "title: b\nn: 1\n", "title: a\nn: 2\n", "title: b\nn: 2\n"),
        ("t: [a, b]\n", "t: [a, b, c]\n", "t: [b, d]\n", "t: [b, c, d]\n"),
        ("t:\n  - a # x\n  - b\n", "t:\n  - a # x\n  - b\n  - c\n", "t:\n  - a # x\n", "t:\n  - a # x\n  - c\n"),
        ("t: [a]\nn: 1\n", "n: 1\nt: [a]\n", "t: [a, b]\nn: 1\n", "n: 1\nt: [a, b]\n"),
        ("a: 1\n", "a: 1 # why\n", "a: 1\nb: 2\n", "a: 1 # why\nb: 2\n"),
        ("a: 1\n", "a: 1\nb: 2\n", "a: 1\nc: 3\n", "a: 1\nb: 2\nc: 3\n"),
        ("a: 1\nb: 2\n", "b: 2\n", "a: 1\nb: 3\n", "b: 3\n"),
    ],
)
def test_front_matter_is_merged_by_key_and_lists_as_sets(base: str, file: str, row: str, merged: str) -> None:
    old, mine, theirs = (f"---\n{head}---\nbody\n" for head in (base, file, row))

    assert merge(old, mine, theirs) == f"---\n{merged}---\nbody\n"


def test_a_comment_that_only_one_side_has_room_for_is_an_overlap_not_a_loss() -> None:
    base, file, row = (f"---\n{head}---\n" for head in ("a: 1\n", "a: 1 # f\nb: 2\n", "a: 1 # r\nc: 3\n"))

    assert merge(base, file, row) is None


def test_broken_front_matter_is_merged_by_lines() -> None:
    base = "---\na: b: c\n\nd: 1\n---\nx\n"

    assert merge(base, base.replace("c", "C"), base.replace("d: 1", "d: 2")) == "---\na: b: C\n\nd: 2\n---\nx\n"


@pytest.mark.parametrize("row_ending", ["\n", "\r", "\r\n"])
def test_the_files_line_endings_win_and_cause_no_clash(row_ending: str) -> None:
    base = "---\na: 1\n---\none\n\ntwo\n\nthree\n"
    file = base.replace("one", "ONE").replace("\n", "\r\n")
    row = base.replace("three", "THREE").replace("a: 1", "a: 2").replace("\n", row_ending)

    merged = "---\na: 2\n---\nONE\n\ntwo\n\nTHREE\n".replace("\n", "\r\n")
    assert merge(base, file, row) == merged
    assert merge(base.replace("\n", "\r\n"), file, row) == merged


def test_mixed_line_endings_stay_where_they_are_and_new_lines_end_as_the_first() -> None:
    base = "a\r\nb\n\nc\r\n\nd\n"

    assert merge(base, base.replace("a", "A"), "a\nb\n\nc\n\nD\n") == "A\r\nb\n\nc\r\n\nD\r\n"


def test_a_byte_order_mark_is_kept_or_taken_away_by_whoever_did() -> None:
    assert merge("a\n\nb\n", "\ufeffa\n\nB\n", "A\n\nb\n") == "\ufeffA\n\nB\n"
    assert merge("\ufeffa\n\nb\n", "\ufeffa\n\nB\n", "A\n\nb\n") == "A\n\nB\n"


def test_a_merged_head_that_would_not_parse_is_an_overlap() -> None:
    base = "---\nt: |\n  a\n\n  b\nn: 1\n---\n"

    merged = merge(base, base.replace("  b\n", "  b\nm: 2\n"), base.replace("n: 1", "n: 2"))

    assert merged is not None
    assert read_values(PageText(merged)) == {"t": "a\n\nb\n", "m": 2, "n": 2}
