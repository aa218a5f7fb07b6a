"""Widths of columns are a comment above the table, which says nothing else and changes nothing else."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.column_widths import MAX_WIDTH_PX, Widths, read_widths, write_widths
from mirrord.markdown.schema.document import Document, Node, make_document
from mirrord.markdown.starterkit.shown_form import to_starterkit
from mirrord.markdown.write.render import render
from tests.unit.codec.documents import meaning
from tests.unit.codec.test_render import CONTENT, NOTHING
from tests.unit.codec.test_starterkit import written as written_by_starterkit

RESIZED = "<!-- columns: 120 - -->\n| a | b |\n|:--|---|\n| 1 | 2 |\n"
WIDTHS = st.lists(st.none() | st.integers(1, MAX_WIDTH_PX), min_size=1, max_size=12).filter(any).map(tuple)


def tables_in(node: Node) -> list[Node]:
    inner = [table for child in node.get("content") or () for table in tables_in(child)]
    return [node, *inner] if node["type"] == "table" else inner


def widths_in(document: Document) -> list[list[Json]]:
    """Of the first table, `colwidth` of the cells of each row."""
    table = tables_in(document)[0]
    return [[(cell.get("attrs") or {}).get("colwidth") for cell in row["content"]] for row in table["content"]]


def with_widths(document: Document, widths: Sequence[int | None], rows: slice = slice(None)) -> Document:
    """*document*, the first table of which has columns of these *widths* in the *rows*."""
    for row in tables_in(document)[0]["content"][rows]:
        for cell, width in zip(row["content"], widths, strict=True):
            cell["attrs"] = {**(cell.get("attrs") or {}), "colwidth": None if width is None else [width]}
    return document


def written(before: str, content: Document) -> str:
    """The text of a page after *content* was stored in it, which means the content."""
    text = render(PageText(before), CONTENT, replace(NOTHING, content=content), stem="Page").text
    assert meaning(read_document(text)) == meaning(content)
    return text


def resized(before: str, *widths: int | None) -> str:
    return written(before, with_widths(read_document(before), widths))


def test_all_cells_of_a_column_have_the_width_of_the_comment() -> None:
    assert widths_in(read_document(RESIZED)) == [[[120], None], [[120], None]]


def test_a_table_without_widths_has_none() -> None:
    assert widths_in(read_document(RESIZED.partition("\n")[2])) == [[None, None], [None, None]]


@pytest.mark.parametrize(
    "comment",
    [
        "<!-- columns: 120 -->",  # one column of two
        "<!-- columns: 120 - 240 -->",
        "<!-- columns: - - -->",
        "<!-- columns: 0 120 -->",
        "<!-- columns: 10001 - -->",
        "<!-- columns: 999999 - -->",
        "<!-- columns: 12.5 - -->",
        "<!-- columns: a b -->",
        "<!-- columns 120 - -->",
        "<!-- columns: 120 - --> words",
    ],
)
def test_a_comment_that_does_not_fit_the_table_is_an_ordinary_comment(comment: str) -> None:
    text = f"{comment}\n{RESIZED.partition(chr(10))[2]}"
    document = read_document(text)

    assert document["content"][0] == {"type": "rawBlock", "attrs": {"raw": comment}}
    assert widths_in(document) == [[None, None], [None, None]]
    assert written(text, document) == text


def test_a_comment_that_is_not_directly_above_a_table_is_an_ordinary_comment() -> None:
    for text in (RESIZED.replace("-->\n", "-->\n\n"), "<!-- columns: 1 -->\nwords\n", "<!-- columns: 1 -->\n"):
        assert read_document(text)["content"][0]["type"] == "rawBlock"


def test_the_first_width_adds_one_line_and_changes_no_other() -> None:
    before = "words\n\n|  a|b |\n|:--|---|\n| 1 | [x](y)  |\n\nmore\n"

    assert resized(before, None, 300) == before.replace("|  a|b", "<!-- columns: - 300 -->\n|  a|b")


def test_another_width_changes_the_comment_alone() -> None:
    before = RESIZED.replace("| 1 | 2 |", "|1|2  |") + "\nafter\n"

    assert resized(before, 80, 90) == before.replace("120 -", "80 90")


def test_columns_without_widths_need_no_comment() -> None:
    assert resized(RESIZED, None, None) == RESIZED.partition("\n")[2]


def test_words_of_a_cell_change_without_the_comment() -> None:
    before = RESIZED.replace("columns: 120 -", "columns:  120   -")
    content = read_document(before)
    tables_in(content)[0]["content"][1]["content"][1]["content"] = [
        {"type": "paragraph", "content": [{"type": "text", "text": "two"}]}
    ]

    assert written(before, content) == before.replace("| 2 |", "| two |")


def test_a_new_row_has_the_widths_of_its_table() -> None:
    content = read_document(RESIZED)
    cell: Node = {"type": "tableCell", "content": [{"type": "paragraph"}]}
    tables_in(content)[0]["content"].append({"type": "tableRow", "content": [cell, cell]})

    assert written(RESIZED, content).startswith(RESIZED)
    assert "tiptap" not in written(RESIZED, content)


def test_a_new_column_is_as_wide_as_its_words() -> None:
    content = read_document(RESIZED)
    for row in tables_in(content)[0]["content"]:
        row["content"].insert(1, {"type": row["content"][0]["type"], "content": [{"type": "paragraph"}]})

    assert written(RESIZED, content).startswith("<!-- columns: 120 - - -->\n| a |")


def test_a_width_and_a_word_change_at_once() -> None:
    content = with_widths(read_document(RESIZED), (50, 60))
    tables_in(content)[0]["content"][1]["content"][0]["content"] = [
        {"type": "paragraph", "content": [{"type": "text", "text": "one"}]}
    ]

    assert written(RESIZED, content) == "<!-- columns: 50 60 -->\n| a | b |\n|:--|---|\n| one | 2 |\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("> | a | b |\n> |---|---|\n> | 1 | 2 |\n", "> <!-- columns: 7 - -->\n> | a | b |\n> |---|---|\n> | 1 | 2 |\n"),
        (
            "- item\n\n  | a | b |\n  |---|---|\n  | 1 | 2 |\n- next\n",
            "- item\n\n  <!-- columns: 7 - -->\n  | a | b |\n  |---|---|\n  | 1 | 2 |\n- next\n",
        ),
        (
            "> [!note] Title\n> | a | b |\n> |---|---|\n",
            "> [!note] Title\n> <!-- columns: 7 - -->\n> | a | b |\n> |---|---|\n",
        ),
    ],
)
def test_a_table_in_another_block_is_resized_there_and_back(before: str, after: str) -> None:
    assert resized(before, 7, None) == after
    assert resized(after, None, None) == before


def test_the_json_of_older_versions_is_read_and_becomes_the_comment_when_the_table_is_resized() -> None:
    cells = '{"0,0":{"colwidth":[80]},"1,0":{"colwidth":[80]}}'
    before = f'<!-- tiptap {{"cells":{cells}}} -->\n| a | b |\n|---|---|\n| 1 | 2 |\n'
    content = read_document(before)

    assert widths_in(content) == [[[80], None], [[80], None]]
    assert written(before, content) == before
    assert resized(before, 90, None) == "<!-- columns: 90 - -->\n| a | b |\n|---|---|\n| 1 | 2 |\n"


def test_json_keeps_what_the_comment_cannot_say() -> None:
    before = RESIZED.partition("\n")[2]
    with_a_colour = with_widths(read_document(before), (80, None))
    tables_in(with_a_colour)[0]["content"][1]["content"][0]["attrs"]["background"] = "red"
    uneven = with_widths(with_widths(read_document(before), (80, None)), (90, None), slice(1, None))

    text = written(before, with_a_colour)
    assert text.startswith('<!-- tiptap {"cells":{"1,0":{"background":"red"}}} -->\n<!-- columns: 80 - -->\n| a |')
    assert written(text, with_widths(read_document(text), (None, None))) == text.replace("<!-- columns: 80 - -->\n", "")
    assert written(before, uneven).startswith('<!-- tiptap {"cells":{"0,0":{"colwidth":[80]},"1,0":{"colwidth":[90]}}}')


def test_an_editor_that_knows_no_widths_keeps_them_and_one_that_does_changes_them() -> None:
    document = to_starterkit(read_document(RESIZED))

    assert widths_in(document) == [[[120], None], [[120], None]]
    assert written_by_starterkit(RESIZED, ("2", "two")) == RESIZED.replace("| 2 |", "| two |")
    assert written(RESIZED, with_widths(document, (90, 30))) == RESIZED.replace("120 -", "90 30")


@pytest.mark.parametrize("widths", [[0], [10_001], [1, 2], [None], ["1"], [True], 5, "1"])
def test_numbers_that_are_no_width_of_a_column_stay_in_json(widths: Json) -> None:
    content = read_document(RESIZED.partition("\n")[2])
    for row in tables_in(content)[0]["content"]:
        row["content"][0]["attrs"] = {"colwidth": widths}

    assert "columns" not in written("", make_document(content["content"]))


@pytest.mark.parametrize("other", [[80.0], [True], [80, 1]])
def test_a_number_that_is_only_equal_to_a_width_is_no_width(other: Json) -> None:
    content = with_widths(read_document(RESIZED.partition("\n")[2]), (1 if other == [True] else 80, None))
    tables_in(content)[0]["content"][1]["content"][0]["attrs"] = {"colwidth": other}

    assert "columns" not in written("", content)


@given(WIDTHS)
def test_what_is_written_is_read_again(widths: Widths) -> None:
    assert read_widths(write_widths(widths)) == widths


@given(WIDTHS, WIDTHS)
def test_a_table_takes_any_widths_and_gives_back_its_bytes(widths: Widths, others: Widths) -> None:
    before = "|" + " a |" * len(widths) + "\n|" + "---|" * len(widths) + "\n|" + "b|" * len(widths) + "\n"
    other_widths = [*others, *[None] * len(widths)][: len(widths)]

    text = resized(before, *widths)
    assert text == f"{write_widths(widths)}\n{before}"
    assert resized(resized(text, *other_widths), *[None] * len(widths)) == before
