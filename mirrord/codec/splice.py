"""Splicing: putting changed blocks into a page so that every other byte stays.

The result is read again as a whole and must equal what was wanted; nothing leaves here unverified.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

from mirrord.codec.document import Document, Node, document
from mirrord.codec.normal import difference, fingerprint, normal
from mirrord.codec.reader import nodes
from mirrord.codec.segments import SEPARATOR, Outline, outline
from mirrord.codec.style import Style, style_of, variants
from mirrord.codec.text import lines
from mirrord.codec.writer import LISTS, apart, write
from mirrord.errors import Damaged

_BREAK = re.compile(r"\r\n|\r|\n")
_RESCUES = (  # blank lines around new blocks; a comment between lists; blocks that changed their meaning anew
    (False, False, False),
    (True, False, False),
    (True, True, False),
    (True, True, True),
)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class _Block:
    """
    A block of the new page.

    source: its characters; of a fresh one with LF.
    old: the block of the old page it is or replaces; fresh: it is not that one unchanged.
    """

    node: Node
    source: str
    old: int | None
    fresh: bool


def spliced(body: str, wanted: Document, ending: str) -> str:
    """
    *body* with the blocks of *wanted*; unchanged ones keep their bytes and the gaps between them.

    New lines end with *ending*.

    Raises:
        Damaged: Markdown cannot hold what is wanted, or not beside the blocks that stay.
    """
    page, before = _meant(outline(body))
    old = [fingerprint(node) for node in before]
    after = normal(wanted)
    new = [fingerprint(node) for node in after.get("content", [])]
    if old == new and set(after) <= {"type", "content"}:
        return body
    blocks = _blocks(page, after.get("content", []), list(_paired(old, new)))
    result, got = "", after
    for widen, separate, mend in _RESCUES:
        if mend:
            blocks = _mended(page, blocks, outline(result))
        result = _joined(page, blocks, ending, widen=widen, separate=separate)
        got = normal(document(nodes(outline(result))))
        if fingerprint(got) == fingerprint(after):
            return result
    lost = difference(after, got)
    raise Damaged(f"the change would lose {lost}: Markdown cannot hold it beside the blocks around it")


def _meant(page: Outline) -> tuple[Outline, list[Node]]:
    """The page and its normal blocks without those that mean nothing (lone breaks): these are in the gaps."""
    found = [(segment, normal(node)) for segment, node in zip(page.segments, nodes(page), strict=True)]
    found = [(segment, node) for segment, node in found if node != {"type": "paragraph"}]
    return replace(page, segments=[segment for segment, _ in found]), [node for _, node in found]


def _paired(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int | None, bool]]:
    """For each new block the old one it equals (True) or replaces; None where it is an addition."""
    for tag, i, i_end, j, j_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for offset in range(j_end - j):
            yield (i + offset if i + offset < i_end else None), tag == "equal"


def _blocks(page: Outline, wanted: Sequence[Node], pairs: Sequence[tuple[int | None, bool]]) -> list[_Block]:
    """The blocks of the new page, old ones where they are equal, others written anew."""
    result: list[_Block] = []
    for index, (node, (old, same)) in enumerate(zip(wanted, pairs, strict=True)):
        if same and old is not None:
            result.append(_Block(node, page.source(old), old, fresh=False))
            continue
        following, stays = pairs[index + 1] if index + 1 < len(pairs) else (None, False)
        beside = [block.source for block in result[-1:]]
        if stays and following is not None:
            beside.append(page.source(following))
        result.append(_fresh(page, node, old, beside, page.references))
    return result


def _fresh(page: Outline, node: Node, old: int | None, beside: Sequence[str], references: Mapping[str, Any]) -> _Block:
    """A block written anew in the style of the one it replaces, a list unlike those *beside* it."""
    style = _style(page, old)
    if node["type"] in LISTS:
        style = apart(node["type"], style, {source.lstrip(" 0123456789")[:1] for source in beside})
    source = written(node, style, references)
    return _Block(node, source, old, fresh=True)


def _mended(page: Outline, blocks: Sequence[_Block], found: Outline) -> list[_Block]:
    """The blocks, those that mean something else in the new page (its definitions changed) written anew."""
    got = [fingerprint(node) for node in _meant(found)[1]]
    if len(got) != len(blocks):
        return list(blocks)
    return [
        block if meaning == fingerprint(block.node) else _fresh(page, block.node, block.old, (), found.references)
        for block, meaning in zip(blocks, got, strict=True)
    ]


def _style(page: Outline, old: int | None) -> Style:
    tokens = page.segments[old].tokens if old is not None else None
    return style_of(tokens) if tokens else Style()


def written(node: Node, style: Style, references: Mapping[str, Any]) -> str:
    """
    Markdown of one normal block, lines ending with LF, that alone is read as that block.

    Raises:
        Damaged: there is none.
    """
    wanted, lost = fingerprint(node), ""
    for variant in variants(style):
        source = write(node, variant)
        got = [normal(block) for block in nodes(outline(source, references))]
        if [fingerprint(block) for block in got] == [wanted]:
            return source
        lost = lost or difference(node, got[0] if len(got) == 1 else None)
    raise Damaged(f"the change would lose {lost}: Markdown cannot hold it")


def _joined(page: Outline, blocks: Sequence[_Block], ending: str, *, widen: bool, separate: bool) -> str:
    text = page.gap(-1)
    if not blocks:
        return text
    if text and text[-1] not in "\r\n":
        text += ending
    for left, right in pairwise(blocks):
        text += _ended(left, ending) + _gap(page, left, right, ending, widen=widen, separate=separate)
    tail = page.gap(len(page.segments) - 1) if page.segments else ending
    return text + _ended(blocks[-1], ending) + tail


def _ended(block: _Block, ending: str) -> str:
    return block.source.replace("\n", ending) if block.fresh else block.source


def _gap(page: Outline, left: _Block, right: _Block, ending: str, *, widen: bool, separate: bool) -> str:
    """What stands between two blocks, beginning with the line ending of the first."""
    blank = ending * 2
    gap = _old_gap(page, left.old, right.old) or _closing(left, ending) + blank
    if widen and (left.fresh or right.fresh) and len(_BREAK.findall(gap)) < 2:
        gap = blank
    if separate and _would_merge(left, right) and SEPARATOR not in gap:
        gap = blank + SEPARATOR + blank
    return gap


def _old_gap(page: Outline, left: int | None, right: int | None) -> str:
    """The gap two old blocks had, or the wider of theirs when what stood between is gone; "" if there is none."""
    if left is None or right is None or left + 1 >= len(page.segments) or right < 1:
        return ""
    return max(page.gap(left), page.gap(right - 1), key=len)


def _closing(block: _Block, ending: str) -> str:
    """The line that ends a code block whose fence the page's end had closed."""
    opening = None if block.fresh else _FENCE.match(block.source)
    if not opening or block.node["type"] != "codeBlock":
        return ""
    last = lines(block.source)[-1].strip() if len(lines(block.source)) > 1 else ""
    fence = opening[1]
    return "" if last.startswith(fence) and not last.strip(fence[0]) else ending + fence


def _would_merge(left: _Block, right: _Block) -> bool:
    return left.node["type"] in LISTS and (right.node["type"] in LISTS or right.source[:1] in ("\t", " "))
