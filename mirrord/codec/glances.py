"""Rules of the parser behind a glance at the line that mostly tells what they would find out at length."""

import re

from markdown_it.common.utils import mdTrim
from markdown_it.rules_block import StateBlock, hr, lheading

_NEAR = 16  # lines
_UNDERLINE = re.compile(r"[=-][ \t]*$", re.MULTILINE)


def one_line(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A paragraph of one line without a line below it, the commonest block. Only for lines that nothing else begins."""
    after = start + 1
    if silent or state.is_code_block(start) or (after < state.lineMax and not state.isEmpty(after)):
        return False
    state.line = after
    state.push("paragraph_open", "p", 1).map = [start, after]
    text = state.push("inline", "", 0)
    text.content = mdTrim(state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]])
    text.map, text.children = [start, after], []
    state.push("paragraph_close", "p", -1)
    return True


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
