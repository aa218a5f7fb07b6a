"""Reading again after an edit makes exactly what reading the whole page makes."""

import random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.page_outline import Segment
from mirrord.markdown.read.reparse import Reading, read_after_edit, read_whole
from tests.support.laws import scale_examples
from tests.unit.codec.documents import fragments, markdown

_LINES = (
    "a,*b*,# h,## h,- x,* x,1. x,2) x,- [ ] x,  y,    y,\t y,> q,> - q,>,[!note],> [!note] t,```,````,~~~,```py,"
    "---,===,***,| a | b |,|---|---|,$$,$$ x,x $$,%%,%% c,%% c %%,c %%,<div>,</div>,<!--,-->,<!-- c -->,<!-- -->,"
    "<details>,</details>,<summary>s</summary>,<script>,</script>,<?,?>,[a]: b,[a],[b][a],[^q]: n,[^q],[[p]],![[p]],"
    '<pre>,</pre>,"t",[a]:,/url,==h==,`c,c`,**b,b**,<!-- tiptap {"textAlign":"left"} -->,\u00a0,\x0b,^id,x  ,x\\'
).split(",")
_line = st.one_of(st.sampled_from(["", ""]), st.sampled_from(_LINES), fragments)
_ending = st.sampled_from(["\n", "\n", "\n\n", "\n\n", "\n\n", "\r\n", "\r", "\n \n"])
_written = st.lists(st.tuples(_line, _ending).map("".join), max_size=14).map("".join)
_PLAIN = "One\n\n- two\n- three\n\n> four\n\n| a |\n|---|\n\nFive [a] six\n\n```\nx\n```\n\nSeven\n\n"


def same(got: Reading, body: str) -> None:
    reread = read_whole(body)
    assert got.body == reread.body
    assert list(got.spans) == list(reread.spans)
    assert list(got.blocks) == list(reread.blocks)
    assert _meant(got) == _meant(reread)
    if got.outline is not None and reread.outline is not None:
        assert [_shape_of(segment) for segment in got.outline.segments] == [
            _shape_of(segment) for segment in reread.outline.segments
        ]


def _shape_of(segment: Segment) -> tuple[int, int, list[dict[str, Any]] | None]:
    """A block and its tokens, whose lines count from the first."""
    if segment.tokens is None:
        return segment.start, segment.end, None
    origin = (segment.tokens[0].map or [0])[0]
    tokens = [dict(token.as_dict()) for token in segment.tokens]
    for token in tokens:
        token["map"] = token["map"] and [line - origin for line in token["map"]]
    return segment.start, segment.end, tokens


def _meant(reading: Reading) -> dict[str, tuple[object, object]]:
    references = reading.surroundings.references
    return {label: (reference["href"], reference["title"]) for label, reference in references.items()}


def check(old: str, new: str) -> bool:
    """Whether only a part of *new* had to be read."""
    got = read_after_edit(read_whole(old), new)
    if got is not None:
        same(got, new)
    return got is not None


@given(_written, _written, _written, st.one_of(_written, fragments, st.just("")), st.booleans())
@settings(max_examples=scale_examples(250))
@example("%%\n\na\n\n", "", "b\n", "c %%\n", True)
@example("a\n\nb\n\n", "[x]: y\n", "\n[x]\n", "", True)
@example("a\n\n- b\n\n", "c\n\n", "- d\n\ne\n", "", True)
@example("a\n\nb\n\n", "c\r", "\nd\n", "c", True)
@example("<details>\n\na\n\nb\n\n", "c", "\n\n</details>\n", "", True)
@example("* a\n", "* b\n", "===\nc\n* $$\n* d\n", "* $$b\n", True)
def test_an_edit_anywhere_is_read_as_the_whole_page_is(
    above: str, old: str, below: str, new: str, surrounded: bool
) -> None:
    lead, tail = (_PLAIN, "\n\n" + _PLAIN) if surrounded else ("", "")
    check(lead + above + old + below + tail, lead + above + new + below + tail)


@given(markdown, st.data())
@settings(max_examples=scale_examples(150))
def test_any_cut_and_any_insertion_is_read_as_the_whole_page_is(body: str, data: st.DataObject) -> None:
    body = _PLAIN + body + "\n\n" + _PLAIN
    start = data.draw(st.integers(0, len(body)))
    end = data.draw(st.integers(start, min(len(body), start + 12)))
    check(body, body[:start] + data.draw(st.one_of(st.just(""), markdown)) + body[end:])


_item_line = st.one_of(st.sampled_from(_LINES), fragments, st.just(""), st.just("  - x"), st.just("  > - y"))
_item = st.tuples(
    st.sampled_from(["- ", "- ", "- ", "- ", "-   ", "- [ ] ", " - ", "* ", "1. "]),
    st.lists(_item_line, min_size=1, max_size=3).map("\n  ".join),
    st.sampled_from(["\n", "\n", "\n", "\n\n", "\r\n"]),
).map("".join)
_items = st.lists(_item, min_size=1, max_size=6).map("".join)


