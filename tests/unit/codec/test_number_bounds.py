"""No number in a document makes it too large to be shown: a browser lays out each column that a cell spans."""

import json

import pytest

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import MAX_SPANNED_PLACES, Document, Node, check_document, make_document
from mirrord.markdown.write.render import NewViews, render

MAX_SPAN = 1000
TOO_LARGE: tuple[Json, ...] = (0, -1, MAX_SPAN + 1, 99_999_999, 10**30, 2.0, "99999999", True, [2])


def cell_with(attrs: dict[str, Json], name: str = "tableCell") -> Node:
    return {"type": name, "attrs": attrs, "content": [{"type": "paragraph"}]}


def table_of(rows: list[list[Node]]) -> Document:
    content: list[Node] = [{"type": "tableRow", "content": row} for row in rows]
    return make_document([{"type": "table", "content": content}])


def rendered(content: Document, text: str = "") -> str:
    new_views = NewViews(id=None, title=None, icon=None, position=None, frontmatter=None, content=content)
    return render(PageText(text), frozenset(["content"]), new_views, stem="Page").text


@pytest.mark.parametrize("name", ["tableCell", "tableHeader"])
@pytest.mark.parametrize("key", ["colspan", "rowspan"])
def test_what_an_app_writes_spans_1_to_1000_rows_and_columns(name: str, key: str) -> None:
    for span in (1, 2, MAX_SPAN, None):
        rendered(table_of([[cell_with({key: span}, name)]]))
    for number in TOO_LARGE:
        with pytest.raises(Damaged, match=f"{name} whose `{key}` is not a number from 1 to 1000"):
            rendered(table_of([[cell_with({key: number}, name)]]))


@pytest.mark.parametrize("number", TOO_LARGE)
def test_a_fence_in_a_file_with_such_a_number_is_code_and_keeps_its_bytes(number: Json) -> None:
    document = table_of([[cell_with({"colspan": number})]])
    text = f"```tiptap-node\n{json.dumps(document['content'][0])}\n```\n"
    content = read_document(text)
    assert [block["type"] for block in content["content"]] == ["codeBlock"]
    assert rendered(content, text) == text
    usual = text.replace(json.dumps({"colspan": number}), '{"colspan": 1000}')
    assert [block["type"] for block in read_document(usual)["content"]] == ["table"]


def test_a_comment_of_a_table_gives_no_such_number_to_a_cell() -> None:
    comment = '<!-- tiptap {"cells":{"0,0":{"colspan":99999999,"rowspan":0,"background":"red"}}} -->'
    content = read_document(f"{comment}\n| a | b |\n| --- | --- |\n| c | d |\n")
    cell = content["content"][0]["content"][0]["content"][0]
    assert cell["attrs"] == {"background": "red"}


def test_cells_that_span_many_places_together_are_refused() -> None:
    wide, tall = cell_with({"colspan": 1000}), cell_with({"colspan": 100, "rowspan": 1000})
    check_document(table_of([[wide]] * (MAX_SPANNED_PLACES // 1000)))
    check_document(table_of([[tall]] * 30))
    check_document(table_of([[cell_with({})] * 300] * 400))  # none spans another one
    check_document(table_of([[cell_with({"colspan": 2}), cell_with({"rowspan": 2})]] * 100))
    for rows in ([[wide]] * 101, [[wide] * 1000], [[tall]] * 40):
        with pytest.raises(Damaged, match="larger than 100000 cells"):
            check_document(table_of(rows))


def test_numbers_that_no_browser_lays_out_one_by_one_are_kept() -> None:
    item: Node = {"type": "listItem", "content": [{"type": "paragraph"}]}
    image: Node = {"type": "image", "attrs": {"src": "a.png", "width": 10**9}}
    blocks: list[Node] = [
        {"type": "orderedList", "attrs": {"start": 10**12}, "content": [item]},
        {"type": "heading", "attrs": {"level": 10**6}},
        {"type": "paragraph", "content": [image]},
    ]
    content = make_document(blocks)
    read_again = read_document(rendered(content))
    assert [block["type"] for block in read_again["content"]] == ["orderedList", "heading", "paragraph"]
