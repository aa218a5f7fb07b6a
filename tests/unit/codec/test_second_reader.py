"""What is written in place means to a parser that knows CommonMark alone what the same content written anew means."""

import random
import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mirrord.errors import Damaged
from mirrord.markdown.inline.inline_splice import InlineSource, TextEdit, apply_edits, may_touch_markup
from mirrord.markdown.inline.source_style import Style
from mirrord.markdown.parser.dialect import ALONE
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Document, Mark, Node, make_document, text_node
from mirrord.markdown.write.render import splice_document
from tests.judge import gfm_html

PIECES = st.sampled_from(
    ['<a href="a.md">', "<a href='b' title=c>", '<a class="d">', "</a>", "</a>", "<u>", "</u>", "*", "**", "_", "b",
     " ", "`c`", "\n", "[d](d.md)", "![f](g.png)", "&amp;", "<https://example.org>", '<a href="c.md">']
)  # fmt: skip
SIGNS = st.sampled_from(
    ["*", "**", "_", "`", "[", "]", "(", ")", "](u)", "![", "<", "</b>", ">", "&", "amp;", "~~", "\\", "  \n", "\n",
     " ", "a", "bc", "1", "."]
)  # fmt: skip
NEW_TEXTS = ("new", "*new*", "new ", "<b", "_", "]")
MARKS = frozenset(["em", "strong", "del", "code", "u"])


class _MarkedCharacters(HTMLParser):
    """Each character and picture of a page, with the marks and the link that a browser gives it."""

    def __init__(self) -> None:
        super().__init__()
        self._open: list[str] = []
        self._link = ""
        self.units: list[tuple[str, frozenset[str]]] = []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        node_name = f"{tag} {sorted(attrs)}"
        if tag in MARKS:
            self._open.append(tag)
        elif tag == "a":
            self._link = node_name
        else:
            self._add(node_name)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            self._open.remove(tag)
        elif tag == "a":
            self._link = ""

    def handle_data(self, data: str) -> None:
        for word in data.split():
            for char in word:
                self._add(char)

    def _add(self, unit: str) -> None:
        self.units.append((unit, frozenset([*self._open, self._link])))


def marked_characters(markdown: str) -> list[tuple[str, frozenset[str]]]:
    reader = _MarkedCharacters()
    reader.feed(gfm_html(markdown))
    reader.close()
    return reader.units


def edited_documents(document: Document, chance: random.Random) -> Iterator[Document]:
    """*document* with another text, with bold or italic text, without a part, without marks, and parted."""
    content: list[Node] = document["content"][0].get("content", [])
    texts = [at for at, node in enumerate(content) if node.get("text", "").strip()]
    at = chance.choice(texts or [0])
    yield _page([*content[:at], text_node(chance.choice(NEW_TEXTS)), *content[at:]])
    yield _page([*content[:at], *content[at + 1 :]])
    yield _page([_without_marks(node) if index == at else node for index, node in enumerate(content)])
    if texts and not any(mark["type"] == "code" for mark in content[at].get("marks", [])):
        text, marks = content[at]["text"], content[at].get("marks", [])
        cut, mark = chance.randrange(len(text)), Mark(type=chance.choice(["bold", "italic"]))
        halves = [text_node(text[:cut], marks)] * (cut > 0), text_node(text[cut:], marks)
        if mark not in marks:
            yield _page([*content[:at], *halves[0], text_node(text[cut:], [*marks, mark]), *content[at + 1 :]])
        yield _page([*content[:at], *halves[0]], [halves[1], *content[at + 1 :]])


def _page(*paragraphs: list[Node]) -> Document:
    return make_document([{"type": "paragraph", "content": content} for content in paragraphs if content])


def _without_marks(node: Node) -> Node:
    bare: Node = {key: value for key, value in node.items() if key != "marks"}  # type: ignore[assignment]
    return bare


@given(st.lists(PIECES, max_size=14).map("".join), st.integers(0, 1 << 20))
@settings(derandomize=True)
def test_an_edit_among_any_tags_means_to_another_parser_what_it_means_anew(text: str, seed: int) -> None:
    body = f"x{text} old x\n"
    document = read_document(body)
    assume(len(document["content"]) == 1 and document["content"][0]["type"] == "paragraph")

    for edited in edited_documents(document, random.Random(seed)):
        try:
            in_place, anew = (splice_document(source, edited, "\n") for source in (body, ""))
        except Damaged:
            continue  # said, and nothing is written
        assert marked_characters(in_place) == marked_characters(anew)


@given(
    st.lists(SIGNS, max_size=7).map("".join),
    st.lists(SIGNS, max_size=7).map("".join),
    st.integers(0, 7),
    st.integers(0, 5),
    st.sampled_from(["c", " ", ".", ""]),
)
def test_an_edit_that_touches_no_markup_changes_no_tag_of_another_parser(
    above: str, below: str, place: int, length: int, text: str
) -> None:
    content, start = f"{above}one two{below}", len(above) + place
    edits = [TextEdit(start, min(start + length, len(content)), text)]
    if may_touch_markup(InlineSource(content, ALONE, Style()), edits):
        return

    parser = MarkdownIt("commonmark").enable("strikethrough")
    before, after = (
        re.findall("<[^>]*>", parser.renderInline(each)) for each in (content, apply_edits(content, edits))
    )
    assert before == after