@given(_items, _items, _items, st.one_of(_items, _item_line, st.just("")), st.sampled_from(["", _PLAIN]))
@settings(max_examples=scale_examples(400))
@example("- a\n- b\n", "- c\n", "- d\n- e\n", "- c\n\n", _PLAIN)
@example("- a\n- b\n", "- c\n\n", "- d\n- e\n", "- c\n  - k\n", "")
@example("- [ ] a\n- [ ] b\n", "- c\n", "- [ ] d\n- [ ] e\n", "- [ ] c\n", "")
@example("- a\n- b\n", "- c\n", "- d\n- e\n", "- [ ] c\n", "")
@example("- a\n- b | c\n", "- c\n", "- d\n- e\n", "|---|---|\n", "")
@example("1. a\n2. b\n", "3. c\n", "4. d\n5. e\n", "3) c\n", _PLAIN)
@example("- a\n- b\n", "- <!-- c\n", "- d -->\n- e\n", "- c\n", _PLAIN)
@example("- $$a\n- b\n- c\n", "- d\n", "- e\n- f\n", "- $$\n", _PLAIN)
def test_an_edit_in_a_list_is_read_as_the_whole_page_is(above: str, old: str, below: str, new: str, tail: str) -> None:
    check(tail + above + old + below + "\n" + tail, tail + above + new + below + "\n" + tail)


def test_of_a_long_list_only_the_items_beside_an_edit_are_read_again() -> None:
    items = [f"- item {number}\n  - inside {number}\n" for number in range(50)]
    before = read_whole(_PLAIN + "".join(items))
    after = read_after_edit(before, _PLAIN + "".join([*items[:20], "- other\n", *items[21:]]))

    assert after is not None
    old, new = (reading.blocks[-1].nodes[0]["content"] for reading in (before, after))
    assert [number for number in range(50) if old[number] is not new[number]] == [20]
    same(after, after.body)


_row = st.one_of(
    st.lists(st.one_of(fragments, st.sampled_from(["a", "`b|c`", "\\|", "", " ", "**d**"])), max_size=4).map(
        lambda cells: f"| {' | '.join(cells)} |\n"
    ),
    st.sampled_from(
        [*(line + "\n" for line in _LINES), "a | b\n", "    | c |\n", "\n", "---\n", "|---|---|\n", "| a |\r\n"]
    ),
)
_rows = st.lists(_row, max_size=5).map("".join)
_TABLE = "| one | two |\n| :-: | --- |\n| three | four |\n"


@given(_rows, _rows, _rows, _rows, st.sampled_from(["", _PLAIN]))
@settings(max_examples=scale_examples(400))
@example("", "| c | d |\n", "| e | f |\n", "# c\n", _PLAIN)
@example("| a |\n", "| c | d |\n", "| e | f |\n", "| c | d | e |\n| c\n", "")
@example("| a |\n", "| c | d |\n", "| e | f |\n", "\n|---|---|\n", "")
@example("| a |\n", "| c | d |\n", "| e | f |\n", "<div>\n", _PLAIN)
def test_an_edit_in_a_table_is_read_as_the_whole_page_is(above: str, old: str, below: str, new: str, tail: str) -> None:
    check(tail + _TABLE + above + old + below + "\n" + tail, tail + _TABLE + above + new + below + "\n" + tail)


def test_of_a_long_table_only_the_rows_beside_an_edit_are_read_again() -> None:
    rows = [f"| row {number} | *x* |\n" for number in range(50)]
    before = read_whole(_PLAIN + _TABLE + "".join(rows))
    after = read_after_edit(before, _PLAIN + _TABLE + "".join([*rows[:20], "| other |\n", *rows[21:]]))

    assert after is not None
    old, new = (reading.blocks[-1].nodes[0]["content"] for reading in (before, after))
    assert [number for number in range(52) if old[number] is not new[number]] == [22]
    same(after, after.body)


def test_a_table_that_may_reach_the_limit_of_cells_is_read_as_a_whole() -> None:
    wide = f"|{' a |' * 100}\n|{'---|' * 100}\n"
    rows = [f"|{' b |' * 100}\n" for _ in range(520)]
    before = read_whole(wide + "".join(rows))

    assert not before.opaque
    assert read_after_edit(before, wide + "".join([*rows[:20], "| other |\n", *rows[21:]])) is not None
    check(before.body, wide + "".join([*rows[:20], "| other |\n", *rows[21:]]))


