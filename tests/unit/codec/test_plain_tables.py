"""Tables of apps, as Markdown can have them: no JSON in the file, and no words lost."""

import json
import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.errors import Damaged
from mirrord.markdown.content_loss import ContentLoss
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Node, make_document
from mirrord.markdown.schema.normal_form import normalize
from mirrord.markdown.write.plain_tables import with_plain_tables
from mirrord.markdown.write.render import splice_document


def text(words: str) -> Node:
    return {"type": "text", "text": words}


def block(name: str, *content: Node | str, **attrs: object) -> Node:
    nodes: list[Node] = [text(each) if isinstance(each, str) else each for each in content]
    result: Node = {"type": name, "content": nodes}
    return {**result, "attrs": attrs} if attrs else result  # type: ignore[typeddict-item]


def item(words: str, *below: Node, name: str = "listItem", **attrs: object) -> Node:
    return block(name, block("paragraph", words), *below, **attrs)


def table(*cells: Node) -> Node:
    head = block("tableRow", *(block("tableHeader", block("paragraph", "h")) for _ in cells))
    return block("table", head, block("tableRow", *cells))


def written(*content: Node, rule: ContentLoss = ContentLoss.DEGRADE, before: tuple[Node, ...] = ()) -> str:
    document = with_plain_tables(make_document(content), before, rule)
    page = splice_document("", document, "\n")
    assert normalize(read_document(page)) == normalize(document)
    return page


RICH = block(
    "tableCell",
    block("heading", "Head", level=2),
    block(
        "bulletList",
        item("one", block("bulletList", item("deep", block("orderedList", item("deeper"), start=3)))),
        item("two"),
    ),
    block("taskList", item("done", name="taskItem", checked=True), item("open", name="taskItem")),
    block("codeBlock", "x = 1\n\ny | 2", language="py"),
    block("blockquote", block("paragraph", "quoted")),
    block("callout", block("paragraph", "noted"), type="note", title="Title"),
    {"type": "horizontalRule"},
    {"type": "mathBlock", "attrs": {"latex": "a\n+ b"}},
    {"type": "rawBlock", "attrs": {"raw": "<div>\nraw\n</div>"}},
    {"type": "image", "attrs": {"src": "a.png", "width": 30}},
)


def test_blocks_in_a_cell_are_lines_of_it() -> None:
    page = written(table(RICH, block("tableCell", block("paragraph", "plain"))))

    assert page.splitlines()[2] == (
        "| **Head**<br>• one<br>◦ deep<br>3. deeper<br>• two<br>☑ done<br>☐ open<br>`x = 1`<br>`y \\| 2`<br>quoted<br>"
        "**Title**<br>noted<br>———<br>$$a + b$$<br>`<div>`<br>`raw`<br>`</div>`<br>"
        '<img src="a.png" width="30"> | plain |'
    )


def test_merged_cells_are_a_first_one_and_empty_ones() -> None:
    head = block("tableHeader", block("paragraph", "wide"), colspan=2, align="right")
    tall = block("tableCell", block("paragraph", "tall"), rowspan=2)
    rows = [
        block("tableRow", head, block("tableHeader", block("paragraph", "b"), rowspan=2)),
        block("tableRow", tall, block("tableCell", block("paragraph", "c"))),
        block("tableRow", block("tableCell", block("paragraph", "d")), block("tableCell", block("paragraph", "e"))),
    ]

    assert written(block("table", *rows)) == ("| wide |  | b |\n| --: | --: | --- |\n| tall | c |  |\n|  | d | e |\n")


def test_rows_of_unequal_length_are_filled() -> None:
    rows = [
        block("tableRow", block("tableHeader", block("paragraph", "a")), block("tableHeader", block("paragraph", "b"))),
        block("tableRow", block("tableCell", block("paragraph", "c"))),
    ]

    assert written(block("table", *rows)) == "| a | b |\n| --- | --- |\n| c |  |\n"


def test_a_table_in_a_cell_is_lines_too() -> None:
    inner = table(block("tableCell", block("paragraph", "x")), block("tableCell", block("bulletList", item("y"))))

    assert "| h \\| h<br>x \\| • y |" in written(table(block("tableCell", inner)))


