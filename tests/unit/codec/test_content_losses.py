"""What a document of an app may not remove unasked: all of a page, and all its nodes that ordinary editors lack."""

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mirrord.errors import ContentLost
from mirrord.markdown.frontmatter.page_text import PageText, decode
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import TEXTBLOCKS, Document, Node, make_document, text_node
from mirrord.markdown.write.content_losses import HALTED_LIMITS, ORDINARY_MARKS, ORDINARY_NODES, USUAL_LIMITS, find_loss
from mirrord.markdown.write.render import NewViews, render
from tests.guide import examples
from tests.unit.codec.documents import documents, markdown

ROOT = Path(__file__).parents[3]
PAGES = [
    *(decode(path.read_bytes()) for path in sorted((ROOT / "data" / "sample").rglob("*.md"))),
    *(text for text, _ in examples()),
]
PROSE = "The boats leave at seven, when the tide is high, and those on the quay do not ask where they are going. " * 3
LINKED = f"# Harbour\n\n{PROSE}\n\nSee [[Boats]], [[Tides]] and [[Quay]].\n\n> [!note]\n> Closed in winter.\n"


def blocks(text: str) -> Sequence[Node]:
    return read_document(text)["content"]


def paragraph(text: str) -> Node:
    return {"type": "paragraph", "content": [text_node(text)]}


def without_foreign(node: Node) -> Node:
    """What of a node a program keeps that drops the nodes and marks it does not know."""
    result: Node = {**node}
    if "content" in node:
        result["content"] = [without_foreign(child) for child in node["content"] if child["type"] in ORDINARY_NODES]
    if "marks" in node:
        result["marks"] = [mark for mark in node["marks"] if mark["type"] in ORDINARY_MARKS]
    return result


def text_places(document: Document) -> list[Node]:
    """The paragraphs and headings of *document*, at any depth."""
    return [
        *([document] if document["type"] in TEXTBLOCKS else []),
        *(place for child in document.get("content") or () for place in text_places(child)),
    ]


@pytest.mark.parametrize("content", [[], [{"type": "paragraph"}], [paragraph("t")], [paragraph("the boats")]])
def test_a_page_of_which_nothing_is_left_is_held(content: Sequence[Node]) -> None:
    loss = find_loss(blocks(LINKED), content)
    assert loss is not None
    assert "nothing of the page's 361 bytes of text is left" in loss
    assert "`wikilink` or `callout`" in loss


def test_other_words_in_place_of_a_page_are_held_however_many_they_are() -> None:
    assert find_loss(blocks(LINKED), [paragraph("Entirely different, and written by a person. " * 50)]) is not None


def test_a_page_without_foreign_nodes_that_is_emptied_is_held_without_a_word_about_editors() -> None:
    assert find_loss(blocks(PROSE), []) == f"nothing of the page's {len(PROSE.strip())} bytes of text is left"


@pytest.mark.parametrize("size", [USUAL_LIMITS.guarded_bytes, USUAL_LIMITS.guarded_bytes + 1])
def test_only_pages_with_some_text_are_held_when_they_are_emptied(size: int) -> None:
    text = ("word " * 100)[: size - 1] + "x"
    assert (find_loss(blocks(text), []) is not None) is (size > USUAL_LIMITS.guarded_bytes)


def test_a_page_of_which_one_sentence_is_left_is_not_held() -> None:
    assert find_loss(blocks(LINKED), blocks("In winter [[Boats]] leave when the tide is high.\n")) is None


def test_cells_and_links_are_text_that_may_be_left() -> None:
    links = "\n".join(f"- [here](https://example.org/a/long/path/{number})" for number in range(9))
    assert find_loss(blocks(links), []) is not None
    assert find_loss(blocks(links), blocks(links)[:1]) is None
    cells = "| a | b |\n| - | - |\n" + "".join(f"| {number} | x{number} |\n" for number in range(90))
    assert find_loss(blocks(cells), [paragraph("7")]) is not None
    assert find_loss(blocks(cells), blocks(cells.replace("x41", "y"))) is None


def test_a_document_without_any_of_its_foreign_nodes_is_held() -> None:
    stripped = without_foreign(read_document(LINKED))["content"]
    assert find_loss(blocks(LINKED), stripped) == "every `wikilink` and `callout` is gone from the page"


def test_marks_that_ordinary_editors_lack_count_as_nodes() -> None:
    text = "x<sup>2</sup> + y<sup>2</sup> = z<sup>2</sup>\n"
    stripped = without_foreign(read_document(text))["content"]
    assert find_loss(blocks(text), stripped) == "every `superscript` is gone from the page"


