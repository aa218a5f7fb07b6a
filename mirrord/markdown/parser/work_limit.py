"""
Count the parser's work and leave text opaque where the work grows out of proportion.

Some Markdown inputs cost any backtracking parser the square of their length. Counting steps instead of
seconds gives the same result on every machine. The inside of paragraphs is parsed from one significant character to
the next.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock
from markdown_it.parser_inline import ParserInline
from markdown_it.ruler import Ruler
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from mirrord.markdown.parser.fast_paths import BlockState, InlineState

Rule = Callable[[StateBlock, int, int, bool], bool]
_R = TypeVar("_R")

PARSER_ERRORS = (
    LookupError,
    ValueError,
    RuntimeError,
)  # errors of the third-party parser: the text in question stays raw
PLACES_KEY = "places"  # optional key of `env`: type and lines of every block, [type, first, behind]
TEXTS_KEY = "texts"  # optional key of `env`: tokens of texts that were parsed before with the same references
OPAQUE = "opaque"  # the type of a token for unparsed lines; a key of `meta` and `env` for text over a limit

_LOOKS_PER_LINE = 4
_LOOKS_PER_CELL = 6
_FREE_LOOKS = 30_000  # for a page


class TooManyStepsError(RuntimeError):
    """The text takes more steps to parse than its length allows."""


class CountedRules(Ruler[Rule]):
    """
    Block rules, tried only where a line begins with one of their characters, and counted.

    A rule without characters ("") is tried only if no other rule has the line's character.
    """

    def __init__(self, plain: Ruler[Rule], first: Mapping[Rule, str]) -> None:
        super().__init__()
        self._plain, self._first = plain, first
        self._chains_by_name: dict[str, list[Rule]] = {}

    def getRules(self, chainName: str = "") -> list[Rule]:  # noqa: N802, N803
        if chainName not in self._chains_by_name:
            self._chains_by_name[chainName] = [_chain_rules(self._plain.getRules(chainName), self._first)]
        return self._chains_by_name[chainName]

    def get_active_rules(self) -> list[str]:
        return self._plain.get_active_rules()


def _chain_rules(rules: Sequence[Rule], first: Mapping[Rule, str]) -> Rule:
    chosen, fallback_rules = group_rules_by_character(rules, first)

    def ask(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        env = state.env
        at = state.bMarks[start] + state.tShift[start]
        looks = env["looks"] - 1
        if env["columns"]:
            missing = env["columns"] - state.src.count("|", at, state.eMarks[start])
            looks -= max(0, missing) * _LOOKS_PER_CELL
        env["looks"] = looks
        if looks < 0:
            raise TooManyStepsError
        for rule in chosen.get(state.src[at : at + 1], fallback_rules):  # noqa: SIM110 - the quicker form
            if rule(state, start, end, silent):
                return True
        return False

    return ask


def group_rules_by_character(
    rules: Sequence[_R], first: Mapping[_R, str]
) -> tuple[dict[str, tuple[_R, ...]], tuple[_R, ...]]:
    """The rules to try at each character that any rule looks for, and the rules to try elsewhere."""
    characters = {char for rule in rules for char in first.get(rule, "")}
    chosen = {char: tuple(rule for rule in rules if char in first.get(rule, char)) for char in characters}
    return chosen, tuple(rule for rule in rules if not first.get(rule))


def counted_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A table; missing cells of rows are counted too: a few bytes could create very many of them."""
    if start + 2 > end:
        return False
    at = state.bMarks[start + 1] + state.tShift[start + 1]
    if state.src[at : at + 1] not in ("|", "-", ":") or state.src[at : state.eMarks[start + 1]].strip("|-: \t"):
        return False
    state.env["columns"] = state.src.count("|", at, state.eMarks[start + 1])
    try:
        return table(state, start, end, silent)
    finally:
        state.env["columns"] = 0


class CountedBlockParser(ParserBlock):
    """Parses blocks; the lines that remain when the budget is used up become one opaque token."""

    def parse(self, src: str, md: MarkdownIt, env: Any, outTokens: list[Token]) -> list[Token] | None:  # noqa: N803
        if not src:
            return None
        state = BlockState(src, md, env, outTokens)
        count = state.lineMax
        env["allowed"] = env["looks"] = _FREE_LOOKS + _LOOKS_PER_LINE * count + len(src) // 4
        env["columns"] = 0
        try:
            self.tokenize(state, 0, count)
        except PARSER_ERRORS:
            _close_with_opaque(outTokens, count)
            env[OPAQUE] = True
        if PLACES_KEY in env:
            env[PLACES_KEY] += [(token.type, *token.map) for token in outTokens if token.map and _is_innermost(token)]
        return outTokens


def _is_innermost(token: Token) -> bool:
    return token.nesting == 0 or token.type == "table_open"


def _close_with_opaque(tokens: list[Token], count: int) -> None:
    """Replace everything after the last complete block by one opaque token."""
    depth = complete_tokens = 0
    for index, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            complete_tokens = index + 1
    del tokens[complete_tokens:]
    parsed_lines = max((token.map[1] for token in tokens if token.map and token.level == 0), default=0)
    tokens.append(Token(OPAQUE, "", 0, map=[parsed_lines, count]))


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


def allowed_steps(text: str) -> int:
    """How many steps the parser may take for the inside of a paragraph."""
    return _FREE_STEPS + _STEPS_PER_CHARACTER * len(text)


def parse_texts(state: StateCore) -> None:
    """
    The core rule for inline content; text on which it fails, or which is nested too deep, is marked opaque.

    Text without markup gets no children.
    """
    parsed_texts: Mapping[str, list[Token]] = state.env.get(TEXTS_KEY) or {}
    parser, markup, deepest = state.md.inline, state.md.inline.terminator_re, state.md.options["maxNesting"] - 1
    for token in state.tokens:
        if token.type != "inline":
            continue
        if not markup.search(token.content):
            continue
        if token.content in parsed_texts:
            token.children = parsed_texts[token.content]
            continue
        state.env["steps"] = allowed_steps(token.content)
        children: list[Token] = []
        try:
            parser.parse(token.content, state.md, state.env, children)
        except PARSER_ERRORS:
            token.meta[OPAQUE] = state.env[OPAQUE] = True
            children = []
        if len(children) > deepest and any(child.level >= deepest for child in children):  # a level takes a token
            token.meta[OPAQUE] = state.env[OPAQUE] = True
        token.children = children
