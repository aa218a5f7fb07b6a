"""
Change words of a page in its lines, and nothing else.

A page may be of another dialect than mirrord's: directives, outlines indented with tabs, Liquid tags. The block writer
would give all of a changed block its own spelling; here everything beside the words stays.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mirrord.markdown.schema.block import Block
from mirrord.markdown.schema.document import Node
from mirrord.markdown.write.block_parts import Part, SplitLines

_PLAIN_TEXT = re.compile(r"[\w .,;!?'\"()%-]*")  # never markup inside a line


class _Change(NamedTuple):
    """Words of a block. number: of *before* among its occurrences in the block; total: how many there are."""

    before: str
    after: str
    number: int
    total: int


def reword_lines(cut: SplitLines, new_blocks: Sequence[Block]) -> Iterator[list[str]]:
    """
    The lines of *cut* with the words of *new_blocks*, at most once; they are not read back.

    Nothing if a block differs in more than one text, if the words cannot be located, if an old block may have moved,
    or for tables, whose cells are padded.
    """
    if len(cut.parts) != len(new_blocks):
        return
    lines = list(cut.lines)
    for part, block in zip(cut.parts, new_blocks, strict=True):
        if part.block.means_same_as(block):
            continue
        change = _change_of(_pair_texts(part.node, block.normal_form))
        if change is None or not _make_change(lines, part, change) or _has_block(cut, block):
            return
    yield lines


def _has_block(cut: SplitLines, block: Block) -> bool:
    """Whether an old block means the same as *block*; only those with its letters are compared, which is costly."""
    letters = _letters_of(block.nodes)
    return any(_letters_of(part.block.nodes) == letters and part.block.means_same_as(block) for part in cut.parts)


def _letters_of(nodes: Sequence[Node]) -> str:
    """The text of *nodes* without white space, which is the same in the normal form."""
    return "".join(
        letters
        for node in nodes
        for letters in ("".join(node.get("text", "").split()), _letters_of(node.get("content", ())))
    )


def _pair_texts(old: Node, new: Node) -> list[tuple[str, str]]:
    """The old and new texts of a block in their order; none if it differs in more than texts, or has a table."""
    texts: list[tuple[str, str]] = []
    pending = [(old, new)]
    while pending:
        old_node, new_node = pending.pop()
        if _facts_of(old_node) != _facts_of(new_node) or old_node["type"] == "table":
            return []
        texts.append((old_node.get("text", ""), new_node.get("text", "")))
        pending += reversed(list(zip(old_node.get("content", []), new_node.get("content", []), strict=True)))
    return texts


def _facts_of(node: Node) -> tuple[object, ...]:
    return node["type"], node.get("attrs"), node.get("marks"), len(node.get("content", []))


def _change_of(texts: Sequence[tuple[str, str]]) -> _Change | None:
    """The change of the only text that differs, in whole words; None: several differ, or it is no change of words."""
    changed = [number for number, (old, new) in enumerate(texts) if old != new]
    if len(changed) != 1:
        return None
    old, new = texts[changed[0]]
    start, end = _common_ends(old, new)
    if not _PLAIN_TEXT.fullmatch(new[start : len(new) - end]):
        return None
    start, end = start - _length_of_word(old[:start][::-1]), end - _length_of_word(old[len(old) - end :])
    before = old[start : len(old) - end]
    above = "\n".join([*(text for text, _ in texts[: changed[0]]), old[:start]])
    total = len(_occurrences(before, "\n".join(text for text, _ in texts)))
    return _Change(before, new[start : len(new) - end], len(_occurrences(before, above)), total)


def _common_ends(old: str, new: str) -> tuple[int, int]:
    """How many characters are equal from the start on, and from the end."""
    shortest = min(len(old), len(new))
    start = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    end = next((at for at in range(shortest - start) if old[-1 - at] != new[-1 - at]), shortest - start)
    return start, end


def _length_of_word(text: str) -> int:
    return next((at for at, character in enumerate(text) if character.isspace()), len(text))


def _occurrences(words: str, text: str) -> list[int]:
    pattern = rf"(?<!\w){re.escape(words)}(?!\w)"
    return [match.start() for match in re.finditer(pattern, text)] if words else []


def _make_change(lines: list[str], part: Part, change: _Change) -> bool:
    """Whether the words could be located in the lines of the part, and were replaced."""
    places = [(at, place) for at in range(part.start, part.end) for place in _occurrences(change.before, lines[at])]
    if not places or len(places) != change.total:
        return False
    at, place = places[change.number]
    lines[at] = lines[at][:place] + change.after + lines[at][place + len(change.before) :]
    return True
