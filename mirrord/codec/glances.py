"""Rules of the parser behind a glance at the line that mostly tells what they would find out at length."""

import re

from markdown_it.common.utils import mdTrim
from markdown_it.rules_block import StateBlock, hr, lheading

from mirrord.codec.states import made

_ITEM = re.compile(r"[*+-][ \t]+[^\s*_|:=-]")  # and neither a rule, nor what underlines a heading or a table's
_HEADING = re.compile(r"(#{1,6})[ \t]([^#]*)")
_NEAR = 16  # lines
_UNDERLINE = re.compile(r"[=-][ \t]*$", re.MULTILINE)


def one_line(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A paragraph of one line, by far the commonest block. Only for lines that nothing else begins."""
    if silent or state.is_code_block(start) or not _ends(state, start + 1):
        return False
    text = mdTrim(state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]])
    _push_text(state, "paragraph", "p", text, start)
    return True


def unlike_its_sign(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The same for lines whose first character could have begun something else."""
    return one_line(state, start, end, silent)


def _ends(state: StateBlock, after: int) -> bool:
    """Whether a paragraph certainly has no more lines: the one *after* it is none, is empty, or begins an item."""
    if after >= state.lineMax or state.isEmpty(after):
        return True
    indent = state.sCount[after]
    if indent < 0 or indent - state.blkIndent > 3:
        return False
    if 0 <= state.listIndent <= indent - 4 and indent < state.blkIndent:
        return False
    return bool(_ITEM.match(state.src, state.bMarks[after] + state.tShift[after], state.eMarks[after]))


def plain_heading(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A heading without a `#` in or behind its text."""
    found = _HEADING.fullmatch(state.src, state.bMarks[start] + state.tShift[start], state.eMarks[start])
    if not found or state.is_code_block(start):
        return False
    if not silent:
        _push_text(state, "heading", f"h{len(found[1])}", mdTrim(found[2]), start, found[1])
    return True


def _push_text(state: StateBlock, name: str, tag: str, text: str, start: int, markup: str = "") -> None:
    """The three tokens of a block of one line."""
    state.line = start + 1
    opening = made(f"{name}_open", tag, 1, state.level, block=True)
    inline = made("inline", "", 0, state.level + 1, block=True)
    closing = made(f"{name}_close", tag, -1, state.level, block=True)
    opening.map, inline.map = [start, start + 1], [start, start + 1]
    opening.markup = closing.markup = markup
    inline.content, inline.children = text, []
    state.tokens += (opening, inline, closing)


def ruled(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A horizontal rule, which most lines that begin with its characters are not."""
    line = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    return not line.strip("*-_ \t") and hr(state, start, end, silent)


def setext(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """An underlined heading, looked for only where a line that could underline it is near."""
    for line in range(start + 1, min(start + _NEAR, end)):
        at = state.bMarks[line] + state.tShift[line]
        if at >= state.eMarks[line]:
            return False
        if not state.src[at : state.eMarks[line]].strip("=- \t"):
            break
    else:
        if start + _NEAR >= end:
            return False
    return is_above(state, start, _UNDERLINE) and lheading(state, start, end, silent)


def is_above(state: StateBlock, start: int, shape: re.Pattern[str]) -> bool:
    """Whether anything of a *shape* ends behind the beginning of the line *start*: looked for once in a page."""
    last = state.env.get(shape.pattern)
    if last is None:
        last = state.env[shape.pattern] = max((found.end() for found in shape.finditer(state.src)), default=0)
    return bool(last > state.bMarks[start])
