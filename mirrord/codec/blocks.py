"""Blocks put into the lines of others: equal ones keep theirs, containers are gone into, the rest is written anew."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from mirrord.codec import items, table_rows
from mirrord.codec.anew import written
from mirrord.codec.block import Block, block_of
from mirrord.codec.containers import dedented, framed, headed
from mirrord.codec.cuts import Cut, Line, Part, cut_blocks, cut_items, meaning
from mirrord.codec.document import Node
from mirrord.codec.gaps import Piece, Spacing, block_gap, joined
from mirrord.codec.matching import replacing
from mirrord.codec.normal import fingerprint
from mirrord.codec.schema import extras, is_beyond
from mirrord.codec.style import Style, style_of
from mirrord.codec.tables import table_extras
from mirrord.codec.writer import LISTS, apart, is_glued, starts_below
from mirrord.errors import Damaged

_PREFIXED = frozenset(["blockquote", "callout", "footnoteDef"])
_DEEPEST = 16  # containers further in are written whole: each level is read once more


class Effort(Enum):
    """How a changed container is written."""

    TRUSTING = auto()  # only what changed in it; the whole page is read back anyway
    CAREFUL = auto()  # only what changed in it, and whole if that alone is not read as it
    WHOLE = auto()


@dataclass(frozen=True, slots=True)
class Setting:
    """
    What writing a block depends on besides the block.

    habit: what is usual in the page. depth: it is in so many containers.
    item: the innermost is a list's item; tight: of a list without blank lines. titled: it is a callout.
    """

    references: Mapping[str, Any]
    habit: Style
    effort: Effort
    item: bool = False
    tight: bool = False
    titled: bool = False
    depth: int = 0


def rearranged(cut: Cut, wanted: Sequence[Block], setting: Setting, spacing: Spacing) -> list[Line]:
    """
    The lines of *cut* turned into the blocks *wanted*, none empty; nothing is read back.

    Raises:
        Damaged: Markdown cannot hold a block.
    """
    pieces = _pieces(cut, wanted, setting)
    between = block_gap(cut, spacing, tight=setting.tight)
    result = joined(cut, pieces, between)
    if setting.item and pieces and _is_misread(result):
        result = joined(cut, [_unindented(pieces[0]), *pieces[1:]], between)
    return [Line(""), *result] if setting.titled and _would_continue(cut, pieces) else result


def _is_misread(content: Sequence[Line]) -> bool:
    """Whether the indent of an item's first line, taken for part of its marker, is more than that of another line."""
    indents = [len(line.text) - len(line.text.lstrip(" ")) for line in content if line.text.strip()]
    return content[0].at != 0 and indents[0] > min(indents)


def _unindented(piece: Piece) -> Piece:
    indent = len(piece.lines[0].text) - len(piece.lines[0].text.lstrip(" "))
    return replace(piece, lines=[Line(dedented(line.text, indent)) for line in piece.lines])


def _would_continue(cut: Cut, pieces: Sequence[Piece]) -> bool:
    """Whether the first block would be read as more of the line above, a callout's title."""
    if not pieces or cut.gap(-1) or pieces[0].old == 0 or pieces[0].node["type"] == "paragraph":
        return False
    return not is_glued({"type": "paragraph"}, pieces[0].node)


def _pieces(cut: Cut, wanted: Sequence[Block], setting: Setting) -> list[Piece]:
    result: list[Piece] = []
    pairs = replacing([part.block for part in cut.parts], wanted)
    for block, pair, following in zip(wanted, pairs, [*pairs, None][1:], strict=True):
        if pair and pair.equal:
            result.append(Piece(block, cut.part(pair.old), pair.old, fresh=False))
            continue
        beside = [piece.lines[0].text for piece in result[-1:]]
        if following and following.equal:
            beside.append(cut.lines[cut.parts[following.old].start])
        place = next((piece.old for piece in reversed(result) if piece.old is not None), 0)
        node, old = block.normal, pair.old if pair else None
        lines = _changed(cut, node, old, setting) or _anew(cut, node, old, place, beside, setting.habit)
        result.append(Piece(block, lines, old, fresh=True))
    return result


def _changed(cut: Cut, node: Node, old: int | None, setting: Setting) -> list[Line]:
    """The lines of *node* in which what is not new of it stays; none where it must be written whole."""
    if old is None or setting.effort is Effort.WHOLE or setting.depth >= _DEEPEST:
        return []
    part = cut.parts[old]
    try:
        lines = _gone_into(cut, part, node, setting)
    except Damaged:
        return []
    if setting.effort is Effort.CAREFUL and meaning(lines, cut.references) != [fingerprint(node)]:
        return []
    return [replace(line, at=None if line.at is None else line.at + part.start) for line in lines]


