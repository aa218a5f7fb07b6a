"""Parser states that create tokens in one step."""

from itertools import accumulate
from operator import add
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

Nesting = Literal[-1, 0, 1]


class BlockState(StateBlock):
    """The state of block parsing; the starts and ends of all lines are computed at once."""

    def __init__(self, src: str, md: MarkdownIt, env: dict[str, Any], tokens: list[Token]) -> None:
        super().__init__("", md, env, tokens)
        self.src = src
        lines = src.split("\n")
        if not lines[-1].strip(" \t"):
            del lines[-1]
        shifts = [len(line) - len(line.lstrip(" \t")) for line in lines]
        *starts, _ = accumulate([len(line) + 1 for line in lines], initial=0)
        self.bMarks = [*starts, len(src)]
        self.eMarks = [*map(add, starts, map(len, lines)), len(src)]
        self.tShift = [*shifts, 0]
        self.sCount = [*map(_indent_columns, lines, shifts), 0] if "\t" in src else self.tShift.copy()
        self.bsCount = [0] * len(self.bMarks)
        self.lineMax = len(lines)

    def push(self, ttype: str, tag: str, nesting: Nesting) -> Token:
        if nesting < 0:
            self.level -= 1
        token = make_token(ttype, tag, nesting, self.level, block=True)
        if nesting > 0:
            self.level += 1
        self.tokens.append(token)
        return token


class InlineState(StateInline):
    """The state of parsing the content of a paragraph."""

    def pushPending(self) -> Token:  # noqa: N802
        token = make_token("text", "", 0, self.pendingLevel)
        token.content = self.pending
        self.tokens.append(token)
        self.pending = ""
        return token

    def push(self, ttype: str, tag: str, nesting: Nesting) -> Token:
        if self.pending:
            self.pushPending()
        if nesting < 0:
            self.level -= 1
            self.delimiters = self._prev_delimiters.pop()
        token, meta = make_token(ttype, tag, nesting, self.level), None
        if nesting > 0:
            self.level += 1
            self._prev_delimiters.append(self.delimiters)
            self.delimiters = []
            meta = {"delimiters": self.delimiters}
        self.pendingLevel = self.level
        self.tokens.append(token)
        self.tokens_meta.append(meta)
        return token


def make_token(ttype: str, tag: str, nesting: Nesting, level: int, *, block: bool = False) -> Token:
    """An empty token; its own constructor takes twice as long."""
    token = Token.__new__(Token)
    token.type, token.tag, token.nesting, token.level, token.block = ttype, tag, nesting, level, block
    token.attrs, token.meta = {}, {}
    token.map = token.children = None
    token.content = token.markup = token.info = ""
    token.hidden = False
    return token


def _indent_columns(line: str, shift: int) -> int:
    """The columns of the blanks at the start of *line*: a tab reaches to the next multiple of four."""
    return len(line[:shift].expandtabs(4)) if shift else 0
