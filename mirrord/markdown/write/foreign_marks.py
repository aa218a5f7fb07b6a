"""What a person typed of the syntax of another program, as the raw nodes that mirrord will read."""

import re
from collections.abc import Iterator, Sequence

from mirrord.domain.dialect import Dialect
from mirrord.markdown.inline.inline_reader import raw_inline
from mirrord.markdown.parser.dialect import parse_blocks
from mirrord.markdown.parser.foreign_syntax import FOREIGN, PROPERTIES, inline_pattern
from mirrord.markdown.parser.work_limit import PARSER_ERRORS
from mirrord.markdown.read.reader import raw_block
from mirrord.markdown.schema.document import TEXTBLOCKS, Node

_MAX_TYPED_CHARACTERS = 20_000  # of a paragraph that may be lines of another program


def mark_foreign_syntax(content: Sequence[Node], dialect: Dialect) -> Sequence[Node]:
    """*content* with raw nodes in place of texts that the program of *dialect* reads; code stays."""
    pattern = inline_pattern(dialect)
    return [_mark_block(node, pattern, dialect) for node in content] if pattern is not None else content


def _mark_block(node: Node, pattern: re.Pattern[str], dialect: Dialect) -> Node:
    content = node.get("content") or []
    if node["type"] == "paragraph" and len(content) == 1 and _is_foreign(content[0], dialect):
        return raw_block(content[0]["text"])
    if node["type"] in TEXTBLOCKS:
        return {**node, "content": [part for child in content for part in _mark_text(child, pattern)]}
    if node["type"] == "codeBlock" or not content:
        return node
    return {**node, "content": [_mark_block(child, pattern, dialect) for child in content]}


def _is_foreign(node: Node, dialect: Dialect) -> bool:
    """Whether the text of a paragraph is lines of another program, and nothing else."""
    text = node.get("text", "")
    if not text or node.get("marks") or len(text) > _MAX_TYPED_CHARACTERS:
        return False
    try:
        tokens = parse_blocks(text, None, dialect)
    except PARSER_ERRORS:
        return False
    return len(tokens) == 1 and tokens[0].type in (FOREIGN, PROPERTIES)


def _mark_text(node: Node, pattern: re.Pattern[str]) -> Iterator[Node]:
    text, marks = node.get("text", ""), node.get("marks") or []
    if any(mark["type"] == "code" for mark in marks):
        yield node
        return
    position = 0
    for match in pattern.finditer(text):
        if match.start() > position:
            yield {**node, "text": text[position : match.start()]}
        raw = raw_inline(match.group())
        yield {**raw, "marks": marks} if marks else raw
        position = match.end()
    if position < len(text) or not text:
        yield {**node, "text": text[position:]} if "text" in node else node
