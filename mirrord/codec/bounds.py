"""The parser, bounded: work is counted, and where it grows out of proportion the rest stays opaque.

Markdown has inputs that cost any parser with backtracking the square of their length. Counting steps
instead of seconds gives the same answer on every machine.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock
from markdown_it.ruler import Ruler
from markdown_it.rules_block import StateBlock, table
from markdown_it.token import Token

from mirrord.codec.states import BlockState

Rule = Callable[[StateBlock, int, int, bool], bool]
_R = TypeVar("_R")

TRIPS = (LookupError, ValueError, RuntimeError)  # a parser not ours: whatever it trips over stays raw
PLACES = "places"  # in `env`, where somebody asks for it: what every block is and its lines, [type, first, behind]
OPAQUE = "opaque"  # the type of a token that stands for unparsed lines; in `meta` and `env` where text is over a limit

_LOOKS_PER_LINE = 4
_LOOKS_PER_CELL = 6
_FREE_LOOKS = 30_000  # for a page


class TooCostly(RuntimeError):
    """What is parsed takes more steps than its length allows."""


class Chains(Ruler[Rule]):
    """
    Rules for blocks, asked only where a line begins with a character they look for, and counted.

    A rule that looks for none ("") is asked only where no other one looks for the character.
    """

    def __init__(self, plain: Ruler[Rule], first: Mapping[Rule, str]) -> None:
        super().__init__()
        self._plain, self._first = plain, first
        self._made: dict[str, list[Rule]] = {}

    def getRules(self, chainName: str = "") -> list[Rule]:  # noqa: N802, N803
        if chainName not in self._made:
            self._made[chainName] = [_chain(self._plain.getRules(chainName), self._first)]
        return self._made[chainName]

    def get_active_rules(self) -> list[str]:
        return self._plain.get_active_rules()


def _chain(rules: Sequence[Rule], first: Mapping[Rule, str]) -> Rule:
    chosen, others = by_character(rules, first)

    def ask(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        env = state.env
        at = state.bMarks[start] + state.tShift[start]
        looks = env["looks"] - 1
        if env["columns"]:
            missing = env["columns"] - state.src.count("|", at, state.eMarks[start])
            looks -= max(0, missing) * _LOOKS_PER_CELL
        env["looks"] = looks
        if looks < 0:
            raise TooCostly
        for rule in chosen.get(state.src[at : at + 1], others):  # noqa: SIM110 - the quicker form
            if rule(state, start, end, silent):
                return True
        return False

    return ask


def by_character(rules: Sequence[_R], first: Mapping[_R, str]) -> tuple[dict[str, tuple[_R, ...]], tuple[_R, ...]]:
    """The rules to ask at each character that any looks for, and those to ask elsewhere."""
    characters = {char for rule in rules for char in first.get(rule, "")}
    chosen = {char: tuple(rule for rule in rules if char in first.get(rule, char)) for char in characters}
    return chosen, tuple(rule for rule in rules if not first.get(rule))


def priced_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A table; cells that rows lack are paid for: a few bytes could ask for very many of them."""
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


class Blocks(ParserBlock):
    """Parses blocks; what is left when the work is out of proportion becomes one opaque token."""

    def parse(self, src: str, md: MarkdownIt, env: Any, outTokens: list[Token]) -> list[Token] | None:  # noqa: N803
        if not src:
            return None
        state = BlockState(src, md, env, outTokens)
        count = state.lineMax
        env["allowed"] = env["looks"] = _FREE_LOOKS + _LOOKS_PER_LINE * count + len(src) // 4
        env["columns"] = 0
        try:
            self.tokenize(state, 0, count)
        except TRIPS:
            _close(outTokens, count)
            env[OPAQUE] = True
        if PLACES in env:
            env[PLACES] += [(token.type, *token.map) for token in outTokens if token.map and _is_innermost(token)]
        return outTokens


def _is_innermost(token: Token) -> bool:
    return token.nesting == 0 or token.type == "table_open"


def _close(tokens: list[Token], count: int) -> None:
    """Everything behind the last block that is whole, as one opaque token."""
    depth = whole = 0
    for index, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            whole = index + 1
    del tokens[whole:]
    done = max((token.map[1] for token in tokens if token.map and token.level == 0), default=0)
    tokens.append(Token(OPAQUE, "", 0, map=[done, count]))
