"""The document as Postgres stores it: with the ids of the one before, and the same however it was made."""

import json

import orjson
import pytest
from hypothesis import given, settings

from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.page_links import links_of
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Node
from mirrord.markdown.write.stored_form import values_to_store
from tests.support.laws import scale_examples
from tests.unit.codec.documents import markdown, meaning

TEXT = "---\ntitle: x\n---\n# One\n\ntwo\n\n- three\n- four\n\nfive\n\nsix\n"


def blocks(document: bytes | str) -> list[Node]:
    nodes: list[Node] = orjson.loads(document)["content"]
    return nodes


def json_of(text: str, prior: str | None) -> bytes:
    """The document alone."""
    return values_to_store(text, prior)[0]


def as_stored(document: bytes) -> str:
    """As `jsonb` gives it back: keys in another order, blanks between."""
    return json.dumps(orjson.loads(document), sort_keys=True)


def test_a_changed_block_changes_no_other_object() -> None:
    before = json_of(TEXT, None)
    after = json_of(TEXT.replace("two", "two, edited"), as_stored(before))

    old, new = blocks(before), blocks(after)
    assert [a == b for a, b in zip(old, new, strict=True)] == [True, False, True, True, True]
    assert [node["attrs"]["id"] for node in old] == [node["attrs"]["id"] for node in new]


@given(markdown, markdown)
@settings(max_examples=scale_examples(60))
def test_it_means_what_the_text_says_whatever_was_before(text: str, other: str) -> None:
    result = orjson.loads(json_of(text, json_of(other, None).decode()))
    assert meaning(result) == meaning(orjson.loads(orjson.dumps(read_document(text))))


@given(markdown)
@settings(max_examples=scale_examples(60))
def test_the_links_beside_it_are_those_of_the_text(text: str) -> None:
    assert values_to_store(text, None)[1] == links_of(PageText(text))


def test_nul_is_replaced_and_its_escape_in_a_text_is_not() -> None:
    fence = '```tiptap-node\n{"type": "odd", "attrs": {"a": "\\u0000 \\\\u0000"}}\n```\n\n'
    odd, paragraph = blocks(json_of(fence + "`\\u0000` \\\\\\\\\\u0000\n", None))
    assert odd["attrs"] == {"a": "\ufffd \\u0000"}
    assert [node["text"] for node in paragraph["content"]] == ["\\u0000", " \\\\\\u0000"]


@pytest.mark.parametrize("depth", [1, 300, 1000, 3000])
def test_an_attribute_that_an_app_nested_too_deep_does_not_stop_the_document(depth: int) -> None:
    before = json_of("[a](b)\n", None).decode()
    prior = before.replace('"href"', f'"auto":{"[" * depth}{"]" * depth},"href"')

    (paragraph,) = blocks(json_of("[a](b)\n", prior))

    attrs = paragraph["content"][0]["marks"][0]["attrs"]
    assert attrs == ({"href": "b", "auto": []} if depth == 1 else {"href": "b"})


DEEP = [
    '<!-- tiptap {{"a":{}}} -->\n# A\n',
    'a <span data-tt="{{&quot;type&quot;:&quot;x&quot;,&quot;attrs&quot;:{{&quot;a&quot;:{}}}}}"></span> b\n',
    'a <span data-tt="{{&quot;type&quot;:&quot;x&quot;,&quot;attrs&quot;:{{&quot;a&quot;:{}}}}}">b</span>\n',
    '```tiptap-node\n{{"type":"x","attrs":{{"a":{}}}}}\n```\n',
]


@pytest.mark.parametrize("text", DEEP, ids=["comment", "node", "mark", "fence"])
@pytest.mark.parametrize("depth", [200, 300, 1020, 3000])
def test_json_in_a_text_may_be_nested_without_end(text: str, depth: int) -> None:
    odd = text.format("[" * depth + "]" * depth)
    within = "> " * 60 + odd.replace("\n", "\n" + "> " * 60) + "\n"

    first, second = json_of(odd, None), json_of(within, None)

    assert (b'"a":[[' in first) == (depth == 200)
    assert json_of(odd, first.decode()) == first
    assert json.loads(second)["content"][0]["type"] == "blockquote"


def test_a_prior_that_is_no_document_counts_for_nothing() -> None:
    for prior in ("null", "1", "[]", "{}", '{"type": "doc", "content": [1]}'):
        assert json_of("a\n", prior) == json_of("a\n", None)
