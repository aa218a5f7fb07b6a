"""Edits of single blocks: every other block keeps its bytes."""

import json
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText, first_line_ending
from mirrord.markdown.inline.source_style import style_of
from mirrord.markdown.read.page_outline import outline_of
from mirrord.markdown.read.reader import read_document, read_nodes
from mirrord.markdown.schema.document import Document, Node, make_document, text_node
from mirrord.markdown.schema.normal_form import normalize
from mirrord.markdown.write import render
from mirrord.markdown.write.block_writer import render_block
from tests.support.laws import scale_examples
from tests.unit.codec.documents import blocks, markdown, meaning

NEW: Node = {"type": "paragraph", "content": [text_node("an *edited* block")]}


def spliced(body: str, document: Document) -> str:
    return render.splice_document(body, document, first_line_ending(body))


def raw(source: str) -> Node:
    return {"type": "rawBlock", "attrs": {"raw": source}}


def sources(body: str) -> list[str]:
    page = outline_of(body)
    return [page.source(index) for index in range(len(page.segments))]


def replaced(content: list[Node], index: int) -> list[Node]:
    return [*content[:index], NEW, *content[index + 1 :]]


def check_replacement(body: str, index: int) -> None:
    page = outline_of(body)
    result = spliced(body, make_document(replaced(read_nodes(page), index)))

    old, new = sources(body), sources(result)
    assert new == [*old[:index], new[index], *old[index + 1 :]]
    assert new[index].rstrip(" ") == r"an \*edited\* block"  # blanks at the end of the line stay
    assert result.startswith(body[: page.segments[max(index - 1, 0)].start])
    assert result.endswith(page.gap(len(old) - 1))


def test_an_edit_of_one_block_leaves_all_others_of_real_pages(pages: list[str]) -> None:
    edits = 0
    for number, page in enumerate(pages):
        body = PageText(page).body
        if count := len(outline_of(body).segments):
            check_replacement(body, number % count)
            check_replacement(body.replace("\n", "\r\n"), (number * 7) % count)
            edits += 2
    assert edits > 100


@given(markdown, st.integers(0, 100), blocks)
@example("[a]: b\n\xa0", 0, {"type": "paragraph"})
@example("\n> <!--\n> ", 1, {"type": "paragraph", "content": [{"type": "text", "text": "a"}]})
@settings(max_examples=scale_examples(60))
def test_an_edit_leaves_all_other_blocks_or_is_refused(body: str, number: int, node: Node) -> None:
    page = outline_of(body)
    content = read_nodes(page)
    index = number % (len(content) + 1)
    document = make_document([*content[:index], node, *content[index + 1 :]])
    try:
        result = spliced(body, document)
    except Damaged:
        return

    assert meaning(make_document(read_nodes(outline_of(result)))) == meaning(document)
    if outline_of(result).surroundings != page.surroundings:
        return  # with a definition blocks lose what they meant, and are written anew
    position = 0
    for place, source in enumerate(sources(body)):
        # a paragraph of blanks alone means nothing: it belongs to the gap, and goes with the block before it
        if place != index and normalize(content[place]) != {"type": "paragraph"}:
            position = result.index(source, position) + len(source)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_new_lines_end_as_the_page_does(ending: str) -> None:
    body = f"a{ending}{ending}b"
    item: Node = {"type": "listItem", "content": [NEW]}
    content = [*read_document(body)["content"], Node(type="bulletList", content=[item, item])]

    result = spliced(body, make_document(content))

    assert result == body + ending * 2 + (r"- an \*edited\* block" + ending) * 1 + r"- an \*edited\* block"


