"""Edits of whole blocks, items, rows and columns touch only the lines that they are about."""

import pytest

from mirrord.markdown.read.reader import read_document
from mirrord.markdown.write.render import splice_document
from tests.bench.codec import edits, trials
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


@pytest.mark.parametrize("at", [0, 1, 2])
def test_cells_beside_a_column_that_comes_or_goes_stay_as_they_are_written(at: int) -> None:
    lines = ["|  a &amp; b|__c__  |", "|---|:-:|", "| d\\_e|  *f* |", "|g  | g|"]
    body = "\n".join(lines) + "\n"
    document = read_document(body)
    for row in document["content"][0]["content"]:
        kind = row["content"][0]["type"]
        row["content"].insert(at, {"type": kind, "content": [{"type": "paragraph"}]})

    wider = splice_document(body, document, "\n")
    for line, (first, second) in zip(
        (wider.splitlines()[number] for number in (0, 2, 3)),
        (("  a &amp; b", "__c__  "), (" d\\_e", "  *f* "), ("g  ", " g")),
        strict=True,
    ):
        cells = line.strip("|").split("|")
        assert [cells[number] for number in range(3) if number != at] == [first, second]
        assert not cells[at].strip()

    for row in document["content"][0]["content"]:
        del row["content"][at]
    rows = [line for number, line in enumerate(splice_document(wider, document, "\n").splitlines()) if number != 1]
    assert rows == [line for number, line in enumerate(lines) if number != 1]


@pytest.mark.parametrize(("source", "target", "expected"), [(2, 0, "- c\n- a\n\n- b\n"), (0, 2, "- b\n- c\n\n- a\n")])
def test_an_item_that_moves_leaves_the_blank_lines_of_its_list_where_they_are(
    source: int, target: int, expected: str
) -> None:
    body = "- a\n- b\n\n- c\n"
    document = read_document(body)
    items = document["content"][0]["content"]
    items.insert(target, items.pop(source))

    assert splice_document(body, document, "\n") == expected


def test_an_item_that_comes_between_two_others_leaves_the_blank_line_between_them() -> None:
    body = "- a\n- b\n\n- c\n"
    document = read_document(body)
    document["content"][0]["content"].insert(2, read_document("- new\n")["content"][0]["content"][0])

    assert splice_document(body, document, "\n") == "- a\n- b\n- new\n\n- c\n"


def test_the_first_item_of_a_numbered_list_leaves_its_number_to_the_next() -> None:
    body = "1. a\n2. b\n3. c"
    document = read_document(body)
    del document["content"][0]["content"][0]

    result = splice_document(body, document, "\n")
    assert result == "1. b\n3. c"
    edit = edits.Edit(document["content"], [None])
    assert trials.outcome_of("delete an item", body, edit).tight


def test_a_definition_of_a_link_that_is_used_goes_with_its_line_alone() -> None:
    lines = ["[a] [b] [c]", "", "[a]: x", "[b]: y", "[c]: z", ""]
    document = read_document("\n".join(lines))
    del document["content"][2]

    assert splice_document("\n".join(lines), document, "\n") == "[a] [b](y) [c]\n\n[a]: x\n[c]: z\n"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_with_other_endings_than_the_first_keep_them(ending: str) -> None:
    other = {"\n": "\r\n", "\r\n": "\n"}[ending]
    body = f"one{ending}{ending}foo bar{other}x y{other}{ending}end{other}"
    document = read_document(body)
    document["content"][1]["content"][0]["text"] = "foo bars\nx y"

    assert splice_document(body, document, ending) == body.replace("bar", "bars")


def indent_last_item(body: str) -> str:
    """*body*, one list, after Tab in its last item."""
    document = read_document(body)
    [around] = document["content"]
    item = around["content"].pop()
    around["content"][-1]["content"].append({"type": around["type"], "content": [item]})
    return splice_document(body, document, "\n")


@pytest.mark.parametrize("box", ["[ ]", "[x]"])
def test_an_item_with_a_box_that_is_alone_in_its_list_is_a_task(box: str) -> None:
    """Beside items without a box it is raw text, and so it comes from the editor."""
    assert indent_last_item(f"- a\n- {box} b *c*\n") == f"- a\n  - {box} b *c*\n"
    assert indent_last_item(f"- a\n- {box}\n").rstrip() == f"- a\n  - {box}"


def test_a_task_in_an_empty_task_is_below_its_box() -> None:
    """On the same line, other parsers see its sign as text."""
    body = indent_last_item("- [ ] \n- [ ] \n")

    assert [line.rstrip() for line in body.splitlines()] == ["- [ ]", "  - [ ]"]
    new = splice_document("", read_document(body), "\n")
    assert [line.rstrip() for line in new.splitlines()] == ["- [ ]", "  - [ ]"]


def test_an_item_that_gets_a_longer_one_below_it_is_the_one_with_its_own_text() -> None:
    url = "https://e.org/a/"
    body = f"- one: [{url}]({url})\n- two on the wiki: [{url}b]({url}b) \n"

    assert indent_last_item(body) == body.replace("- two", "  - two")


def test_the_bench_takes_a_list_of_boxes_alone_for_tasks_as_mirrord_does() -> None:
    body = "- [ ] a\n- b\n- [x] c\n"
    items = read_document(body)["content"][0]["content"]
    edit = edits.Edit([{"type": "bulletList", "content": [items[0], items[2]]}], [None])

    assert trials.outcome_of("delete an item", body, edit).wrong == ""