def _anew(cut: Cut, node: Node, old: int | None, place: int, beside: Sequence[str], habit: Style) -> list[Line]:
    """A block in the style of the *old* one, else of the one of its kind nearest to *place*, else of the page."""
    alike = [index for index, part in enumerate(cut.parts) if part.block.kind == node["type"]]
    model = old if old is not None else min(alike, key=lambda index: abs(index - place), default=None)
    style = style_of(cut.parts[model].tokens if model is not None else (), habit)
    if node["type"] in LISTS:  # and a list is unlike those beside it
        style = apart(node["type"], style, {line.lstrip(" 0123456789")[:1] for line in beside})
    return [Line(line) for line in written(node, style, cut.references).split("\n")]


def _gone_into(cut: Cut, part: Part, node: Node, setting: Setting) -> list[Line]:
    """
    The lines of a container turned into those of *node*; none where it is not the same kind of one.

    Raises:
        Damaged: its lines cannot be taken apart, or Markdown cannot hold what is new in it.
    """
    lines, name = cut.lines[part.start : part.end], part.node["type"]
    if name != "table" and (extras(part.node) or extras(node)):
        return []
    if name in LISTS and LISTS[name] == LISTS.get(node["type"]) and part.tokens:
        return _in_list(cut_items(cut, part), part, node, setting)
    if name != node["type"]:
        return []
    if name == "table":
        return _in_table(lines, part, node, style_of(part.tokens, setting.habit), cut.references)
    if name in _PREFIXED:
        frame, inner = (
            framed(part.node, lines),
            replace(setting, depth=setting.depth + 1, item=False, tight=False, titled=name == "callout"),
        )
        content = _within(frame.inner, part.node.get("content", []), node.get("content", []), cut, inner)
        if name == "footnoteDef" and starts_below(node) and content[0].at != 0:
            content = [Line(""), *content]
        return headed(frame, content, part.node, node)
    return []


def _in_table(lines: Sequence[str], part: Part, node: Node, style: Style, references: Mapping[str, Any]) -> list[Line]:
    """None where the comment above it would be another one: it counts the rows."""
    if is_beyond(part.node) or is_beyond(node) or "header" in table_extras(node):
        return []
    if table_extras(part.node) != table_extras(node):
        return []
    height = next(at for at, line in enumerate(lines, 1) if line.rstrip().endswith("-->")) if table_extras(node) else 0
    comment = [Line(line, at) for at, line in enumerate(lines[:height])]
    rows = table_rows.rearranged(lines[height:], part.node, node, style, references)
    return comment + [replace(row, at=None if row.at is None else row.at + height) for row in rows]


def _in_list(cut: Cut, part: Part, node: Node, setting: Setting) -> list[Line]:
    style = style_of(part.tokens, setting.habit)
    inner = replace(setting, depth=setting.depth + 1, habit=setting.habit.deeper())
    inner = replace(inner, item=True, titled=False, tight=not style.lists[0].loose)

    def inside(lines: Sequence[str], old: Sequence[Node], wanted: Sequence[Node]) -> list[Line]:
        return _within(lines, old, wanted, cut, inner)

    return items.rearranged(cut, node, inside)


def _within(
    lines: Sequence[str], old: Sequence[Node], wanted: Sequence[Node], around: Cut, setting: Setting
) -> list[Line]:
    """
    The *lines* in a container, which mean *old*, turned into *wanted*.

    Raises:
        Damaged: without the container they are other blocks, or cannot be made to mean *wanted*.
    """
    read = cut_blocks(lines, around.references)
    if len(read.parts) != len(old):
        raise Damaged("the lines mean something else without what they are in")
    cut = replace(read, parts=[_trusted(part, node) for part, node in zip(read.parts, old, strict=True)])
    blocks = [block_of(node) for node in wanted]
    if setting.effort is Effort.TRUSTING:
        return rearranged(cut, blocks, setting, Spacing.AS_WAS)
    alone = {part.block.meaning: other.block.meaning for part, other in zip(cut.parts, read.parts, strict=True)}
    after = [alone.get(block.meaning, block.meaning) for block in blocks]
    for spacing in Spacing:
        result = rearranged(cut, blocks, setting, spacing)
        if meaning(result, cut.references) == after:
            return result
    raise Damaged("the blocks run together in what they are in")


def _trusted(part: Part, node: Node) -> Part:
    """*part* as it is meant in the container, even where without it its lines mean something else."""
    return replace(part, block=block_of(node), tokens=part.tokens if part.block.kind == node["type"] else ())
