"""Block rules that the dialect adds to the parser."""

import re

from markdown_it.rules_block import StateBlock, reference
from mdit_py_plugins.dollarmath.index import math_block_dollar

from mirrord.codec.glances import has_match_after

_COLON = re.compile(r"\]:")


def definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A reference definition; it leaves a token with its source, as other blocks do."""
    if not has_match_after(state, start, _COLON) or not reference(state, start, end, silent):
        return False
    if not silent:
        _push_source(state, "definition", start)
    return True


def comment_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """An Obsidian comment over several lines; blank lines belong to it."""
    opening = _line_text(state, start)
    if state.is_code_block(start) or not opening.startswith("%%") or "%%" in opening[2:]:
        return False
    for line in range(start + 1, end):
        text = _line_text(state, line)
        if text and state.sCount[line] < state.blkIndent:
            return False
        if "%%" in text:
            if text.index("%%") != len(text) - 2:
                return False
            if not silent:
                state.line = line + 1
                _push_source(state, "comment", start)
            return True
    return False


_dollar_rule = math_block_dollar(allow_labels=False, allow_blank_lines=False)


def math_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Display math without the indent of its list item, which the plugin would keep."""
    if not _dollar_rule(state, start, end, silent):
        return False
    if not silent:
        source = state.getLines(start, state.line, state.blkIndent, False)
        state.tokens[-1].content = source.strip()[2:-2]
    return True


def _push_source(state: StateBlock, name: str, start: int) -> None:
    token = state.push(name, "", 0)
    token.map = [start, state.line]
    token.content = state.getLines(start, state.line, state.blkIndent, False)


def _line_text(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip(" \t")