@pytest.mark.parametrize(
    ("body", "change", "expected"),
    [
        ("- a\n\nx\n\n- b\n", lambda content: [content[0], content[2]], "- a\n\n<!-- -->\n\n- b\n"),
        ("1. a\n\nx\n\n    code\n", lambda content: [content[0], content[2]], "1. a\n\n<!-- -->\n\n    code\n"),
        ("- a\n\nx\n", lambda content: [content[0], content[0]], "- a\n\n* a\n"),
        ("# a\nb\n# c\n", lambda content: replaced(content, 1), "# a\nan \\*edited\\* block\n# c\n"),
        ("a\n# b\nc\n", lambda content: replaced(content, 1), "a\n\nan \\*edited\\* block\n\nc\n"),
        ("a\n***\nb\n", lambda content: [content[0], content[2], content[1]], "a\n\nb\n\n***\n"),
        ("[a]: b\n[c]: d\n[e]: f\n", lambda content: [content[0], content[2]], "[a]: b\n[e]: f\n"),
        ("```\na\n", lambda content: [*content, NEW], "```\na\n```\n\nan \\*edited\\* block\n"),
        ("a\n\n\n\nb\n", lambda content: [content[1], content[0]], "b\n\na\n"),
        ("a\n\n\n\nb\n", lambda content: content[:1], "a\n"),
        ("\n\na\n", lambda content: [], "\n\n"),
        ("a", lambda content: [*content, NEW], "a\n\nan \\*edited\\* block"),
        ("[a]: b\n\nc [a]\n", lambda content: content[1:], "c [a](b)\n"),
        ("x\n\nc [a]\n", lambda content: [raw("[a]: b"), content[1]], "[a]: b\n\nc \\[a\\]\n"),
        ("x\n\n- a\n", lambda content: [*read_document("- b")["content"], content[1]], "* b\n\n- a\n"),
        ("<!-- -->", lambda content: [NEW], "<!-- -->\nan \\*edited\\* block\n"),
        ("a\n- ```\n> \n\n", lambda content: [content[2], *content[:2]], "> \n\na\n- ```\n"),
        ("- ```\n> \n\na\n", lambda content: [content[0], content[2]], "- ```\na\n"),
        ("- b\n- <pre>\n> \n\n", lambda content: [content[1], content[0]], "> \n\n- b\n- <pre>\n"),
    ],
)
def test_blocks_that_would_run_together_are_kept_apart(
    body: str, change: Callable[[list[Node]], list[Node]], expected: str
) -> None:
    assert spliced(body, make_document(change(read_document(body)["content"]))) == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("* a\n* b\n", "* a\n* b!\n"),
        ("- a\n\n- b\n", "- a\n\n- b!\n"),
        ("3) a\n4) b\n", "3) a\n4) b!\n"),
        ("1. a\n1. b\n", "1. a\n1. b!\n"),
        ("Title\n=====\n", "Title!\n=====\n"),
        ("~~~py\na\n~~~\n", "~~~py\na!\n~~~\n"),
        ("_a_ and __b__\n", "_a_ and __b!__\n"),
        ("a  \nb\n", "a  \nb!\n"),
        ("a\\\nb\n", "a\\\nb!\n"),
        ("| a | b |\n|:--|--:|\n| c | [[d\\|e]] f |\n", "| a | b |\n|:--|--:|\n| c | [[d\\|e]] f! |\n"),
        ("> [!tip]- A *title*\n> text\n", "> [!tip]- A *title*\n> text!\n"),
    ],
)
def test_a_changed_block_keeps_its_style(old: str, new: str) -> None:
    content = read_document(old)
    last = content["content"][-1]
    while "content" in last:
        last = last["content"][-1]
    last["text"] += "!"

    assert spliced(old, content) == new


def test_text_stays_text_however_much_it_looks_like_obsidian() -> None:
    body = "\\[!note] and \\[[x]], \\==y==, \\%%z%%, \\#tag, a \\^id and !\\[[w]]\n"
    content = read_document("> " + body)
    content["content"][0]["content"][0]["content"].append(text_node("!"))

    result = spliced("> " + body, content)

    assert meaning(read_document(result)) == meaning(content)
    assert read_document(result)["content"][0]["type"] == "blockquote"
    assert "wikilink" not in str(read_document(result))
    assert "embed" not in str(read_document(result))
    assert r"\#tag" in result
    assert r"\^id" in result


def anew(body: str) -> str:
    """*body* with every block written anew in its style."""
    page = outline_of(body)
    result = page.gap(-1)
    for index, (node, segment) in enumerate(zip(read_nodes(page), page.segments, strict=True)):
        source = render_block(normalize(node), style_of(segment.tokens or ()), page.surroundings)
        result += source.replace("\n", first_line_ending(body)) + page.gap(index)
    return result


def test_every_block_of_the_specifications_can_be_written_anew(examples: list[str]) -> None:
    """None is refused, and a parser set up otherwise sees the same but for a few gaps and blanks."""
    judge = MarkdownIt("commonmark", {"tasklists": True}).enable(["table", "strikethrough"])

    other = [example for example in examples if judge.render(anew(example)) != judge.render(example)]

    assert len(examples) > 650
    assert len(other) <= 3, other


def test_every_block_of_real_pages_can_be_written_anew(pages: list[str]) -> None:
    total = 0
    for page in pages:
        body = PageText(page).body
        total += len(outline_of(anew(body)).segments)
    assert total > 1000


def test_a_document_is_not_changed_by_being_written() -> None:
    content: Document = {"type": "doc", "content": [NEW, Node(type="horizontalRule")]}
    before = json.dumps(content)
    spliced("a\n", content)

    assert json.dumps(content) == before
