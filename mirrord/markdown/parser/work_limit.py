"""
Count the parser's work and leave text opaque where the work grows out of proportion.

Some Markdown inputs cost any backtracking parser the square of their length. Counting steps instead of
seconds gives the same result on every machine.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock
from markdown_it.ruler import Ruler
from markdown_it.rules_block import StateBlock, table
from markdown_it.token import Token

from mirrord.markdown.parser.parser_state import BlockState

Rule = Callable[[StateBlock, int, int, bool], bool]
_R = TypeVar("_R")

PARSER_ERRORS = (
    LookupError,
    ValueError,
    RuntimeError,
)  # errors of the third-party parser: the text in question stays raw
PLACES_KEY = "places"  # optional key of `env`: type and lines of every block, [type, first, behind]
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
