"""Parse the inside of a paragraph, and note which characters of its source each token stands for."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from markdown_it.parser_inline import ParserInline
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from mirrord.markdown.parser.work_limit import CountedInlineParser, InlineRule

_SPANS_KEY = "spans"  # key of `env`: the span of each token by its id()
_WIDTHS: Mapping[str, int] = MappingProxyType({"link_open": 1, "highlight_open": 2})  # characters of markup


class Span(NamedTuple):
    """The characters of the source from start up to end."""

    start: int
    end: int


class SpannedInlineParser(CountedInlineParser):
    """
    The parser *plain* with rules that note the characters of their tokens.

    Texts beside each other are not joined, so that each of their characters keeps its place.
    """

    def __init__(
        self, plain: ParserInline, first: Mapping[InlineRule, str], markup: re.Pattern[str], deepest: int
    ) -> None:
        plain.ruler2.disable("fragments_join")
        super().__init__(plain, first, markup, deepest)
        self._rules = {char: tuple(map(_with_notes, rules)) for char, rules in self._rules.items()}


def spans_of(tokens: Sequence[Token], env: Mapping[str, dict[int, Span]], length: int) -> list[Span]:
    """The spans of *tokens*, which were parsed with *env* from a text of *length* characters."""
    spans = env.get(_SPANS_KEY, {})
    _note_spans(spans, tokens, 0, length)
    return [spans[id(token)] for token in tokens]


def _with_notes(rule: InlineRule) -> InlineRule:
    def parse_and_note(state: StateInline, silent: bool) -> bool:
        start, count = state.pos - len(state.pending), len(state.tokens)
        if not rule(state, silent):
            return False
        if not silent:
            _note_spans(state.env.setdefault(_SPANS_KEY, {}), state.tokens[count:], start, state.pos)
        return True

    return parse_and_note


def _note_spans(spans: dict[int, Span], tokens: Sequence[Token], start: int, end: int) -> None:
    """Note the spans of those *tokens* that have none; they stand for the text from *start* up to *end*, in order."""
    position = start
    for token in tokens:
        if id(token) not in spans:
            width = _WIDTHS.get(token.type, len(token.content)) if token is not tokens[-1] else end - position
            spans[id(token)] = Span(position, position + width)
        position = spans[id(token)].end
