"""Edits inside of lists, tables, quotes and footnotes: their other items, rows and blocks keep their bytes."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText, first_line_ending
from mirrord.markdown.read.page_outline import outline_of
from mirrord.markdown.read.reader import read_document, read_nodes
from mirrord.markdown.schema.document import Document, Node, make_document, text_node
from mirrord.markdown.schema.normal_form import normalize
from mirrord.markdown.write.render import splice_document
from tests.support.laws import scale_examples
from tests.unit.codec.documents import documents, markdown, meaning
from tests.unit.codec.edits import edited, touched

FRESH = read_document(
    "new *paragraph*\n\n# head\n\n```py\ncode\n```\n\n- a\n- b\n\n1. x\n2. y\n\n> q\n\n> [!note] t\n> c\n\n"
    "| a |\n|---|\n| b |\n\n---\n\n$$\nx\n$$\n\n<div>\n\n- [ ] t\n\n      code"
)["content"]

Change = Callable[[Node], object]


def paragraph(text: str) -> Node:
    return {"type": "paragraph", "content": [text_node(text)]}


def item(text: str, kind: str = "listItem") -> Node:
    return {"type": kind, "content": [paragraph(text)]}


def row(*texts: str) -> Node:
    return {"type": "tableRow", "content": [{"type": "tableCell", "content": [paragraph(text)]} for text in texts]}


def at(node: Node, *path: int) -> list[Node]:
    """The children of the node at *path*."""
    for index in path:
        node = node["content"][index]
    return node["content"]


def say(path: tuple[int, ...], text: str) -> Change:
    """Gives the textblock at *path* another text."""

    def change(content: Document) -> None:
        at(content, *path)[:] = [text_node(text)] if text else []

    return change


def add(path: tuple[int, ...], place: int, node: Node) -> Change:
    return lambda content: at(content, *path).insert(place, node)


def drop(path: tuple[int, ...], place: int) -> Change:
    return lambda content: at(content, *path).pop(place)


def move(path: tuple[int, ...], place: int, to: int) -> Change:
    def change(content: Document) -> None:
        siblings = at(content, *path)
        siblings.insert(to, siblings.pop(place))

    return change


def tick(*path: int) -> Change:
    def change(content: Document) -> None:
        at(content, *path[:-1])[path[-1]]["attrs"]["checked"] = True

    return change


def check(body: str, change: Change, expected: str) -> None:
    document = read_document(body)
    change(document)
    result = splice_document(body, document, first_line_ending(body))

    assert result == expected
    assert meaning(read_document(result)) == meaning(document)


@pytest.mark.parametrize(
    ("body", "change", "expected"),
    [
        ("*   a\n  lazy\n*  b __c__\n\n* d\n", say((0, 1, 0), "new"), "*   a\n  lazy\n*  new\n\n* d\n"),
        ("- a\n- b\n", add((0,), 1, item("new")), "- a\n- new\n- b\n"),
        ("-   a\n\n-   b\n", add((0,), 2, item("new")), "-   a\n\n-   b\n\n-   new\n"),
        ("- a\n+ b\n", add((1,), 1, item("new")), "- a\n+ b\n+ new\n"),
        ("1. a\n2. b\n3. c\n", drop((0,), 1), "1. a\n3. c\n"),
        ("1. a\n2. b\n", add((0,), 1, item("new")), "1. a\n2. new\n2. b\n"),
        ("9. a\n", add((0,), 1, item("new")), "9. a\n10. new\n"),
        ("1. a\n1. b\n", add((0,), 2, item("new")), "1. a\n1. b\n1. new\n"),
        ("007. a\n008. b\n", add((0,), 2, item("new")), "007. a\n008. b\n009. new\n"),
        ("3) a\n4) b\n", drop((0,), 0), "3) b\n"),
        ("3) a\n4) b\n", add((0,), 0, item("new")), "3) new\n3) a\n4) b\n"),
        ("* a\n*  b\n*   c\n", move((0,), 2, 0), "*   c\n* a\n*  b\n"),
        ("- a\n  \n- b\n   \n- c\n", say((0, 2, 0), "new"), "- a\n  \n- b\n   \n- new\n"),
        ("-\n- b\n", say((0, 1, 0), "new"), "-\n- new\n"),
        ("-\tb\n\n\tc\n", say((0, 0, 1), "new"), "-\tb\n\n\tnew\n"),
        ("-     code\n- b\n", say((0, 1, 0), "new"), "-     code\n- new\n"),
        ("- - a\n  - b\n- c\n", say((0, 0, 1, 1, 0), "new"), "- - a\n  - new\n- c\n"),
        ("   - a\n   - b\n", add((0,), 2, item("new")), "   - a\n   - b\n   - new\n"),
        ("- a\n\n  b\n- c\n", drop((0, 0), 0), "- b\n- c\n"),
        ("- a\n    - b\n    - c\n", drop((0, 0), 0), "-   - b\n    - c\n"),
        ("- a\n- b", add((0,), 2, item("new")), "- a\n- b\n- new"),
        ("- a\r\n- b\r\n- c\r", say((0, 1, 0), "new"), "- a\r\n- new\r\n- c\r"),
        ("- a\r- b\r", add((0,), 1, item("new")), "- a\r- new\r- b\r"),
        ("- [X]  a\n- [ ] b\n- [ ]   c\n", tick(0, 1), "- [X]  a\n- [x] b\n- [ ]   c\n"),
        ("* [X] a\n", add((0,), 1, item("new", "taskItem")), "* [X] a\n* [ ] new\n"),
        ("- [ ]\n- __b__\n", say((0, 0, 0), "[ ] new"), "- \\[ ] new\n- __b__\n"),
        ("- [X] a\n- b\n", say((0, 1, 0), "new"), "- [X] a\n- new\n"),
    ],
)
def test_a_changed_item_leaves_its_neighbours_bytes(body: str, change: Change, expected: str) -> None:
    check(body, change, expected)


@pytest.mark.parametrize(
    ("body", "change", "expected"),
    [
        ("|a|b|\n|-|:-:|\n|c|__d__|\n|e|f|\n", say((0, 2, 0, 0), "new"), "|a|b|\n|-|:-:|\n|c|__d__|\n|new|f|\n"),
        ("a | b\n--|--\nc | d\n", add((0,), 2, row("e", "f")), "a | b\n--|--\nc | d\ne | f\n"),
        ("| a  |\n|----|\n| cc |\n", say((0, 1, 0, 0), "d"), "| a  |\n|----|\n| d  |\n"),
        ("| a  |\n|---:|\n| cc |\n", say((0, 1, 0, 0), "d"), "| a  |\n|---:|\n|  d |\n"),
        ("| a |\n|---|\n| b |\n|  c|\n", move((0,), 2, 1), "| a |\n|---|\n|  c|\n| b |\n"),
        ("| a |\n|---|\n| b |\n|  c|\n", drop((0,), 1), "| a |\n|---|\n|  c|\n"),
        ("|a|b|\n|-|-|\n| c |d|\n", say((0, 0, 1, 0), "x|y"), "|a|x\\|y|\n|-|-|\n| c |d|\n"),
        ("|a|\n|-|\n|b|\n", say((0, 1, 0, 0), "c"), "|a|\n|-|\n|c|\n"),
        ("a | b\n--|--\nc | d\n", say((0, 1, 1, 0), ""), "a | b\n--|--\nc |  |\n"),
        ("|a|\n|-|\n|  b|\n|c|\n", say((0, 2, 0, 0), "$x$ for 5$"), "|a|\n|-|\n|  b|\n|\\$x$ for 5$|\n"),
        ("|a|\n|-|\n|  b|\n|c|\n", say((0, 2, 0, 0), "&copy x~y~ :"), "|a|\n|-|\n|  b|\n|&copy x~y~ :|\n"),
        (
            "|a|\n|-|\n|  b|\n|c|\n\n[d]: e\n",
            say((0, 2, 0, 0), "[d]"),
            "|a|\n|-|\n|  b|\n|\\[d\\]|\n\n[d]: e\n",
        ),
    ],
)
def test_a_changed_row_leaves_its_neighbours_bytes(body: str, change: Change, expected: str) -> None:
    check(body, change, expected)


def test_another_alignment_rewrites_the_line_below_the_header_only() -> None:
    def centre(content: Document) -> None:
        for line in at(content, 0):
            line["content"][1]["attrs"]["align"] = "center"

    check("|a |b|\n|--|----|\n|c|  d|\n", centre, "|a |b|\n|--|:--:|\n|c|  d|\n")


@pytest.mark.parametrize(
    ("body", "change", "expected"),
    [
        ("> a\nlazy\n>\n>b __c__\n", say((0, 0), "new"), "> new\n>\n>b __c__\n"),
        ("> a\nlazy\n>\n> b\n", say((0, 1), "new"), "> a\nlazy\n>\n> new\n"),
        (">  * a\n>  * b\n", add((0, 0), 1, item("new")), ">  * a\n>  * new\n>  * b\n"),
        ("- > 1) a\n  > 2) b\n\n  c\n", say((0, 0, 1, 0, 1, 0), "new"), "- > 1) a\n  > 2) new\n\n  c\n"),
        (">a\n>\n>b\n", add((0,), 2, paragraph("new")), ">a\n>\n>b\n>\n>new\n"),
        ("> [!tip]- __A__\n> a\n>\n> b\n", say((0, 1), "new"), "> [!tip]- __A__\n> a\n>\n> new\n"),
        ("> [!tip]\n> _a_\n", lambda content: content["content"][0]["attrs"].update(fold="-"), "> [!tip]-\n> _a_\n"),
        ("> [!tip]\n> a\n", add((0,), 0, Node(type="horizontalRule")), "> [!tip]\n>\n> ---\n>\n> a\n"),
        ("[^a]: _x_\n    y\n\n    z\n", say((0, 1), "new"), "[^a]: _x_\n    y\n\n    new\n"),
        ("[^a]: _x_\n", add((0,), 0, FRESH[5]), "[^a]:\n    > q\n\n    _x_\n"),
        ("[^a]: _x_\n", add((0,), 0, FRESH[2]), "[^a]:\n    ```py\n    code\n    ```\n\n    _x_\n"),
        ("> ```\n> a\n", add((0,), 1, paragraph("new")), "> ```\n> a\n> ```\n>\n> new\n"),
        ("- a\n\n      code\n- b\n", add((0, 0), 1, paragraph("new")), "- a\n\n  new\n\n      code\n- b\n"),
    ],
)
def test_a_changed_block_leaves_the_others_in_its_container(body: str, change: Change, expected: str) -> None:
    check(body, change, expected)


def test_blocks_that_move_take_their_bytes_along() -> None:
    body = "__a__\n\n*  b\n   * c\n\n~~~\nd\n~~~\n\ne\n"

    check(body, move((), 1, 3), "__a__\n\n~~~\nd\n~~~\n\ne\n\n*  b\n   * c\n")


def test_a_block_that_moves_and_changes_keeps_what_is_in_it() -> None:
    def change(content: Document) -> None:
        content["content"].append(content["content"].pop(0))
        say((2, 1, 0), "new")(content)

    check("+  a one two three\n+ b\n\nx\n\ny\n", change, "x\n\ny\n\n+  a one two three\n+ new\n")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("* a\n\nx\n", "* a\n\nx\n\n* new\n"),
        ("x\n\n1) a\n\ny\n\n+ b\n\n> + c\n", "x\n\n1) a\n\ny\n\n+ b\n\n> + c\n\n+ new\n"),
        ("> + c\n\nx\n", "> + c\n\nx\n\n+ new\n"),
        ("x\n", "x\n\n- new\n"),
    ],
)
def test_a_new_block_is_written_as_the_nearest_of_its_kind_or_as_is_usual_in_its_page(body: str, expected: str) -> None:
    check(body, lambda content: content["content"].append(Node(type="bulletList", content=[item("new")])), expected)


def test_new_emphasis_is_written_as_is_usual_in_its_page() -> None:
    text = {"type": "paragraph", "content": [text_node("c", [{"type": "italic"}])]}

    check("# _a_ and _b_\n", lambda content: content["content"].append(text), "# _a_ and _b_\n\n_c_\n")  # type: ignore[arg-type]


def law(body: str, random: Random) -> str | None:
    """What a random edit of *body* touched besides its block; None: there was nothing to edit, or it was refused."""
    edit = edited(body, random, FRESH)
    if edit is None:
        return None
    try:
        result = splice_document(body, edit.document, first_line_ending(body))
    except Damaged:
        return None
    assert meaning(make_document(read_nodes(outline_of(result)))) == meaning(edit.document)
    return touched(body, result, edit)


@given(markdown, st.integers(0, 2**32))
@settings(max_examples=scale_examples(100))
def test_an_edit_of_anything_is_read_back_or_refused(body: str, seed: int) -> None:
    law(body, Random(seed))


@given(documents, st.integers(0, 2**32), st.sampled_from(["\n", "\r\n", "\r"]))
@settings(max_examples=scale_examples(25))
def test_an_edit_of_a_written_page_leaves_what_it_does_not_mean(content: Document, seed: int, ending: str) -> None:
    try:
        body = splice_document("", normalize(content), ending)
    except Damaged:
        return
    law(body, Random(seed))


def test_edits_of_real_pages_leave_every_other_block_item_and_row(pages: list[str]) -> None:
    outcomes = []
    for number, page in enumerate(pages):
        body = PageText(page).body
        outcomes.append(law(body.replace("\n", "\r\n") if number % 3 == 0 else body, Random(number)))

    tried = [each for each in outcomes if each is not None]
    assert len(tried) > 30
    assert tried.count("") >= len(tried) - 1, outcomes


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("1. one\n   1. deep\n   2. deeper\n", "1. one\n2. deep\n   1. deeper\n"),
        ("3) one\n   - deep\n   - deeper\n", "3) one\n4) deep\n   - deeper\n"),
        ("1. a\n2. b\n   1. deep\n   2. deeper\n", "1. a\n2. b\n3. deep\n   1. deeper\n"),
        ("1. one\n1. two\n   1. deep\n   1. deeper\n", "1. one\n1. two\n1. deep\n   1. deeper\n"),
    ],
)
def test_an_item_that_is_outdented_counts_as_the_list_does(before: str, after: str) -> None:
    assert splice_document(before, read_document(after), "\n") == after
