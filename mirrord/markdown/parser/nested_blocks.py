"""Blocks built from other blocks' tokens: callouts, toggles, tasks, attributes."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

from markdown_it.common.utils import MD_TRIM_CHARS
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.schema.column_widths import read_widths
from mirrord.markdown.schema.document import read_comment

BARE_KEY = "bare"  # key in the `meta` of a task: no blank follows its box
WIDTHS_KEY = "widths"  # key in the `meta` of a table: the widths of its columns

_CALLOUT = re.compile(r"\[!([^\[\]\n]+)\]([+-]?)(?:[ \t]+([^\n]*))?(?:\n|\Z)")
_DETAILS = re.compile(r"<details( open)?>\n<summary>(.*)</summary>\n?")
_SHAPED_TOKENS = frozenset(["blockquote_open", "blockquote_close", "list_item_open"])
_BOXES = {"[ ]": False, "[x]": True}  # as they are rewritten
_TRIMMED = frozenset(MD_TRIM_CHARS) - frozenset(" \t\r\n")
_EDGES = f"[{re.escape(''.join(sorted(_TRIMMED)))}]"
_WIDE_BLANK = re.compile(_EDGES)
_LEADING = re.compile(rf"{_EDGES}(?:{_EDGES}|[ \t])*\Z")
_TRAILING = re.compile(rf"(?:{_EDGES}|[ \t])*{_EDGES}")


def shape_blocks(state: StateCore) -> None:
    """A core rule of the parser; it must run directly after the block rules."""
    tokens = state.tokens
    kinds = [token.type for token in tokens]
    if "html_block" in kinds:
        tokens = state.tokens = list(_with_attributes(list(_with_widths(_with_details(tokens)))))
        kinds = [token.type for token in tokens]
    quotes: list[Token | None] = []
    lines = state.src.split("\n") if _WIDE_BLANK.search(state.src) else ()
    for index in [index for index, kind in enumerate(kinds) if kind in _SHAPED_TOKENS or (lines and kind == "inline")]:
        token = tokens[index]
        if token.type == "blockquote_open":
            quotes.append(_shape_callout(tokens, index))
        elif token.type == "blockquote_close" and quotes.pop():
            token.type = "callout_close"
        elif token.type == "list_item_open":
            _shape_empty_task(tokens, index)
        elif token.type == "inline" and tokens[index - 1].type == "paragraph_open":
            token.content = _restore_trimmed(token, lines)


def _shape_callout(tokens: Sequence[Token], index: int) -> Token | None:
    """Turn a quote whose first line is `[!type]± title` into a callout."""
    text = tokens[index + 2] if tokens[index + 1].type == "paragraph_open" else None
    match = _CALLOUT.match(text.content) if text else None
    if not text or not match:
        return None
    token = tokens[index]
    token.type = "callout_open"
    token.meta |= {"type": match[1], "fold": match[2], "title": (match[3] or "").strip()}
    text.content = text.content[match.end() :]
    return token


def _shape_empty_task(tokens: Sequence[Token], index: int) -> None:
    """Accept a box without text as a task: editors remove the blank at the end of the line."""
    item = tokens[index]
    if "checked" in item.meta or tokens[index + 1].type != "paragraph_open":
        return
    text, after = tokens[index + 2], tokens[index + 4]
    if text.content in _BOXES and after.type != "paragraph_open":  # the text of a task is on the line of its box
        item.meta |= {"checked": _BOXES[text.content], BARE_KEY: True}
        text.content = ""


def _restore_trimmed(text: Token, lines: Sequence[str]) -> str:
    """A paragraph with the wide blanks at its edges, which the parser trims. lines: of the page."""
    first, last = text.map or (0, 0)
    written_lines = lines[first:last]
    if not text.content:
        return "".join(char for char in "".join(written_lines) if char in _TRIMMED)
    before, _, _ = written_lines[0].partition(text.content.partition("\n")[0])
    _, _, after = written_lines[-1].rpartition(text.content.rpartition("\n")[2])
    leading, trailing = _LEADING.search(before), _TRAILING.match(after)
    return (leading[0] if leading else "") + text.content + (trailing[0] if trailing else "")


def _with_widths(tokens: Sequence[Token]) -> Iterator[Token]:
    """Move widths in comments to the table on the next line, if it has as many columns."""
    for index, token in enumerate(tokens):
        widths = read_widths(token.content) if token.type == "html_block" else ()
        table = tokens[index + 1] if widths and _has_block_on_next_line(tokens, index) else None
        if table and table.type == "table_open" and _count_columns(tokens, index + 1) == len(widths):
            table.meta = {**table.meta, WIDTHS_KEY: widths}
            _begin_at(token, table)
        else:
            yield token


def _count_columns(tokens: Sequence[Token], index: int) -> int:
    """The columns of the table that begins with the token *index*."""
    head = takewhile(lambda token: token.type != "tr_close", islice(tokens, index, None))
    return sum(token.type == "th_open" for token in head)


def _with_attributes(tokens: Sequence[Token]) -> Iterator[Token]:
    """Move attributes in comments to the item that they begin or the block on the next line."""
    opening: Token | None = None
    pending: tuple[Token, dict[str, Json]] | None = None
    for index, token in enumerate(tokens):
        attrs = read_comment(token.content) if token.type == "html_block" else None
        if pending:
            _attach_attrs(*pending, token)
            pending = None
        if attrs is not None and opening:
            opening.meta["tiptap"] = attrs
        elif attrs is not None and _has_block_on_next_line(tokens, index):
            pending = token, attrs
        else:
            yield token
        opening = token if token.type == "list_item_open" else None


def _has_block_on_next_line(tokens: Sequence[Token], index: int) -> bool:
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    comment_lines = tokens[index].map
    if not after or not after.map or not comment_lines or after.nesting < 0 or after.map[0] != comment_lines[1]:
        return False
    return after.type != "html_block" or read_comment(after.content) is None


def _attach_attrs(comment: Token, attrs: dict[str, Json], token: Token) -> None:
    token.meta = {**token.meta, "tiptap": attrs}
    _begin_at(comment, token)


def _begin_at(comment: Token, token: Token) -> None:
    """Count the line of the *comment* above to the block that begins with *token*."""
    if token.map and comment.map:
        token.map = [comment.map[0], token.map[1]]


def _with_details(tokens: Sequence[Token]) -> list[Token]:
    """Turn pairs of `<details>` and `</details>` around blocks into one node."""
    result: list[Token] = []
    opened: list[tuple[int, re.Match[str]]] = []  # with their indexes in the result
    for token in tokens:
        while opened and result[opened[-1][0]].level > token.level:
            opened.pop()
        result.append(token)
        if token.type != "html_block":
            continue
        if match := _DETAILS.fullmatch(token.content):
            opened.append((len(result) - 1, match))
        elif token.content.strip(" \n") == "</details>" and opened:
            start, opening = opened.pop()
            result[start:] = _details_tokens(result[start:], opening)
    return result


def _details_tokens(tokens: Sequence[Token], match: re.Match[str]) -> list[Token]:
    first, *inner, last = tokens
    for token in inner:
        token.level += 1
    level, lines = first.level, [first.map[0], last.map[1]] if first.map and last.map else None
    line = [first.map[0] + 1, first.map[0] + 2] if first.map else None
    return [
        Token("details_open", "details", 1, level=level, map=lines, meta={"open": bool(match[1])}, block=True),
        Token("summary_open", "summary", 1, level=level + 1, map=line, block=True),
        Token("inline", "", 0, level=level + 2, map=line, content=match[2].strip(), children=[], block=True),
        Token("summary_close", "summary", -1, level=level + 1, block=True),
        *inner,
        Token("details_close", "details", -1, level=level, block=True),
    ]
