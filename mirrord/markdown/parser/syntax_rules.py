"""The dialect's own parser rules for blocks and for text inside paragraphs."""

import re
from dataclasses import dataclass

from markdown_it.helpers import parseLinkDestination
from markdown_it.rules_block import StateBlock, list_block, reference
from markdown_it.rules_inline import StateInline
from mdit_py_plugins.dollarmath.index import math_block_dollar

from mirrord.markdown.parser.fast_paths import has_match_after

_COLON = re.compile(r"\]:")


def definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A reference definition; it leaves a token with its source, as other blocks do."""
    if not has_match_after(state, start, _COLON) or not reference(state, start, end, silent):
        return False
    if not silent:
        _push_source(state, "definition", start)
    return True


def list_at_any_indent(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A list where no indent makes code: an item may begin by four or more to the right of its list."""
    outer_indent, state.listIndent = state.listIndent, -1
    try:
        return list_block(state, start, end, silent)
    finally:
        state.listIndent = outer_indent


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


_dollar_block_rule = math_block_dollar(allow_labels=False, allow_blank_lines=False)


def math_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """
    Display math: lines that are one pair of `$$` and nothing else, as in `$$x$$` but not in `$$x$$ and $$y$$`.

    The plugin would take the latter for one formula, and would keep the indent of a list item.
    """
    line, count = state.line, len(state.tokens)
    if silent or not _dollar_block_rule(state, start, end, silent):
        return False
    latex = state.getLines(start, state.line, state.blkIndent, False).strip()[2:-2]
    if "$$" in latex:
        state.line = line
        del state.tokens[count:]
        return False
    state.tokens[-1].content = latex
    return True


def _push_source(state: StateBlock, name: str, start: int) -> None:
    token = state.push(name, "", 0)
    token.map = [start, state.line]
    token.content = state.getLines(start, state.line, state.blkIndent, False)


