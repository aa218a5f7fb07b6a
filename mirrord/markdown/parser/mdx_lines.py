"""
Expressions and elements of MDX that go on over lines, blank ones too: `{/* … */}`, `<Cards items={[…]} />`.

Where one ends is found by its braces and quotes, as a pattern of bounded length cannot. A page that holds many which
end nowhere is searched for no more than a few times its length.
"""

import re

from markdown_it.rules_block import StateBlock

_LONGEST = 50_000  # characters of an expression or a tag
_SEARCHED = "mdx_searched"  # in `env` of the parser: the number of characters that were searched without an end
_TIMES_SEARCHED = 8  # of the length of a page, the most that is searched without an end
_BEGINNING = re.compile(r"\{|<[A-Z][\w.]*(?=[\s/>{])")
_IN_BRACES = re.compile(r"""/\*|[{}`"']""")
_IN_TAG = re.compile(r"""[{<>]|\n[ \t]*\n|"[^"]*"|'[^']*'""")
_QUOTED = {quote: re.compile(rf"(?:[^{quote}\\\n]|\\.)*+({quote})?") for quote in "\"'"}
_ENDS = {"/*": re.compile(r".*?\*/", re.DOTALL), "`": re.compile(r"(?:[^`\\]|\\.)*+`", re.DOTALL)}
_BEHIND_TAG = re.compile(r"(?:[^\n]*>)?[ \t]*(?:\n|\Z)")
_BEHIND_BRACES = re.compile(r"[ \t]*(?:\n|\Z)")


def end_line_of_mdx(state: StateBlock, start: int, end: int) -> int:
    """The line behind the expression or opening tag that line *start* begins with; *start*: there is none."""
    at = state.bMarks[start] + state.tShift[start]
    if state.blkIndent or state.level or not _BEGINNING.match(state.src, at):
        return start
    if state.env.get(_SEARCHED, 0) > _TIMES_SEARCHED * len(state.src):
        return start
    limit = min(at + _LONGEST, state.eMarks[end - 1])
    behind = _end_of_braces(state.src, at, limit) if state.src[at] == "{" else _end_of_tag(state.src, at, limit)
    tail = _BEHIND_BRACES if state.src[at] == "{" else _BEHIND_TAG
    if behind is None or not tail.match(state.src, behind):
        state.env[_SEARCHED] = state.env.get(_SEARCHED, 0) + (limit if behind is None else behind) - at
        return start
    line = start
    while state.eMarks[line] < behind:
        line += 1
    return line + 1


def _end_of_braces(text: str, start: int, limit: int) -> int | None:
    """The position behind the brace that closes the one at *start*; None: there is none before *limit*."""
    depth, at = 0, start
    unclosed: dict[str, int] = {}  # how far there is no end of a text with this quote
    while piece := _IN_BRACES.search(text, at, limit):
        at, sign = piece.end(), piece.group()
        if sign in "{}":
            depth += 1 if sign == "{" else -1
            if not depth:
                return at
        elif sign in _QUOTED:
            at = _behind_quoted(text, sign, at, limit, unclosed)
        else:
            closing = _ENDS[sign].match(text, at, limit)
            if closing is None:
                return None
            at = closing.end()
    return None


def _behind_quoted(text: str, quote: str, at: int, limit: int, unclosed: dict[str, int]) -> int:
    """
    The position behind the text that *quote* before *at* opens; *at*: it has no end on its line.

    unclosed: how far that is known of each quote, so that a line is searched once.
    """
    if at <= unclosed.get(quote, 0):
        return at
    quoted = _QUOTED[quote].match(text, at, limit)
    if quoted is not None and quoted[1]:
        return quoted.end()
    unclosed[quote] = quoted.end() if quoted is not None else at
    return at


def _end_of_tag(text: str, start: int, limit: int) -> int | None:
    """The position behind the opening tag at *start*; None: it does not end before a blank line or *limit*."""
    at = start + 1
    while piece := _IN_TAG.search(text, at, limit):
        at = piece.end()
        if piece.group() == ">":
            return at
        if piece.group() == "{":
            behind = _end_of_braces(text, piece.start(), limit)
            if behind is None:
                return None
            at = behind
        elif piece.group() == "<" or piece.group()[0] == "\n":
            return None
    return None
