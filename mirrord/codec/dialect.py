"""The one Markdown dialect: CommonMark, GFM tables, strikethrough and tasks, footnotes, math, and Obsidian's own.

Reading, verifying and finding links all use the one parser made here: a difference would hide losses.
"""

import re
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, reference
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.dollarmath.index import math_block_dollar, math_inline_dollar
from mdit_py_plugins.footnote import footnote_plugin

from mirrord.codec.text import unix

MAX_NESTING = 100  # the parser drops deeper content without a word: a block that reaches this stays raw

_DISGUISE = re.compile(r"[\x00-\x20\x7f]")
_SCRIPT = re.compile(r"(?:javascript|vbscript|data(?!:image/(?:gif|png|jpeg|webp);)):", re.IGNORECASE)
WIKILINK = re.compile(r"(!?)\[\[([^\[\]|#\n]*)(?:#([^\[\]|\n]*))?(?:\|([^\[\]\n]*))?\]\]")
_COMMENT = re.compile(r"%%.+?%%", re.DOTALL)
_FOOTNOTE = re.compile(r"\^\[(?:[^\[\]\\]|\\.|\[[^\[\]]*\])+\]", re.DOTALL)
_CALLOUT = re.compile(r"\[!([^\[\]\n]+)\]([+-]?)(?:[ \t]+([^\n]*))?(?:\n|\Z)")


class _Markdown(MarkdownIt):
    """Keeps link targets as written: people's file names are not percent-encoded."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        return url

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802
        return link

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return not _SCRIPT.match(_DISGUISE.sub("", url))


def parse(body: str, env: dict[str, Any]) -> list[Token]:
    """The tokens of a page without its front matter; *env* receives `references`."""
    return _MARKDOWN.parse(body, env)


def parse_blocks(body: str) -> list[Token]:
    """The same without what is inside paragraphs, in a fraction of the time."""
    tokens: list[Token] = []
    _MARKDOWN.block.parse(unix(body).replace("\0", "\ufffd"), _MARKDOWN, {}, tokens)
    return tokens


def _definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A reference definition leaves a token with its source, as other blocks do."""
    if not reference(state, start, end, silent):
        return False
    if not silent:
        _push_source(state, "definition", start)
    return True


def _push_source(state: StateBlock, name: str, start: int) -> None:
    token = state.push(name, "", 0)
    token.map = [start, state.line]
    token.content = state.getLines(start, state.line, state.blkIndent, False)


def _comment_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """An Obsidian comment over several lines; blank lines belong to it."""
    opening = _line(state, start)
    if state.is_code_block(start) or not opening.startswith("%%") or "%%" in opening[2:]:
        return False
    for line in range(start + 1, end):
        text = _line(state, line)
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


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip(" \t")


_dollar_block = math_block_dollar(allow_labels=False, allow_blank_lines=False)


def _math_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Display math without the indent of the list item it stands in, which the plugin keeps."""
    if not _dollar_block(state, start, end, silent):
        return False
    if not silent:
        source = state.getLines(start, state.line, state.blkIndent, False)
        state.tokens[-1].content = source.strip()[2:-2]
    return True


_dollars = math_inline_dollar(allow_space=False, allow_digits=True, allow_double=True)


def _math_inline(state: StateInline, silent: bool) -> bool:
    """`$x$`, but no money: no digit before or behind. (The plugin's own check wraps around to the last character.)"""
    start = state.pos
    if state.src[start] != "$" or (start and state.src[start - 1].isdigit()) or not _dollars(state, True):
        return False
    end, state.pos = state.pos, start
    if end > state.posMax or state.src[end : end + 1].isdigit():
        return False
    return _dollars(state, silent)


def _callouts(state: StateCore) -> None:
    """A quote whose first line is `[!type]± title` becomes a callout before its text is parsed."""
    quotes: list[bool] = []
    for index, token in enumerate(state.tokens):
        if token.type == "blockquote_open":
            text = state.tokens[index + 2] if state.tokens[index + 1].type == "paragraph_open" else None
            found = _CALLOUT.match(text.content) if text else None
            quotes.append(bool(found))
            if text and found:
                token.type = "callout_open"
                token.meta = {"type": found[1], "fold": found[2], "title": (found[3] or "").strip()}
                text.content = text.content[found.end() :]
        elif token.type == "blockquote_close" and quotes.pop():
            token.type = "callout_close"


def _wikilink(state: StateInline, silent: bool) -> bool:
    found = WIKILINK.match(state.src, state.pos, state.posMax)
    if not found or not (found[2] or found[3]):
        return False
    if not silent:
        token = state.push("embed" if found[1] else "wikilink", "", 0)
        token.meta = {"target": found[2], "heading": found[3], "alias": found[4]}
    state.pos = found.end()
    return True


def _comment(state: StateInline, silent: bool) -> bool:
    found = _COMMENT.match(state.src, state.pos, state.posMax)
    return bool(found) and _raw(state, found.end(), silent)  # type: ignore[union-attr]


def _inline_footnote(state: StateInline, silent: bool) -> bool:
    found = _FOOTNOTE.match(state.src, state.pos, state.posMax)
    return bool(found) and _raw(state, found.end(), silent)  # type: ignore[union-attr]


def _raw(state: StateInline, end: int, silent: bool) -> bool:
    if not silent:
        state.push("raw_inline", "", 0).content = state.src[state.pos : end]
    state.pos = end
    return True


def _highlight(state: StateInline, silent: bool) -> bool:
    """`==text==`; like link text, it is parsed by itself."""
    start, end = state.pos, state.posMax
    first = state.src[start + 2 : min(start + 3, end)]
    if silent or not state.src.startswith("==", start, end) or first in ("", "=") or first.isspace():
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


def _made() -> MarkdownIt:
    markdown = _Markdown("commonmark", {"maxNesting": MAX_NESTING, "tasklists": True})
    markdown.use(footnote_plugin, inline=False, move_to_end=False, always_match_refs=True)
    markdown.enable(["table", "strikethrough"])
    markdown.disable("text_join")  # it would hide which characters were escaped
    block, inline = markdown.block.ruler, markdown.inline.ruler
    block.at("reference", _definition)
    block.before("fence", "math_block", _math_block)
    block.before("fence", "comment", _comment_block)
    markdown.core.ruler.after("block", "callouts", _callouts)
    inline.before("escape", "math_inline", _math_inline)
    inline.before("link", "wikilink", _wikilink)
    inline.before("link", "comment", _comment)
    inline.before("link", "highlight", _highlight)
    inline.after("image", "inline_footnote", _inline_footnote)
    return markdown


_MARKDOWN = _made()
