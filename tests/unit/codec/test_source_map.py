"""Each character and atom of a paragraph is found in its source, whatever markup is around it."""

import pytest
from hypothesis import given, settings

from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.inline.inline_reader import read_inline
from mirrord.markdown.inline.source_map import SourceMap, map_source, units_of
from mirrord.markdown.parser.dialect import ALONE
from mirrord.markdown.parser.work_limit import PARSER_ERRORS
from mirrord.markdown.read.page_outline import Outline, outline_of
from mirrord.markdown.schema.normal_form import normalize
from tests.support.laws import scale_examples
from tests.unit.codec.documents import markdown

MARKED = {
    "a **b** c": [("a", 0), (" ", 1), ("b", 4), (" ", 7), ("c", 8)],
    "***ab***": [("a", 3), ("b", 4)],
    "__a _b_ c__": [("a", 2), (" ", 3), ("b", 5), (" ", 7), ("c", 8)],
    "~~a~~ ==b==": [("a", 2), (" ", 5), ("b", 8)],
    "[a *b*](c 'd')e": [("a", 1), (" ", 2), ("b", 4), ("e", 14)],
    "<u>a</u>b": [("a", 3), ("b", 8)],
    "`` a`b `` c": [("a", 3), ("`", 4), ("b", 5), (" ", 9), ("c", 10)],
    r"\*a &amp; b": [("*", 0), ("a", 2), (" ", 3), ("&", 4), (" ", 9), ("b", 10)],
    "a  \n  b": [("a", 0), ("", 1), ("b", 6)],
    "a \nb": [("a", 0), ("\n", 1), ("b", 3)],
    "a [[b]] c": [("a", 0), (" ", 1), ("", 2), (" ", 7), ("c", 8)],
    "<http://a.b>c": [*((char, place) for place, char in enumerate("http://a.b", 1)), ("c", 12)],
    "[@a](mention:b) c": [("", 0), (" ", 15), ("c", 16)],
}


def places(source: SourceMap) -> list[tuple[str, int]]:
    """Each character, or "" for an atom, with the position at which it begins."""
    return [(key if len(key) == 1 else "", start) for (key, _), start in zip(source.keys, source.starts, strict=True)]


@pytest.mark.parametrize("content", MARKED)
def test_a_character_is_where_it_is_written(content: str) -> None:
    assert places(map_source(content, ALONE)) == MARKED[content]


def contents(page: Outline) -> list[str]:
    tokens = [token for segment in page.segments for token in segment.tokens or ()]
    return [token.content for token in tokens if token.type == "inline" and token.content]


def check(body: str) -> None:
    page = outline_of(body)
    read = [
        normalize({"type": "paragraph", "content": read_inline(token)})
        for segment in page.segments
        for token in segment.tokens or ()
        if token.type == "inline" and token.content
    ]
    for content, node in zip(contents(page), read, strict=True):
        source = map_source(content, page.surroundings)
        starts = source.starts
        assert starts == sorted(starts)
        assert all(end <= len(content) for end in source.ends)
        letters = [
            (key, content[start:end]) for (key, _), start, end in zip(source.keys, starts, source.ends, strict=True)
        ]
        assert all(key == written for key, written in letters if len(key) == len(written) == 1 and key.isalnum())
        if "".join(content.split()) == content:  # blanks at edges mean nothing, and have no units in the normal form
            assert source.keys == units_of(node.get("content", [])).keys


def test_every_paragraph_of_the_specifications_is_mapped(examples: list[str]) -> None:
    unmapped = []
    for example in examples:
        try:
            check(example)
        except PARSER_ERRORS:
            unmapped.append(example)
    assert unmapped == []


def test_every_paragraph_of_own_pages_is_mapped(own_pages: list[str]) -> None:
    for page in own_pages:
        check(PageText(page).body)


@given(markdown)
@settings(max_examples=scale_examples(300))
def test_any_text_is_mapped(body: str) -> None:
    try:
        check(body)
    except PARSER_ERRORS:
        return
