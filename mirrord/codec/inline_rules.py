"""The dialect's own rules for what is inside paragraphs."""

import re
from dataclasses import dataclass

from markdown_it.helpers import parseLinkDestination
from markdown_it.rules_inline import StateInline
from mdit_py_plugins.dollarmath.index import math_inline_dollar

WIKILINK = re.compile(r"(!?)\[\[([^\[\]|#\n]*)(?:#([^\[\]|\n]*))?(?:\|([^\[\]\n]*))?\]\]")
_PLAIN_TARGET = re.compile(r"[^\s\x00-\x1f\x7f()\\<&][^\s\x00-\x1f\x7f()\\&]*(?=[) \n])")
_PLAIN_LINK = re.compile(r"\[([^\n!$%&*<=\[\]\\^_`~]*)\]\(([^\s\x00-\x1f\x7f()\\<&][^\s\x00-\x1f\x7f()\\&]*)\)")
_PLAIN_CODE = re.compile(r"`([^`\n]++)`(?!`)")
_COMMENT = re.compile(r"%%.+?%%", re.DOTALL)
_FOOTNOTE_REF = re.compile(r"\[\^([^\] \n]{1,999})\]")  # CommonMark's limit for labels
_FOOTNOTE = re.compile(r"\^\[(?:[^\[\]\\]|\\.|\[[^\[\]]*\])+\]", re.DOTALL)

_dollars = math_inline_dollar(allow_space=False, allow_digits=True, allow_double=True)


def math_inline(state: StateInline, silent: bool) -> bool:
    """`$x$`, but no money: no digit before or behind. (The plugin's own check wraps around to the last character.)"""
    start = state.pos
    if state.src[start] != "$" or (start and state.src[start - 1].isdigit()) or not _dollars(state, True):
        return False
    end, state.pos = state.pos, start
    if end > state.posMax or state.src[end : end + 1].isdigit():
        return False
    return _dollars(state, silent)


@dataclass(slots=True)
class Destination:
    """What the parser wants to know of a link's target, under the names it asks by."""

    ok: bool
    pos: int
    str: str


def link_destination(string: str, position: int, maximum: int) -> Destination:
    """The target of a link at *position*; nearly all are plain, and found at once."""
    found = _PLAIN_TARGET.match(string, position, maximum)
    if found:
        return Destination(True, found.end(), found.group())
    slow = parseLinkDestination(string, position, maximum)
    return Destination(slow.ok, slow.pos, slow.str)


def plain_link(state: StateInline, silent: bool) -> bool:
    """`[text](target)` without markup in either, as most links are; all others are left to the parser's own rule."""
    found = _PLAIN_LINK.match(state.src, state.pos, state.posMax)
    if not found or not state.md.validateLink(found[2]):
        return False
    if not silent:
        state.push("link_open", "a", 1).attrs = {"href": state.md.normalizeLink(found[2])}
        state.pending = found[1]
        state.push("link_close", "a", -1)
    state.pos = found.end()
    return True


def plain_code(state: StateInline, silent: bool) -> bool:
    """Code of one line between single backticks."""
    found = _PLAIN_CODE.match(state.src, state.pos, state.posMax)
    if not found:
        return False
    if not silent:
        text, token = found[1], state.push("code_inline", "code", 0)
        is_padded = text[0] == text[-1] == " " and text.strip(" ") != ""
        token.markup, token.content = "`", text[1:-1] if is_padded else text
    state.pos = found.end()
    return True


def wikilink(state: StateInline, silent: bool) -> bool:
    """`[[target#heading|alias]]` and, with `!`, an embed."""
    found = WIKILINK.match(state.src, state.pos, state.posMax) if state.src[state.pos] in "![" else None
    if not found or not (found[2] or found[3]):
        return False
    if not silent:
        token = state.push("embed" if found[1] else "wikilink", "", 0)
        token.meta = {"target": found[2], "heading": found[3], "alias": found[4]}
    state.pos = found.end()
    return True


def comment(state: StateInline, silent: bool) -> bool:
    """`%%text%%`."""
    return state.src[state.pos] == "%" and _raw(state, _COMMENT, silent)


def footnote_ref(state: StateInline, silent: bool) -> bool:
    """`[^label]`, defined or not. (The plugin's own looks to the end for each bracket.)"""
    found = _FOOTNOTE_REF.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "[" else None
    if not found:
        return False
    if not silent:
        state.push("footnote_ref", "", 0).meta = {"label": found[1]}
    state.pos = found.end()
    return True


def inline_footnote(state: StateInline, silent: bool) -> bool:
    """`^[text]`."""
    return state.src[state.pos] == "^" and _raw(state, _FOOTNOTE, silent)


def _raw(state: StateInline, shape: re.Pattern[str], silent: bool) -> bool:
    found = shape.match(state.src, state.pos, state.posMax)
    if not found:
        return False
    if not silent:
        state.push("raw_inline", "", 0).content = found.group()
    state.pos = found.end()
    return True


def highlight(state: StateInline, silent: bool) -> bool:
    """`==text==`; like link text, it is parsed by itself."""
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
    """Where the closing `==` stands, outside of code and links; -1 if nowhere."""
    start, memory = state.pos, -1 - state.posMax
    if memory in state.cache:  # the search for an earlier one came to the end: else this would be quadratic
        return -1
    state.pos = start + 2
    while state.pos < state.posMax - 1:
        here = state.pos
        if state.src.startswith("==", here) and here > start + 2 and not state.src[here - 1].isspace():
            state.pos = start
            return here
        state.md.inline.skipToken(state)
    state.pos = start
    state.cache[memory] = start
    return -1