def _edited(body: str, chance: random.Random) -> str:
    """*body* after something people, editors or machines do to a line."""
    written = body.splitlines(keepends=True) or [""]
    index = chance.randrange(len(written))
    kind = chance.randrange(6)
    if kind == 0:
        written[index] = chance.choice(_LINES) + "\n"
    elif kind == 1:
        del written[index : index + chance.randrange(1, 4)]
    elif kind == 2:
        written.insert(index, chance.choice(_LINES) + chance.choice(["\n", "\n\n"]))
    elif kind == 3:
        at = chance.randrange(len(written[index]) + 1)
        written[index] = written[index][:at] + chance.choice(_LINES) + written[index][at:]
    elif kind == 4:
        written[index] = written[index].rstrip("\r\n") + " more words\n"
    else:
        other = chance.randrange(len(written))
        written[index], written[other] = written[other], written[index]
    return "".join(written)


def test_edits_of_real_pages_are_read_as_the_whole_page_is(pages: list[str]) -> None:
    chance = random.Random(7)
    partly = 0
    for page in pages:
        body = PageText(page).body
        for text in (body, body.replace("\n", "\r\n")):
            partly += check(text, _edited(text, chance))

    assert partly > len(pages) // 2  # of twice as many; the rest is short, or has definitions


def test_edits_of_the_specifications_examples_are_read_as_the_whole_page_is(examples: list[str]) -> None:
    chance = random.Random(8)
    partly = 0
    for start in range(0, len(examples), 4):
        body = "\n\n".join(examples[start : start + 12])
        for _ in range(2):
            partly += check(body, _edited(body, chance))

    assert partly > len(examples) // 10


def test_an_unchanged_block_stays_the_same_object() -> None:
    before = read_whole(_PLAIN * 3)
    after = read_after_edit(before, _PLAIN + _PLAIN.replace("Five", "5") + _PLAIN)

    assert after is not None
    assert len(after.blocks) == len(before.blocks)
    changed = [index for index, block in enumerate(after.blocks) if block is not before.blocks[index]]
    assert changed == [11]


@pytest.mark.parametrize("new", ["```\nopen", "[a]: b", "%%\nopen", "$$\nopen", "<details>", "<!-- open", "<script>"])
def test_what_may_reach_further_is_left_to_the_whole(new: str) -> None:
    assert not check(_PLAIN * 3, _PLAIN + new + "\n\n" + _PLAIN * 2)


def test_a_definition_that_goes_is_left_to_the_whole() -> None:
    assert not check(_PLAIN + "[a]: b\n\n" + _PLAIN, _PLAIN + _PLAIN)


def test_references_defined_elsewhere_count_in_what_is_read_anew() -> None:
    text = _PLAIN * 2 + "[a]: b\n"
    assert check(text, text.replace("Five", "[Five][a]", 1))


@pytest.mark.parametrize(("count", "again"), [(700, True), (808, False)])
def test_a_page_that_comes_over_the_parsers_limit_is_left_to_the_whole(count: int, again: bool) -> None:
    costly = "> " * 90 + "a\n\n"
    before = read_whole(_PLAIN + costly * count + _PLAIN)
    assert not before.opaque

    assert (read_after_edit(before, _PLAIN + costly * (count + 1) + _PLAIN) is not None) == again


@pytest.mark.parametrize(
    ("text", "old"),
    [
        (_PLAIN + "".join(f"- item {number}\n  - inside {number}\n" for number in range(9)), "item 5"),
        (_PLAIN + "".join(f"1. item {number}\n\n   inside {number}\n\n" for number in range(9)), "item 5"),
        (_PLAIN + _TABLE + "".join(f"| row {number} | b |\n" for number in range(9)), "row 5"),
    ],
)
def test_after_an_edit_in_a_list_or_table_the_next_one_need_not_parse_the_page(text: str, old: str) -> None:
    after = read_after_edit(read_whole(text + "\nEnd\n"), text.replace(old, "*other* word") + "\nEnd\n")

    assert after is not None
    assert after.outline is not None
    same(after, after.body)


def test_of_two_joined_paragraphs_the_other_blocks_are_not_read_again() -> None:
    assert check("a\n\nb\n\nc\n\n- d\n", "a b\n\nc\n\n- d\n")
    assert check("a\n\nb\n\nc\n", "a\nb\n\nc\n")


def test_of_a_paragraph_between_others_no_other_block_is_parsed() -> None:
    table = "| a |\n|---|\n" + "| b |\n" * 500
    before = read_whole(f"{table}\n# Head\n\nOne\n\n{table}")
    after = read_after_edit(before, f"{table}\n# Head\n\nOther\n\n{table}")

    assert after is not None
    assert after.spent - before.spent < 50
    same(after, after.body)


def test_a_block_directly_below_a_heading_that_becomes_text_is_read_again() -> None:
    check("a\n\n# h\n2. x\n\nb\n", "a\n\nh\n2. x\n\nb\n")
    check("a\n2. x\n\nb\n\nc\n", "a\n2. x\n\nd\n\nc\n")