@pytest.mark.parametrize("count", range(1, USUAL_LIMITS.dropped_nodes))
def test_a_person_may_delete_the_only_foreign_nodes_of_a_page(count: int) -> None:
    links = " ".join(f"[[Page {number}]]" for number in range(count))
    assert find_loss(blocks(f"{PROSE}\n\n{links}\n"), blocks(PROSE)) is None


def test_single_nodes_and_short_pages_are_held_where_many_pages_are() -> None:
    short = "The ferry waits for [[Boats]].\n"
    assert find_loss(blocks(short), [paragraph("t")]) is None
    assert "nothing of the page" in (find_loss(blocks(short), [paragraph("t")], HALTED_LIMITS) or "")
    plain = [paragraph("The ferry waits for Boats.")]
    assert find_loss(blocks(short), plain, HALTED_LIMITS) == "every `wikilink` is gone from the page"
    assert find_loss(blocks("0123456789abcdef\n"), [], HALTED_LIMITS) is None
    assert find_loss(blocks(short), blocks(short.replace("ferry", "boat")), HALTED_LIMITS) is None


@pytest.mark.parametrize(
    "text", ["<details>\n<summary>More</summary>\n\ninside\n\n</details>\n", "<kbd>A</kbd> and <kbd>B</kbd>\n"]
)
def test_parts_of_one_node_do_not_count_apart(text: str) -> None:
    assert find_loss(blocks(f"before\n\n{text}"), blocks("before\n")) is None


def test_a_person_may_delete_one_of_many_wikilinks() -> None:
    document = read_document(LINKED)
    place = next(node for node in text_places(document) if any(c["type"] == "wikilink" for c in node["content"]))
    for index, child in enumerate(place["content"]):
        if child["type"] == "wikilink":
            edited = deepcopy(document)
            target = next(node for node in text_places(edited) if node == place)
            del target["content"][index]
            assert find_loss(document["content"], edited["content"]) is None


def test_a_line_break_that_an_editor_made_hard_is_the_same_text() -> None:
    old = "a harbour\nwith boats\n" * 12
    assert find_loss(blocks(old), blocks(old.replace("\n", "\\\n").removesuffix("\\\n"))) is None


@given(text=st.one_of(st.sampled_from(PAGES), markdown.map(lambda text: text + PROSE)), data=st.data())
@settings(deadline=None)
def test_what_is_typed_is_never_held(text: str, data: st.DataObject) -> None:
    document = read_document(text)
    edited = deepcopy(document)
    places = [node for place in text_places(edited) for node in place.get("content") or () if "text" in node]
    assume(places)
    place = data.draw(st.sampled_from(range(len(places))))
    at = data.draw(st.integers(0, len(places[place]["text"])))
    before = places[place]["text"]
    removed = data.draw(st.integers(0, 1))
    places[place]["text"] = (
        before[:at] + data.draw(st.sampled_from(["x", " ", "\n", "字", ""])) + before[at + removed :]
    )
    assert find_loss(document["content"], edited["content"]) is None


@given(text=st.sampled_from(PAGES), data=st.data())
@settings(deadline=None)
def test_one_block_more_or_less_of_a_page_with_others_is_never_held_for_its_text(
    text: str, data: st.DataObject
) -> None:
    content = [*blocks(text), *blocks(PROSE)]
    shorter = [*content]
    del shorter[data.draw(st.integers(0, len(content) - 2))]
    assert "nothing" not in (find_loss(content, shorter) or "")
    assert find_loss(shorter, content) is None


@given(content=documents)
@settings(deadline=None)
def test_no_document_is_lost_in_itself_or_from_an_empty_page(content: Document) -> None:
    nodes = content.get("content") or []
    assert find_loss(nodes, nodes) is None
    assert find_loss([], nodes) is None


@given(content=documents, other=documents)
@settings(deadline=None)
def test_any_two_documents_can_be_compared(content: Document, other: Document) -> None:
    loss = find_loss(content.get("content") or [], other.get("content") or [])
    assert loss is None or "nothing of the page" in loss or "is gone from the page" in loss


def test_only_content_that_is_not_confirmed_is_judged() -> None:
    empty = NewViews(id=None, title=None, icon=None, position=None, frontmatter=None, content=make_document([]))
    page = PageText(LINKED)
    assert render(page, frozenset(["content"]), empty, stem="Page", limits=None).text == ""
    with pytest.raises(ContentLost, match="in the content that an app wrote nothing of the page"):
        render(page, frozenset(["content"]), empty, stem="Page", limits=USUAL_LIMITS)
    assert render(page, frozenset(["title"]), empty, stem="Page", limits=USUAL_LIMITS).text == LINKED
