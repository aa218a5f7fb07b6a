"""Merge new blocks into the lines of old ones; equal blocks keep their lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from itertools import takewhile

from mirrord.errors import Damaged
from mirrord.markdown.inline.source_style import Style, style_of
from mirrord.markdown.inline.table_cells import table_extra_attrs, write_table_comments
from mirrord.markdown.parser.dialect import Surroundings
from mirrord.markdown.schema.block import Block, block_of
from mirrord.markdown.schema.column_widths import widths_of
from mirrord.markdown.schema.document import Node
from mirrord.markdown.schema.node_rules import extra_attrs_of, has_no_markdown
from mirrord.markdown.schema.normal_form import fingerprint
from mirrord.markdown.write import item_merge
from mirrord.markdown.write.block_matching import match_or_replace_blocks
from mirrord.markdown.write.block_parts import (
    Line,
    Part,
    Piece,
    Spacing,
    SplitLines,
    block_gap,
    fingerprints_of,
    join_pieces,
    split_into_blocks,
    split_into_items,
)
from mirrord.markdown.write.block_writer import (
    MARKERS_OF_LISTS,
    can_follow_directly,
    render_block,
    starts_below_label,
    with_distinct_marker,
    write_block,
)
from mirrord.markdown.write.line_prefixes import dedent, frame_of_container, replace_content
from mirrord.markdown.write.moved_items import MovedItems, count_items
from mirrord.markdown.write.text_splice import Spelling, splice_texts

_PREFIXED_KINDS = frozenset(["blockquote", "callout", "footnoteDef"])
_MAX_EDITED_DEPTH = 16  # deeper containers are rewritten as a whole: each level costs one more reading


class Effort(Enum):
    """How much of a changed container is rewritten."""

    FIRST_SPELLING = auto()  # only the changed parts, in the likeliest spelling; the whole page is read back anyway
    CHANGED_PARTS = auto()  # only the changed parts; the whole page is read back anyway
    CHANGED_PARTS_VERIFIED = auto()  # only the changed parts; all of it if they are not read back as the container
    WHOLE_CONTAINER = auto()  # all of it


_READ_LATER = (Effort.FIRST_SPELLING, Effort.CHANGED_PARTS)  # with the page, so containers are not read alone


@dataclass(frozen=True, slots=True)
class Setting:
    """
    The context in which a block is written.

    usual_style: the usual style of the page. depth: number of containers around the block.
    is_item: the innermost container is a list item; tight: of a list without blank lines. is_callout: it is a callout.
    former_lines: of blocks at the top that the page had before, by fingerprint. moved_items: finds items that change
    their list inside the outermost one; None: none does.
    """

    surroundings: Surroundings
    usual_style: Style
    effort: Effort
    is_item: bool = False
    is_tight: bool = False
    is_callout: bool = False
    depth: int = 0
    former_lines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    moved_items: MovedItems | None = None


def rearrange_blocks(cut: SplitLines, new_blocks: Sequence[Block], setting: Setting, spacing: Spacing) -> list[Line]:
    """
    The lines of *cut* turned into *new_blocks*, none of them empty; nothing is read back.

    Raises:
        Damaged: Markdown cannot hold a block.
    """
    pieces = _collect_pieces(cut, new_blocks, setting)
    between = block_gap(cut, spacing, tight=setting.is_tight)
    result = join_pieces(cut, pieces, between)
    if setting.is_item and pieces and _is_misread(result):
        result = join_pieces(cut, [_unindent_piece(pieces[0]), *pieces[1:]], between)
    return [Line(""), *result] if setting.is_callout and _would_continue(cut, pieces) else result


def _is_misread(content: Sequence[Line]) -> bool:
    """Whether an item's first line, whose indent counts to the marker, is indented deeper than another line."""
    indents = [len(line.text) - len(line.text.lstrip(" ")) for line in content if line.text.strip()]
    return content[0].at != 0 and indents[0] > min(indents)


def _unindent_piece(piece: Piece) -> Piece:
    indent = len(piece.lines[0].text) - len(piece.lines[0].text.lstrip(" "))
    return replace(piece, lines=[Line(dedent(line.text, indent)) for line in piece.lines])


def _would_continue(cut: SplitLines, pieces: Sequence[Piece]) -> bool:
    """Whether the first block would be read as a continuation of the line above, the title of a callout."""
    if not pieces or cut.gap_after(-1) or pieces[0].old_index == 0 or pieces[0].node["type"] == "paragraph":
        return False
    return not can_follow_directly({"type": "paragraph"}, pieces[0].node)


