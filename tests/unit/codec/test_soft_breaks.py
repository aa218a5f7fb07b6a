"""Soft breaks that an editor made hard come back soft, and breaks that a person made hard stay."""

import json

import pytest

from mirrord.markdown.schema.document import Document, Node, text_node
from mirrord.markdown.write.render import splice_document
from mirrord.markdown.write.soft_breaks import with_soft_breaks
from mirrord.markdown.write.stored_form import values_to_store


def stored(body: str) -> Document:
    document: Document = json.loads(values_to_store(body, None)[0])
    return document


def hardened(node: Node, word: str) -> Node:
    """*node* as TipTap reads the paragraph with *word* from its page: each line feed in a text is a hard break."""
    content = [hardened(child, word) for child in node.get("content", [])]
    if any(word in child.get("text", "") for child in content):
        content = [piece for child in content for piece in pieces_of(child)]
    return {**node, "content": content} if content else node


def pieces_of(child: Node) -> list[Node]:
    pieces: list[Node] = []
    for number, line in enumerate(child["text"].split("\n") if "text" in child else []):
        marks = {"marks": child["marks"]} if "marks" in child else {}
        pieces += [Node(type="hardBreak", **marks)] if number else []  # type: ignore[typeddict-item]
        pieces += [{**child, "text": line}] if line else []
    return pieces or [child]


def typed(body: str, old: str, new: str) -> str:
    before = stored(body)
    written = hardened(json.loads(json.dumps(before).replace(old, new)), new)
    return splice_document(body, with_soft_breaks(written, before), "\n")


@pytest.mark.parametrize(
    "body",
    [
        "one WORD\ntwo *x*\nthree\n",
        "one **two\nWORD** three\n",
        "- one\n  WORD\n\t- a\n\t  b\n",
        "> one\n> WORD\n",
        "a hard  \none and a\nsoft WORD\n",
        "[one\ntwo](u) WORD\n",
    ],
)
def test_a_key_typed_in_a_wrapped_paragraph_changes_one_character(body: str) -> None:
    assert typed(body, "WORD", "WORDS") == body.replace("WORD", "WORDS")


def test_a_new_item_keeps_soft_breaks_of_the_others() -> None:
    body = "- one\n  two\n- three\n"
    before = stored(body)
    written = hardened(before, "one")
    item: Node = {"type": "listItem", "content": [{"type": "paragraph", "content": [text_node("new")]}]}
    written["content"][0]["content"].insert(0, item)
    written["content"][0]["content"][1]["content"][0]["content"][0]["text"] = "one!"

    assert splice_document(body, with_soft_breaks(written, before), "\n") == "- new\n- one!\n  two\n- three\n"


def test_a_single_break_that_is_made_hard_is_meant() -> None:
    assert typed("one\ntwo\n", "one", "one") == "one\\\ntwo\n"


def test_breaks_of_an_editor_that_keeps_soft_ones_are_meant() -> None:
    body = "one\ntwo three\nfour\n"
    before = stored(body)
    written = json.loads(json.dumps(before))
    texts = [text_node("one\ntwo "), {"type": "hardBreak"}, text_node("three\nfour")]
    written["content"][0]["content"] = texts

    assert with_soft_breaks(written, before) == written


def test_a_document_without_hard_breaks_is_the_same_object() -> None:
    document = stored("one\ntwo\n")
    assert with_soft_breaks(document, stored("")) is document
