"""Cells of tables that apps write: what Markdown can say is said in Markdown, and nothing else changes."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Mark, Node, make_document, text_node
from mirrord.markdown.write.render import render
from tests.bench.codec.words import every_word_edited
from tests.unit.codec.documents import meaning
from tests.unit.codec.test_one_word import not_alone
from tests.unit.codec.test_render import CONTENT, NOTHING

BOLD: Sequence[Mark] = ({"type": "bold"},)


def paragraph(text: str, marks: Sequence[Mark] = ()) -> Node:
    return {"type": "paragraph", "content": [text_node(text, marks)]}


def cell(*blocks: Node, kind: str = "tableCell", **attrs: Json) -> Node:
    node: Node = {"type": kind, "content": list(blocks or [{"type": "paragraph"}])}
    return {**node, "attrs": dict(attrs)} if attrs else node


def table(*rows: Sequence[Node]) -> Node:
    heads = [{**head, "type": "tableHeader"} for head in rows[0]]
    lines = [{"type": "tableRow", "content": list(row)} for row in (heads, *rows[1:])]
    return {"type": "table", "content": lines}  # type: ignore[typeddict-item]


def rendered(node: Node, before: str = "") -> str:
    content = make_document([node])
    text = render(PageText(before), CONTENT, replace(NOTHING, content=content), stem="Page").text
    assert meaning(read_document(text)) == meaning(content)
    return text


def test_paragraphs_of_a_cell_are_lines_of_it() -> None:
    node = table([cell(paragraph("a"))], [cell(paragraph("b", BOLD), {"type": "paragraph"}, paragraph("c|d", BOLD))])

    assert rendered(node) == "| a |\n| --- |\n| **b**<br>**c\\|d** |\n"


def test_a_cell_without_an_alignment_has_that_of_its_column() -> None:
    aligned, bare = cell(paragraph("a"), align="right"), cell(paragraph("b"))

    assert rendered(table([aligned, bare], [bare, bare], [aligned, bare])) == (
        "| a | b |\n| --: | --- |\n| b | b |\n| a | b |\n"
    )


def test_a_new_row_of_an_app_changes_no_other_line_of_an_aligned_table() -> None:
    before = "| a | b |\n|:--|--:|\n| 1 | 2 |"
    content = read_document(before)["content"][0]
    content["content"].append({"type": "tableRow", "content": [cell(paragraph("3"), align=None), cell()]})

    assert rendered(content, before) == f"{before}\n| 3 |   |"


def test_a_cell_that_alone_is_aligned_is_kept_so_in_a_comment() -> None:
    node = table([cell(paragraph("a"))], [cell(paragraph("b"), align="center")])

    assert rendered(node).startswith('<!-- tiptap {"cells":{"1,0":{"align":"center"}}} -->\n| a |')


@pytest.mark.parametrize(
    "block",
    [
        {"type": "bulletList", "content": [{"type": "listItem", "content": [paragraph("b")]}]},
        {"type": "codeBlock", "content": [text_node("b")]},
        {"type": "paragraph", "attrs": {"textAlign": "center"}, "content": [text_node("b")]},
    ],
)
def test_a_cell_of_other_blocks_is_kept_as_json(block: Node) -> None:
    assert rendered(table([cell(paragraph("a"))], [cell(paragraph("b"), block)])).startswith("```tiptap-node\n")


def test_cells_of_spanned_tables_keep_their_own_alignment() -> None:
    wide = cell(paragraph("a"), align="right", colspan=2)

    assert '"align"' not in rendered(table([wide], [cell(paragraph("b")), cell()])).partition('"b"')[2]


def test_a_table_kept_as_json_in_a_task_begins_below_the_box_and_stays_there() -> None:
    ragged = table([cell(paragraph("a"))], [cell(paragraph("b")), cell(paragraph("c"))])
    item: Node = {"type": "taskItem", "attrs": {"checked": False}, "content": [ragged]}
    text = rendered({"type": "taskList", "content": [item]})

    assert text.startswith("- [ ] \n  ```tiptap-node\n")
    assert not_alone(every_word_edited(text)) == []
