"""The document as Postgres stores it: with the ids of the one before, and the same however it was made."""

import json

import orjson
import pytest
from hypothesis import given, settings

from mirrord.markdown.links.page_links import links_of
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Node
from mirrord.markdown.stored_form import derive_after_edit, derive_document, values_to_store
from mirrord.markdown.write.block_ids import document_of
from tests.unit.codec.documents import markdown, meaning

TEXT = "---\ntitle: x\n---\n# One\n\ntwo\n\n- three\n- four\n\nfive\n\nsix\n"


def blocks(document: bytes | str) -> list[Node]:
    found: list[Node] = orjson.loads(document)["content"]
    return found


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
@settings(max_examples=60)
def test_it_means_what_the_text_says_whatever_was_before(text: str, other: str) -> None:
    result = orjson.loads(json_of(text, json_of(other, None).decode()))
    assert meaning(result) == meaning(orjson.loads(orjson.dumps(read_document(text))))


@given(markdown)
@settings(max_examples=60)
def test_the_links_beside_it_are_those_of_the_text(text: str) -> None:
    assert values_to_store(text, None)[1] == links_of(text)


@given(markdown)
@settings(max_examples=60)
def test_made_of_the_one_before_it_is_the_same(middle: str) -> None:
    before = derive_document(TEXT, None)
    text = TEXT.replace("\n\nfive", f"\n\n{middle}five")

    again = derive_after_edit(before, text, as_stored(before.json))

    assert again is None or again.json == json_of(text, before.json.decode())


def test_made_of_the_one_before_it_takes_over_the_blocks_of_that() -> None:
    before = derive_document(TEXT, None)

    again = derive_after_edit(before, TEXT.replace("two", "2"), as_stored(before.json))

    assert again is not None
    kept = [new is old for new, old in zip(again.blocks, before.blocks, strict=True)]
    assert kept == [True, False, True, True, True]


def test_blocks_put_before_and_behind_those_known_are_blocks_of_the_one_before() -> None:
    before = derive_document(TEXT, None)
    written = orjson.loads(before.json)
    added = {"type": "paragraph", "attrs": {"id": "mine"}, "content": [{"type": "text", "text": "seven"}]}
    written["content"] = [added, *written["content"][1:], {**added, "attrs": {"id": "mine too"}}]

    again = derive_after_edit(before, TEXT.replace("# One", "seven") + "\nseven\n", json.dumps(written))

    assert again is not None
    assert blocks(again.json) == written["content"]


def test_made_of_the_one_before_it_knows_what_an_app_wrote_meanwhile() -> None:
    before = derive_document(TEXT, None)
    written = orjson.loads(before.json)
    written["content"][4]["attrs"] = {"id": "mine", "textAlign": "left"}

    again = derive_after_edit(before, TEXT.replace("two", "2"), json.dumps(written))

    assert again is not None
    assert blocks(again.json)[4] == written["content"][4]


@given(markdown)
@settings(max_examples=60)
def test_its_json_is_that_of_the_document(text: str) -> None:
    made = derive_document(text, None)
    assert made.json == orjson.dumps(document_of(made.blocks))


@pytest.mark.parametrize("depth", [120, 124, 125, 126, 127, 128, 140])
def test_what_is_too_deep_for_one_json_is_none_for_the_next(depth: int) -> None:
    attrs = '{"a":' * depth * 2 + "1" + "}" * depth * 2
    fence = f'```tiptap-node\n{{"type":"odd","attrs":{attrs}}}\n```\n\n'
    before = derive_document(fence + TEXT, None)
    prior, text = before.json.decode(), fence + TEXT.replace("two", "2")

    again = derive_after_edit(before, text, prior)

    assert again is None or again.json == json_of(text, prior)


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
