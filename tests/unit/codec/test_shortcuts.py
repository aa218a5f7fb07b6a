"""What is read quickly is read as the parser's own rules read it."""

import random
from collections.abc import MutableMapping
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it.token import Token

from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.parser.dialect import make_plain_parser, parse
from tests.support.laws import scale_examples
from tests.unit.codec.documents import fragments, markdown

_MARKDOWN = make_plain_parser()

_LINES = (
    "- a,- b c,* a,+ a,- [[p]],- [a](b),- `a`,- **b** c,- *i*,- _i_,- 1.a,- 20 x,- 1,- -,-,- - a,  - n,   - n,    - n"
    ",- [ ] t,- [x] t,- [a]: b,[a]: b,- ```,- # h,a,  a,    a,> - a,> - b,> ,> a,***,---,- ---,===,- _ _,- * x,1. - a"
    ",\t- a,- \ta,-\ta,- a\t,- a\u00a0,- a | b,|---|---|,- --|--,- $$,- <b>,# h,# h #,## a # b,####### x,#x,#\tx,# "
    ',  1. a,    1. b,      1. c,         - d,     # h,\x0b**_a_** b,~~"a"~~\x0b'
    ',- :x,- =x,- |x,- <!-- c -->,[^1]: - a,    - b,- \\*x,[a](b),![a](b) [c](d "e"),[x](<y>),[](a),[a*b*](c),[a]'
    ",[a](javascript:x),[a](mention:b),- a\x0b,`` ` ``,`a``b`,` a `,`  `,` a,`c\\`,[`a](b)`,==`a==`,a_b_ c__d __e"
    ",=a==b== c"
).split(",")
_soups = st.lists(st.one_of(st.sampled_from(["", *_LINES]), fragments), max_size=9).map("\n".join)


def _told(tokens: list[Token]) -> list[MutableMapping[str, Any]]:
    for token in tokens:
        if token.type == "inline" and token.content and not token.children:
            token.children = [Token("text", "", 0, content=token.content)]
    return [token.as_dict() for token in tokens]


def check(body: str) -> None:
    quick: dict[str, Any] = {}
    slow: dict[str, Any] = {}
    assert _told(parse(body, quick)) == _told(_MARKDOWN.parse(body, slow))
    assert quick.get("references") == slow.get("references")


@given(_soups, st.sampled_from(["", "\n", "\n\n"]))
@settings(max_examples=scale_examples(200))
@example("- a\n- b\n\n\n- c\n", "")
@example("- a\n- b\n\n    c\n", "")
@example("> - a\n> - b\nc\n", "")
@example("- b\n> - a\n> ", "")
@example("a__b__ c_ d._e_", "")
def test_lines_are_read_as_the_parser_reads_them(body: str, end: str) -> None:
    check(body + end)


@given(markdown)
@settings(max_examples=scale_examples(200))
def test_anything_is_read_as_the_parser_reads_it(body: str) -> None:
    check(body)


def test_real_pages_are_read_as_the_parser_reads_them(pages: list[str]) -> None:
    for page in pages:
        check(PageText(page).body)


def test_examples_and_own_pages_are_read_as_the_parser_reads_them(examples: list[str], own_pages: list[str]) -> None:
    for body in [*examples, *own_pages]:
        check(body)


@pytest.mark.parametrize("seed", range(3))
def test_lines_of_real_pages_in_any_order_are_read_as_the_parser_reads_them(pages: list[str], seed: int) -> None:
    chance = random.Random(seed)
    lines = [line for page in pages for line in page.split("\n")]
    for _ in range(60):
        check("\n".join(chance.choices(lines, k=12)))