def _collect_pieces(cut: SplitLines, blocks: Sequence[Block], setting: Setting) -> list[Piece]:
    result: list[Piece] = []
    pairs = match_or_replace_blocks([part.block for part in cut.parts], blocks)
    place = 0  # of the last block that the page has
    for block, pair, following in zip(blocks, pairs, [*pairs, None][1:], strict=True):
        if result and (last_place := result[-1].old_index) is not None:
            place = last_place
        if pair and pair.is_equal:
            result.append(Piece(block, cut.lines_of_part(pair.old), pair.old, is_changed=False))
            continue
        neighbour_lines = [piece.lines[0].text for piece in result[-1:]]
        if following and following.is_equal:
            neighbour_lines.append(cut.lines[cut.parts[following.old].start])
        old = pair.old if pair else None
        former = _lines_as_before(block, setting)
        if not former and (lines := _splice_part(cut, block, old, setting)):
            result.append(Piece(block, lines, old, is_changed=False))
            continue
        node = block.normal_form
        lines = (
            former
            or (_lines_of_moved(block, neighbour_lines, setting) if _is_another_list(cut, block, old) else [])
            or _edit_container(cut, node, old, setting)
            or _lines_of_moved(block, neighbour_lines, setting)
            or _render_new(cut, node, old, place, neighbour_lines, setting)
        )
        result.append(Piece(block, lines, old, is_changed=True))
    return result


def _lines_as_before(block: Block, setting: Setting) -> list[Line]:
    """The lines of a block that the page had before; empty if it had none like it, or in a second attempt."""
    if not setting.former_lines or setting.depth or setting.effort not in _READ_LATER:
        return []
    return [Line(line) for line in setting.former_lines.get(block.fingerprint, ())]


def _lines_of_moved(block: Block, neighbour_lines: Sequence[str], setting: Setting) -> list[Line]:
    """The lines that a block, or each item of a list, has in another item; empty if a neighbour has the list's sign."""
    if setting.moved_items is None or setting.effort is Effort.WHOLE_CONTAINER:
        return []
    if block.kind not in MARKERS_OF_LISTS:
        return setting.moved_items.lines_of(block)
    lines = setting.moved_items.lines_of_list(block.normal_form)
    signs = {line.lstrip(" ")[:1] for line in neighbour_lines}
    return lines if lines and lines[0].text[:1] not in signs else []


def _is_another_list(cut: SplitLines, block: Block, old: int | None) -> bool:
    """Whether *block* is a list without any item of the *old* list that it replaces."""
    if old is None or not {block.kind, cut.parts[old].block.kind} <= MARKERS_OF_LISTS.keys():
        return False
    before, after = (
        {block_of(item).fingerprint for item in node.get("content", [])}
        for node in (cut.parts[old].node, block.normal_form)
    )
    return before.isdisjoint(after)


def _splice_part(cut: SplitLines, block: Block, old: int | None, setting: Setting) -> list[Line]:
    """The lines of the *old* part with the texts of *block*; empty if more differs, or if it must be rewritten."""
    if old is None or setting.effort is Effort.WHOLE_CONTAINER:
        return []
    part = cut.parts[old]
    spelling = Spelling(setting.usual_style, cut.surroundings, setting.effort is Effort.FIRST_SPELLING)
    lines = splice_texts(cut.lines[part.start : part.end], part, block, spelling)
    if setting.effort is Effort.CHANGED_PARTS_VERIFIED and fingerprints_of(lines, cut.surroundings) != [
        block.fingerprint
    ]:
        return []
    return [line.shifted(part.start) for line in lines]


def _edit_container(cut: SplitLines, node: Node, old: int | None, setting: Setting) -> list[Line]:
    """The lines of *node* with its unchanged parts kept; empty if it must be rewritten as a whole."""
    if old is None or setting.effort is Effort.WHOLE_CONTAINER or setting.depth >= _MAX_EDITED_DEPTH:
        return []
    part = cut.parts[old]
    try:
        lines = _edit_inside(cut, part, node, setting)
    except Damaged:
        return []
    if setting.effort is Effort.CHANGED_PARTS_VERIFIED and fingerprints_of(lines, cut.surroundings) != [
        fingerprint(node)
    ]:
        return []
    return [line.shifted(part.start) for line in lines]


def _render_new(
    cut: SplitLines, node: Node, old: int | None, place: int, neighbour_lines: Sequence[str], setting: Setting
) -> list[Line]:
    """A block in the style of the *old* one, else of the nearest one of its kind to *place*, else of the page."""
    alike = [index for index, part in enumerate(cut.parts) if part.block.kind == node["type"]]
    model = old if old is not None else min(alike, key=lambda index: abs(index - place), default=None)
    style = style_of(cut.parts[model].tokens if model is not None else (), setting.usual_style)
    if node["type"] in MARKERS_OF_LISTS:  # a list needs another marker than its neighbours
        style = with_distinct_marker(node["type"], style, {line.lstrip(" 0123456789")[:1] for line in neighbour_lines})
    is_read_later = setting.effort is Effort.FIRST_SPELLING
    text = write_block(node, style) if is_read_later else render_block(node, style, cut.surroundings)
    return [Line(line) for line in text.split("\n")]


