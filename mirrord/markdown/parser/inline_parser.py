"""Parse the inside of paragraphs, from one significant character to the next."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from mirrord.markdown.parser.parser_state import InlineState
from mirrord.markdown.parser.work_limit import OPAQUE, PARSER_ERRORS, TooManyStepsError, group_rules_by_character

InlineRule = Callable[[StateInline, bool], bool]

_STEPS_PER_CHARACTER = 4
_FREE_STEPS = 100  # added to every text's budget, so that short texts never reach the limit


class CountedInlineParser(ParserInline):
    """
    The parser *plain* with its rules, each tried only at one of its characters, and counted.

    markup: matches at least where a rule can begin, and where the text of a link and a highlight end.
    deepest: the level from which on no markup is parsed.
    """

    def __init__(
        self, plain: ParserInline, first: Mapping[InlineRule, str], markup: re.Pattern[str], deepest: int
    ) -> None:
        super().__init__()
        self._deepest = deepest
        self.ruler, self.ruler2, self.terminator_re = plain.ruler, plain.ruler2, markup
        rules = [rule for rule in plain.ruler.getRules("") if rule in first]
        self._rules, _ = group_rules_by_character(rules, first)

    def parse(self, src: str, md: MarkdownIt, env: Any, tokens: list[Token]) -> list[Token]:
        state = InlineState(src, md, env, tokens)
        self.tokenize(state)
        if state.delimiters or any(meta and meta["delimiters"] for meta in state.tokens_meta):
            for rule in self.ruler2.getRules(""):
                rule(state)
        return tokens

    def tokenize(self, state: StateInline) -> None:
        src, end, search = state.src, state.posMax, self.terminator_re.search
        if state.level >= self._deepest:
            super().tokenize(state)
            return
        while (start := state.pos) < end:
            match = search(src, start)
            at = match.start() if match else end
            if at >= end:
                state.append_pending(src[start:end])
                break
            if at > start:
                state.append_pending(src[start:at])
                state.pos = at
            for rule in self._rules.get(src[at], ()):
                if rule(state, False):
                    if state.pos <= at:
                        raise RuntimeError("a rule matched without consuming any text")
                    break
            else:
                state.append_pending(src[at])
                state.pos = at + 1
        if state.pending:
            state.pushPending()

    def skipToken(self, state: StateInline) -> None:  # noqa: N802
        env, start = state.env, state.pos
        env["steps"] -= 1
        if env["steps"] < 0:
            raise TooManyStepsError
        if start in state.cache or state.level >= self._deepest:
            super().skipToken(state)
            return
        match = self.terminator_re.search(state.src, start)
        at = match.start() if match else state.posMax
        if at > start:
            state.pos = at
        elif not self._skip_markup(state):
            state.pos += 1
        state.cache[start] = state.pos

    def _skip_markup(self, state: StateInline) -> bool:
        state.level += 1
        is_skipped = any(rule(state, True) for rule in self._rules.get(state.src[state.pos], ()))
        state.level -= 1
        return is_skipped


def parse_texts(state: StateCore) -> None:
    """
    The core rule for inline content; text on which it fails, or which is nested too deep, is marked opaque.

    Text without markup gets no children.
    """
    parser, markup, deepest = state.md.inline, state.md.inline.terminator_re, state.md.options["maxNesting"] - 1
    for token in state.tokens:
        if token.type != "inline":
            continue
        if not markup.search(token.content):
            continue
        state.env["steps"] = _FREE_STEPS + _STEPS_PER_CHARACTER * len(token.content)
        children: list[Token] = []
        try:
            parser.parse(token.content, state.md, state.env, children)
        except PARSER_ERRORS:
            token.meta[OPAQUE] = state.env[OPAQUE] = True
            children = []
        if len(children) > deepest and any(child.level >= deepest for child in children):  # a level takes a token
            token.meta[OPAQUE] = state.env[OPAQUE] = True
        token.children = children