def _line_text(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip(" \t")


WIKILINK = re.compile(r"(!?)\[\[([^\[\]|#\n]*)(?:#([^\[\]|\n]*))?(?:\|([^\[\]\n]*))?\]\]")
_PLAIN_TARGET = re.compile(r"[^\s\x00-\x1f\x7f()\\<&][^\s\x00-\x1f\x7f()\\&]*(?=[) \n])")
_PLAIN_LINK = re.compile(r"\[([^\n!$%&*<=\[\]\\^_`~]*)\]\(([^\s\x00-\x1f\x7f()\\<&][^\s\x00-\x1f\x7f()\\&]*)\)")
_PLAIN_CODE = re.compile(r"`([^`\n]++)`(?!`)")
_COMMENT = re.compile(r"%%.+?%%", re.DOTALL)
_FOOTNOTE_REF = re.compile(r"\[\^([^\] \n]{1,999})\]")  # CommonMark's limit for labels
_FOOTNOTE = re.compile(r"\^\[(?:[^\[\]\\]|\\.|\[[^\[\]]*\])+\]", re.DOTALL)

_FORMULA = re.compile(r"(?<!\d)\$(?![\s$])((?:[^$`\\]|\\[^`])++)(?<!\s)\$(?![0-9A-Za-z])")
_DISPLAY = re.compile(r"(?<!\d)\$\$((?:[^$`\\]|\\[^`]|\$(?!\$))++)\$\$(?![0-9A-Za-z])")


def math_inline(state: StateInline, silent: bool) -> bool:
    """
    `$x$` and `$$x$$`, but neither money nor names of variables.

    No digit is before a formula, neither a letter nor a digit behind it, as on GitHub. Code and links come first: a
    formula holds no backtick and no `](`.
    """
    start = state.pos
    if state.src[start] != "$":
        return False
    is_display = state.src.startswith("$$", start)
    match = (_DISPLAY if is_display else _FORMULA).match(state.src, start, state.posMax)
    if not match or "](" in match[1] or not match[1].strip():
        return False
    if not silent:
        token = state.push("math_inline_double" if is_display else "math_inline", "math", 0)
        token.content, token.markup = match[1], "$$" if is_display else "$"
    state.pos = match.end()
    return True


@dataclass(slots=True)
class Destination:
    """The target of a link, with the attribute names that the parser uses."""

    ok: bool
    pos: int
    str: str


def link_destination(string: str, position: int, maximum: int) -> Destination:
    """The target of a link at *position*; most are plain and need no full parse."""
    match = _PLAIN_TARGET.match(string, position, maximum)
    if match:
        return Destination(True, match.end(), match.group())
    parsed = parseLinkDestination(string, position, maximum)
    return Destination(parsed.ok, parsed.pos, parsed.str)


def plain_link(state: StateInline, silent: bool) -> bool:
    """`[text](target)` without markup in either, as in most links; the parser's own rule handles all others."""
    match = _PLAIN_LINK.match(state.src, state.pos, state.posMax)
    if not match or not state.md.validateLink(match[2]):
        return False
    if not silent:
        state.push("link_open", "a", 1).attrs = {"href": state.md.normalizeLink(match[2])}
        state.pending = match[1]
        state.push("link_close", "a", -1)
    state.pos = match.end()
    return True


def plain_code(state: StateInline, silent: bool) -> bool:
    """Code of one line between single backticks."""
    match = _PLAIN_CODE.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        text, token = match[1], state.push("code_inline", "code", 0)
        is_padded = text[0] == text[-1] == " " and text.strip(" ") != ""
        token.markup, token.content = "`", text[1:-1] if is_padded else text
    state.pos = match.end()
    return True


def wikilink(state: StateInline, silent: bool) -> bool:
    """`[[target#heading|alias]]` and, with `!`, an embed."""
    match = WIKILINK.match(state.src, state.pos, state.posMax) if state.src[state.pos] in "![" else None
    if not match or not (match[2] or match[3]):
        return False
    if not silent:
        token = state.push("embed" if match[1] else "wikilink", "", 0)
        token.meta = {"target": match[2], "heading": match[3], "alias": match[4]}
    state.pos = match.end()
    return True


def comment(state: StateInline, silent: bool) -> bool:
    """`%%text%%`."""
    return state.src[state.pos] == "%" and _push_raw(state, _COMMENT, silent)


def footnote_ref(state: StateInline, silent: bool) -> bool:
    """`[^label]`, defined or not; the plugin's rule scans to the end for each bracket."""
    match = _FOOTNOTE_REF.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "[" else None
    if not match:
        return False
    if not silent:
        state.push("footnote_ref", "", 0).meta = {"label": match[1]}
    state.pos = match.end()
    return True


def inline_footnote(state: StateInline, silent: bool) -> bool:
    """`^[text]`."""
    return state.src[state.pos] == "^" and _push_raw(state, _FOOTNOTE, silent)


def _push_raw(state: StateInline, shape: re.Pattern[str], silent: bool) -> bool:
    match = shape.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        state.push("raw_inline", "", 0).content = match.group()
    state.pos = match.end()
    return True


def highlight(state: StateInline, silent: bool) -> bool:
    """`==text==`; the text is parsed by itself, like that of a link."""
    start, end = state.pos, state.posMax
    if silent or not state.src.startswith("==", start, end):
        return False
    first = state.src[start + 2 : min(start + 3, end)]
    if first in ("", "=") or first.isspace():
        return False
    close = _highlight_end(state)
    if close < 0:
        return False
    state.push("highlight_open", "mark", 1)
    state.pos, state.posMax = start + 2, close
    state.md.inline.tokenize(state)
    state.push("highlight_close", "mark", -1)
    state.pos, state.posMax = close + 2, end
    return True


def _highlight_end(state: StateInline) -> int:
    """The position of the closing `==` outside of code and links; -1 if there is none."""
    start, cache_key = state.pos, -1 - state.posMax
    if cache_key in state.cache:  # an earlier search reached the end; repeating it would take quadratic time
        return -1
    state.pos = start + 2
    while state.pos < state.posMax - 1:
        position = state.pos
        if state.src.startswith("==", position) and position > start + 2 and not state.src[position - 1].isspace():
            state.pos = start
            return position
        state.md.inline.skipToken(state)
    state.pos = start
    state.cache[cache_key] = start
    return -1