def _edit_inside(cut: SplitLines, part: Part, node: Node, setting: Setting) -> list[Line]:
    """
    The lines of a container turned into those of *node*; empty if the kinds differ.

    Raises:
        Damaged: its lines cannot be taken apart, or Markdown cannot hold its new content.
    """
    lines, name = cut.lines[part.start : part.end], part.node["type"]
    if name != "table" and (extra_attrs_of(part.node) or extra_attrs_of(node)):
        return []
    if name in MARKERS_OF_LISTS and MARKERS_OF_LISTS[name] == MARKERS_OF_LISTS.get(node["type"]) and part.tokens:
        return _edit_list(split_into_items(cut, part), part, node, setting)
    if name != node["type"]:
        return []
    if name == "table":
        return _edit_table(lines, part, node, style_of(part.tokens, setting.usual_style), cut.surroundings)
    if name in _PREFIXED_KINDS:
        frame, inner = (
            frame_of_container(part.node, lines),
            replace(setting, depth=setting.depth + 1, is_item=False, is_tight=False, is_callout=name == "callout"),
        )
        content = _edit_content(frame.inner, part.node.get("content", []), node.get("content", []), cut, inner)
        if name == "footnoteDef" and starts_below_label(node) and content[0].at != 0:
            content = [Line(""), *content]
        return replace_content(frame, content, part.node, node)
    return []


def _edit_table(lines: Sequence[str], part: Part, node: Node, style: Style, surroundings: Surroundings) -> list[Line]:
    """The lines of a changed table; empty if the comment above it, which counts the rows, would change."""
    if has_no_markdown(part.node) or has_no_markdown(node):
        return []
    extra_attrs = table_extra_attrs(node)
    if "header" in extra_attrs or table_extra_attrs(part.node) != extra_attrs:
        return []
    height = len(list(takewhile(_is_comment, lines)))
    comments = [Line(line, at) for at, line in enumerate(lines[:height])]
    if widths_of(part.node["content"]) != widths_of(node["content"]):
        comments = [Line(line) for line in write_table_comments(node)]
    rows = item_merge.rearrange_rows(lines[height:], part.node, node, style, surroundings)
    return comments + [row.shifted(height) for row in rows]


def _is_comment(line: str) -> bool:
    """Whether a line of a table is a comment above its rows."""
    return line.lstrip().startswith("<!--") and line.rstrip().endswith("-->")


def _edit_list(cut: SplitLines, part: Part, node: Node, setting: Setting) -> list[Line]:
    style = style_of(part.tokens, setting.usual_style)
    inner = replace(setting, depth=setting.depth + 1, usual_style=setting.usual_style.style_in_items())
    inner = replace(inner, is_item=True, is_callout=False, is_tight=not style.lists[0].loose)
    if inner.moved_items is None and count_items(node) <= count_items(part.node):  # a new item comes from no list
        inner = replace(inner, moved_items=MovedItems(cut))

    def inside(lines: Sequence[str], old: Sequence[Node], new_nodes: Sequence[Node]) -> list[Line]:
        return _edit_content(lines, old, new_nodes, cut, inner)

    return item_merge.rearrange_items(cut, node, inside, inner.moved_items)


def _edit_content(
    lines: Sequence[str], old: Sequence[Node], new_nodes: Sequence[Node], around: SplitLines, setting: Setting
) -> list[Line]:
    """
    The *lines* in a container with the content *old*, turned into those of *new_nodes*.

    Raises:
        Damaged: outside the container the lines are other blocks, or they cannot be made to mean *new_nodes*.
    """
    cut_alone = split_into_blocks(lines, around.surroundings)
    if len(cut_alone.parts) != len(old):
        raise Damaged("the lines have another meaning outside their container")
    cut = replace(
        cut_alone, parts=[_with_container_meaning(part, node) for part, node in zip(cut_alone.parts, old, strict=True)]
    )
    blocks = [block_of(node) for node in new_nodes]
    if setting.effort in _READ_LATER:
        return rearrange_blocks(cut, blocks, setting, Spacing.UNCHANGED)
    meanings_alone = {
        part.block.fingerprint: other.block.fingerprint for part, other in zip(cut.parts, cut_alone.parts, strict=True)
    }
    expected = [meanings_alone.get(block.fingerprint, block.fingerprint) for block in blocks]
    for spacing in Spacing:
        result = rearrange_blocks(cut, blocks, setting, spacing)
        if fingerprints_of(result, cut.surroundings) == expected:
            return result
    raise Damaged("the blocks merge in their container")


def _with_container_meaning(part: Part, node: Node) -> Part:
    """*part* with its meaning in the container, even if its lines mean something else outside."""
    return replace(part, block=block_of(node), tokens=part.tokens if part.block.kind == node["type"] else ())
