"""Items of lists: unchanged ones keep their lines, changed ones their markers."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from mirrord.codec.block import block_of
from mirrord.codec.containers import BOX, Marker, marked, marked_anew, marker_of
from mirrord.codec.cuts import Cut, Line
from mirrord.codec.document import Node
from mirrord.codec.gaps import Piece, item_gap, joined
from mirrord.codec.matching import replacing
from mirrord.codec.normal import normal
from mirrord.codec.reader import DONE, TODO

Inside = Callable[[Sequence[str], Sequence[Node], Sequence[Node]], list[Line]]

_NUMBER = re.compile(r"\d+")


def rearranged(cut: Cut, wanted: Node, inside: Inside) -> list[Line]:
    """
    The lines of a list, *cut* into its items, turned into the list *wanted*, which is normal.

    inside: turns an item's lines and its old blocks into the lines of new ones.

    Raises:
        Damaged: Markdown cannot hold it, or the items cannot be taken apart.
    """
    items = [block_of(item) for item in wanted.get("content", [])]
    pieces: list[Piece] = []
    above: Marker | None = None
    for block, pair in zip(items, replacing([part.block for part in cut.parts], items), strict=True):
        item, old = block.normal, pair.old if pair else None
        own = _old_marker(cut, old)
        above = _marker(cut, wanted, item, own, above)
        if pair and pair.equal and own == above:
            pieces.append(Piece(block, cut.part(pair.old), old, fresh=False))
        else:
            pieces.append(Piece(block, _rewritten(cut, item, old, above, inside), old, fresh=True))
    return joined(cut, pieces, item_gap(cut))


def _old_marker(cut: Cut, index: int | None) -> Marker | None:
    if index is None:
        return None
    part = cut.parts[index]
    return marker_of(cut.lines[part.start], task=_state(part.node) is not None)


def _marker(cut: Cut, wanted: Node, item: Node, own: Marker | None, above: Marker | None) -> Marker:
    """The item's *own* marker, else one like that *above* or, of a new first one, that of the old first."""
    marker = own or above or _old_marker(cut, 0) or Marker("", "-", " ")
    if wanted["type"] == "orderedList":
        start = wanted.get("attrs", {}).get("start", 1)
        if above is None and isinstance(start, int):
            marker = _numbered(marker, start)
        elif above and own is None:
            marker = _numbered(above, _number(above) + (1 if _counts(cut) else 0))
    return replace(marker, box=_box(item, own))


def _state(item: Node) -> bool | None:
    """Whether a task is done; None: the item has no box. Among items without one, a box is raw text."""
    if item["type"] == "taskItem":
        return bool(item.get("attrs", {}).get("checked"))
    raw = _first_inline(item).get("attrs", {}).get("raw")
    return raw == DONE if raw in (DONE, TODO) else None


def _first_inline(item: Node) -> Node:
    first: Node = next(iter(item.get("content", [])), item)
    return next(iter(first.get("content", [])), first) if first["type"] == "paragraph" else first


def _content(item: Node) -> Sequence[Node]:
    """The blocks of an item, without its box."""
    content = item.get("content", [])
    if item["type"] == "taskItem" or _state(item) is None:
        return content
    _, *rest = content[0].get("content", [])
    first = normal({"type": "paragraph", "content": rest})
    return [first, *content[1:]] if rest else content[1:]


def _box(item: Node, own: Marker | None) -> str:
    state = _state(item)
    if state is None:
        return ""
    if own and own.box and ("x" in own.box.lower()) == state:
        return own.box
    return f"{DONE if state else TODO} "


def _number(marker: Marker) -> int:
    found = _NUMBER.match(marker.sign)
    return int(found[0]) if found else 0


def _numbered(marker: Marker, number: int) -> Marker:
    """*marker* with another number, as many digits wide as before where it was filled up with zeros."""
    if number == _number(marker):
        return marker
    digits = marker.sign[:-1]
    width = len(digits) if digits.startswith("0") else 0
    return replace(marker, sign=f"{number:0{width}d}{marker.sign[-1]}" if width else f"{number}{marker.sign[-1]}")


def _counts(cut: Cut) -> bool:
    first, second = _old_marker(cut, 0), _old_marker(cut, 1) if len(cut.parts) > 1 else None
    return not first or not second or _number(first) != _number(second)


def _rewritten(cut: Cut, item: Node, old: int | None, marker: Marker, inside: Inside) -> list[Line]:
    if old is None:
        return marked([], marker).around(_boxless(inside([], [], _content(item)), marker))
    part = cut.parts[old]
    own = _old_marker(cut, old) or marker
    frame = marked(cut.lines[part.start : part.end], own)
    before = _content(part.node)
    lines = _boxless(inside(frame.inner if before else [], before, _content(item)), marker)
    result = frame.around(lines) if own == marker else marked_anew(frame, lines, marker)
    return [replace(line, at=None if line.at is None else line.at + part.start) for line in result]


def _boxless(lines: list[Line], marker: Marker) -> list[Line]:
    """The lines of an item, whose text is not taken for the box of a task, which only stands in items."""
    if marker.box or not lines or lines[0].at == 0 or not BOX.match(lines[0].text):
        return lines
    return [Line("\\" + lines[0].text), *lines[1:]]