def test_a_table_in_a_list_or_quote_is_plain_too() -> None:
    page = written(block("blockquote", block("bulletList", item("a", table(RICH)))))

    assert "tiptap-node" not in page
    assert "• one" in page


def test_a_regular_table_is_left_alone() -> None:
    document = make_document([table(block("tableCell", block("paragraph", "a"), block("paragraph", "b")))])

    assert with_plain_tables(document, (), ContentLoss.REFUSE) == document


def test_a_table_with_nodes_of_an_app_stays_json() -> None:
    assert "tiptap-node" in written(table(block("tableCell", {"type": "poll", "attrs": {"question": "When?"}})))


@pytest.mark.parametrize("attrs", [{"id": "t1"}, {}])
def test_a_table_that_is_json_in_the_page_stays_so(attrs: dict[str, object]) -> None:
    before = block("table", *table(RICH)["content"], **attrs)
    after = block("table", *table(block("tableCell", *RICH["content"][:3]))["content"], **attrs)

    assert "tiptap-node" in written(before, before=(before,))
    assert ("tiptap-node" in written(after, before=(before,))) == bool(attrs)


def test_the_setting_refuses_or_keeps_json() -> None:
    with pytest.raises(Damaged, match="blocks in its cells"):
        written(table(RICH), rule=ContentLoss.REFUSE)
    assert "tiptap-node" in written(table(RICH), rule=ContentLoss.JSON)


_words = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=6)
_leaves = st.one_of(
    st.builds(lambda words: block("paragraph", words), _words),
    st.builds(lambda words: block("heading", words, level=1), _words),
    st.builds(lambda words: block("codeBlock", words), _words),
)
_blocks = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds(
            lambda blocks: block("bulletList", block("listItem", *blocks)), st.lists(inner, min_size=1, max_size=3)
        ),
        st.builds(lambda blocks: block("blockquote", *blocks), st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda blocks: table(block("tableCell", *blocks)), st.lists(inner, min_size=1, max_size=2)),
    ),
    max_leaves=6,
)


@given(
    st.lists(
        st.lists(
            st.tuples(st.lists(_blocks, max_size=2), st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=3
        ),
        min_size=1,
        max_size=3,
    )
)
def test_no_word_of_any_table_is_lost_and_no_json_is_written(rows: list[list[tuple[list[Node], int, int]]]) -> None:
    irregular = block(
        "table",
        *(
            block("tableRow", *(block("tableCell", *blocks, colspan=wide, rowspan=high) for blocks, wide, high in row))
            for row in rows
        ),
    )

    page = written(irregular)

    assert "tiptap-node" not in page
    words = re.findall(r'"text": "(\w+)"', json.dumps(irregular, ensure_ascii=False))
    written_words = re.findall(r"[^\W_]+", page.replace("<br>", " "))
    assert not set(words) - set(written_words) - {"br"}


def cell_of(words: str, **attrs: object) -> Node:
    return block("tableCell", block("paragraph", words), **attrs)


def test_a_table_that_would_take_the_memory_of_all_stays_json() -> None:
    long_row, short_row = block("tableRow", *[cell_of("long")] * 2_000), block("tableRow", cell_of("short"))
    document = make_document([block("table", long_row, *[short_row] * 2_000)])
    assert with_plain_tables(document, (), ContentLoss.DEGRADE) == document


def test_a_cell_that_spans_hundreds_of_rows_is_a_first_one_and_empty_ones() -> None:
    rows = [block("tableRow", cell_of("high", rowspan=500), cell_of("0"))]
    rows += [block("tableRow", cell_of(str(number))) for number in range(1, 500)]
    lines = written(block("table", *rows)).splitlines()
    assert lines[-500:] == ["| high | 0 |", *(f"|  | {number} |" for number in range(1, 500))]


def test_spans_that_cover_millions_of_cells_take_no_memory_and_stay_a_fence() -> None:
    cell = block("tableCell", block("paragraph", "wide"), colspan=1000, rowspan=60)
    wide = block("table", *[block("tableRow", cell)] * 60)
    tracemalloc.start()
    try:
        document = with_plain_tables(make_document([wide]), (), ContentLoss.DEGRADE)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert document == make_document([wide])
    assert peak_bytes < 10_000_000
