"""Merge list items: unchanged items keep their lines, changed ones their markers."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from mirrord.markdown.read.reader import DONE_BOX, TODO_BOX
from mirrord.markdown.schema.block import block_of
from mirrord.markdown.schema.document import Node
from mirrord.markdown.schema.normal_form import normalize
from mirrord.markdown.write.block_matching import match_or_replace_blocks
from mirrord.markdown.write.block_parts import Line, Piece, SplitLines, item_gap, join_pieces
from mirrord.markdown.write.line_prefixes import TASK_BOX, Marker, frame_of_item, marker_of, replace_marker

RearrangeContent = Callable[[Sequence[str], Sequence[Node], Sequence[Node]], list[Line]]

_NUMBER = re.compile(r"\d+")


def rearrange_items(cut: SplitLines, new_list: Node, inside: RearrangeContent) -> list[Line]:
    """
    The lines of a list, *cut* into its items, turned into the normal list *new_list*.

    inside: turns the lines and old blocks of an item into the lines of its new blocks.

    Raises:
        Damaged: Markdown cannot hold it, or the items cannot be taken apart.
    """
    items = [block_of(item) for item in new_list.get("content", [])]
    pieces: list[Piece] = []
    marker: Marker | None = None
    for block, pair in zip(items, match_or_replace_blocks([part.block for part in cut.parts], items), strict=True):
        item, old = block.normal_form, pair.old if pair else None
        old_marker = _old_marker(cut, old)
        marker = _choose_marker(cut, new_list, item, old_marker, marker)
        if pair and pair.is_equal and old_marker == marker:
            pieces.append(Piece(block, cut.lines_of_part(pair.old), old, is_changed=False))
        else:
            pieces.append(Piece(block, _rewrite_item(cut, item, old, marker, inside), old, is_changed=True))
    return join_pieces(cut, pieces, item_gap(cut))


def _old_marker(cut: SplitLines, index: int | None) -> Marker | None:
    if index is None:
        return None
    part = cut.parts[index]
    return marker_of(cut.lines[part.start], task=_task_state(part.node) is not None)


def _choose_marker(
    cut: SplitLines, new_list: Node, item: Node, old_marker: Marker | None, previous: Marker | None
) -> Marker:
    """The item's *old_marker* marker, else one like that *previous*; for a new first item that of the old first one."""
    marker = old_marker or previous or _old_marker(cut, 0) or Marker("", "-", " ")
    if new_list["type"] == "orderedList":
        start = new_list.get("attrs", {}).get("start", 1)
        if previous is None and isinstance(start, int):
            marker = _with_number(marker, start)
        elif previous and old_marker is None:
            marker = _with_number(previous, _number_of(previous) + (1 if _has_rising_numbers(cut) else 0))
    return replace(marker, box=_write_box(item, old_marker))


def _task_state(item: Node) -> bool | None:
    """Whether a task is done; None: the item has no box. In a list of other items, a box is raw text."""
    if item["type"] == "taskItem":
        return bool(item.get("attrs", {}).get("checked"))
    raw = _first_inline(item).get("attrs", {}).get("raw")
    return raw == DONE_BOX if raw in (DONE_BOX, TODO_BOX) else None


def _first_inline(item: Node) -> Node:
    first: Node = next(iter(item.get("content", [])), item)
    return next(iter(first.get("content", [])), first) if first["type"] == "paragraph" else first


def _content_without_box(item: Node) -> Sequence[Node]:
    """The blocks of an item without its box."""
    content = item.get("content", [])
    if item["type"] == "taskItem" or _task_state(item) is None:
        return content
    _, *inlines = content[0].get("content", [])
    first = normalize({"type": "paragraph", "content": inlines})
    return [first, *content[1:]] if inlines else content[1:]


def _write_box(item: Node, old_marker: Marker | None) -> str:
    state = _task_state(item)
    if state is None:
        return ""
    if old_marker and old_marker.box and ("x" in old_marker.box.lower()) == state:
        return old_marker.box
    return f"{DONE_BOX if state else TODO_BOX} "


def _number_of(marker: Marker) -> int:
    match = _NUMBER.match(marker.sign)
    return int(match[0]) if match else 0


def _with_number(marker: Marker, number: int) -> Marker:
    """*marker* with another number; a number padded with zeros keeps its width."""
    if number == _number_of(marker):
        return marker
    digits = marker.sign[:-1]
    width = len(digits) if digits.startswith("0") else 0
    return replace(marker, sign=f"{number:0{width}d}{marker.sign[-1]}" if width else f"{number}{marker.sign[-1]}")


def _has_rising_numbers(cut: SplitLines) -> bool:
    first, second = _old_marker(cut, 0), _old_marker(cut, 1) if len(cut.parts) > 1 else None
    return not first or not second or _number_of(first) != _number_of(second)


def _rewrite_item(cut: SplitLines, item: Node, old: int | None, marker: Marker, inside: RearrangeContent) -> list[Line]:
    if old is None:
        return frame_of_item([], marker).wrap_content(_escape_box(inside([], [], _content_without_box(item)), marker))
    part = cut.parts[old]
    old_marker = _old_marker(cut, old) or marker
    frame = frame_of_item(cut.lines[part.start : part.end], old_marker)
    before = _content_without_box(part.node)
    lines = _escape_box(inside(frame.inner if before else [], before, _content_without_box(item)), marker)
    result = frame.wrap_content(lines) if old_marker == marker else replace_marker(frame, lines, marker)
    return [replace(line, at=None if line.at is None else line.at + part.start) for line in result]


def _escape_box(lines: list[Line], marker: Marker) -> list[Line]:
    """Item lines with a leading `[ ]` escaped, which would be read as the box of a task."""
    if marker.box or not lines or lines[0].at == 0 or not TASK_BOX.match(lines[0].text):
        return lines
    return [Line("\\" + lines[0].text), *lines[1:]]
