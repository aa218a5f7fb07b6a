"""
Fast paths of the parser: states that create tokens in one step, and block rules for the most common lines.

Everything else falls through to the ordinary rule.

With them and the loop of `work_limit`, 400 pages of two vaults were parsed 2.4 times as fast as by the parser's own
rules, at 5.0 instead of 2.1 MB/s of one idle core; 1.7 to 2.2 times on a busy machine. To measure it again:
`make bench-codec ARGS="--only speed"`, the row "pages parsed".
"""

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise
from operator import add
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.common.utils import mdTrim
from markdown_it.rules_block import StateBlock, hr, lheading
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from mirrord.markdown.parser.lazy_lines import is_lazy_line

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


_ITEM = re.compile(r"[*+-][ \t]+[^\s*_|:=-]")  # neither a rule nor the underline of a heading or a table header
_HEADING = re.compile(r"(#{1,6})[ \t]([^#]*)")
_MAX_LINES_AHEAD = 16
_UNDERLINE = re.compile(r"[=-][ \t]*$", re.MULTILINE)


def one_line_paragraph(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A paragraph of one line, by far the most common block. Only for lines that begin no other block."""
    if silent or state.is_code_block(start) or not _is_end_of_paragraph(state, start + 1):
        return False
    text = mdTrim(state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]])
    _push_text_block(state, "paragraph", "p", text, start)
    return True


def one_line_any_start(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The same for lines whose first character could have begun another block."""
    return one_line_paragraph(state, start, end, silent)


def _is_end_of_paragraph(state: StateBlock, after: int) -> bool:
    """Whether a paragraph surely ends before line *after*: there is none, it is blank, or it begins an item."""
    if after >= state.lineMax or state.isEmpty(after):
        return True
    indent = state.sCount[after]
    if indent < 0 or indent - state.blkIndent > 3:
        return False
    if 0 <= state.listIndent <= indent - 4 and indent < state.blkIndent:
        return False
    if is_lazy_line(state, after):
        return False
    return bool(_ITEM.match(state.src, state.bMarks[after] + state.tShift[after], state.eMarks[after]))


def plain_heading(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A heading without a `#` in or after its text."""
    match = _HEADING.fullmatch(state.src, state.bMarks[start] + state.tShift[start], state.eMarks[start])
    if not match or state.is_code_block(start):
        return False
    if not silent:
        _push_text_block(state, "heading", f"h{len(match[1])}", mdTrim(match[2]), start, match[1])
    return True


def _push_text_block(state: StateBlock, name: str, tag: str, text: str, start: int, markup: str = "") -> None:
    """The three tokens of a block of one line."""
    state.line = start + 1
    opening = make_token(f"{name}_open", tag, 1, state.level, block=True)
    inline = make_token("inline", "", 0, state.level + 1, block=True)
    closing = make_token(f"{name}_close", tag, -1, state.level, block=True)
    opening.map, inline.map = [start, start + 1], [start, start + 1]
    opening.markup = closing.markup = markup
    inline.content, inline.children = text, []
    state.tokens += (opening, inline, closing)


def horizontal_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A horizontal rule; most lines with its first character are rejected quickly."""
    line = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    return not line.strip("*-_ \t") and hr(state, start, end, silent)


def setext_heading(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """An underlined heading, tried only if one of the next lines could be its underline."""
    for line in range(start + 1, min(start + _MAX_LINES_AHEAD, end)):
        at = state.bMarks[line] + state.tShift[line]
        if at >= state.eMarks[line]:
            return False
        if not state.src[at : state.eMarks[line]].strip("=- \t"):
            break
    else:
        if start + _MAX_LINES_AHEAD >= end:
            return False
    return has_match_after(state, start, _UNDERLINE) and lheading(state, start, end, silent)


def has_match_after(state: StateBlock, start: int, shape: re.Pattern[str]) -> bool:
    """Whether a match of *shape* ends after the beginning of line *start*; searched for once per page."""
    last = state.env.get(shape.pattern)
    if last is None:
        last = state.env[shape.pattern] = max((match.end() for match in shape.finditer(state.src)), default=0)
    return bool(last > state.bMarks[start])


# also texts that only look like the start of another block, such as `[[page]]` and `**bold**`
_PLAIN_ITEM = re.compile(r"[*+-] (?:[^\s\d`~$%>*_+\[<#|:=-]|`(?!``)|\[\[|[*_]+[^\s*_-]|\d+[^\d.)])")
_LIST_LEVELS = 4  # levels that a list and its content take up


def plain_list(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Consecutive bullets with the same sign and indent, followed by a blank line or the end."""
    indent, sign = state.sCount[start], state.src[state.bMarks[start] + state.tShift[start]]
    is_ours = not silent and state.blkIndent <= indent < state.blkIndent + 4 and end == state.lineMax
    if not is_ours or state.level + _LIST_LEVELS > state.md.options["maxNesting"]:
        return False
    last = start
    while last < end and state.sCount[last] == indent and _is_item(state, last, sign):
        last += 1
    behind = state.skipEmptyLines(last)
    if last == start or (last < end and (behind == last or _may_go_on(state, behind, indent, sign))):
        return False
    _push_list(state, sign, [*range(start, last), behind])
    state.line = behind
    return True


def _is_item(state: StateBlock, line: int, sign: str) -> bool:
    at = state.bMarks[line] + state.tShift[line]
    return state.src.startswith(sign, at) and _PLAIN_ITEM.match(state.src, at, state.eMarks[line]) is not None


def _may_go_on(state: StateBlock, line: int, indent: int, sign: str) -> bool:
    """Whether *line*, which follows a blank one, may belong to the list."""
    if line >= state.lineMax:
        return False
    return state.sCount[line] > indent or state.src.startswith(sign, state.bMarks[line] + state.tShift[line])


def _push_list(state: StateBlock, sign: str, lines: Sequence[int]) -> None:
    """Push the tokens of a list. lines: the first line of each item, and the end of the last one."""
    level = state.level
    opening = make_token("bullet_list_open", "ul", 1, level, block=True)
    closing = make_token("bullet_list_close", "ul", -1, level, block=True)
    opening.map, opening.markup, closing.markup = [lines[0], lines[-1]], sign, sign
    state.tokens.append(opening)
    for line, behind in pairwise(lines):
        item = make_token("list_item_open", "li", 1, level + 1, block=True)
        paragraph = make_token("paragraph_open", "p", 1, level + 2, block=True)
        text = make_token("inline", "", 0, level + 3, block=True)
        paragraph_end = make_token("paragraph_close", "p", -1, level + 2, block=True)
        item_end = make_token("list_item_close", "li", -1, level + 1, block=True)
        item.map, paragraph.map, text.map = [line, behind], [line, line + 1], [line, line + 1]
        item.markup = item_end.markup = sign
        paragraph.hidden = paragraph_end.hidden = True
        text.content = mdTrim(state.src[state.bMarks[line] + state.tShift[line] + 2 : state.eMarks[line]])
        text.children = []
        state.tokens += (item, paragraph, text, paragraph_end, item_end)
    state.tokens.append(closing)
