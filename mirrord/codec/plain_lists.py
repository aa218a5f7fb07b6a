"""Parse lists of one-line items, by far the most common, in one step; the parser's own rule handles all others."""

import re
from collections.abc import Sequence
from itertools import pairwise

from markdown_it.common.utils import mdTrim
from markdown_it.rules_block import StateBlock

from mirrord.codec.states import make_token

# also texts that only look like the start of another block, such as `[[page]]` and `**bold**`
_ITEM = re.compile(r"[*+-] (?:[^\s\d`~$%>*_+\[<#|:=-]|`(?!``)|\[\[|[*_]+[^\s*_-]|\d+[^\d.)])")
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
    return state.src.startswith(sign, at) and _ITEM.match(state.src, at, state.eMarks[line]) is not None


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
