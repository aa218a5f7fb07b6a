"""
Merge list items and table rows: unchanged ones keep their lines.

Changed items keep their markers, and changed rows follow the table's style.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mirrord.errors import Damaged
from mirrord.markdown.inline.source_style import Style
from mirrord.markdown.inline.table_cells import ALIGNMENT
from mirrord.markdown.parser.dialect import Surroundings
from mirrord.markdown.read.reader import DONE_BOX, TODO_BOX
from mirrord.markdown.schema.block import Block, block_of
from mirrord.markdown.schema.document import Node
from mirrord.markdown.schema.normal_form import fingerprint, normalize
from mirrord.markdown.schema.normal_tables import COLUMN_ATTRS
from mirrord.markdown.write.block_matching import Pair, match_or_replace_blocks
from mirrord.markdown.write.block_parts import Line, Piece, SplitLines, item_gap, join_pieces
from mirrord.markdown.write.block_writer import render_cell
from mirrord.markdown.write.line_prefixes import TASK_BOX, Marker, frame_of_item, marker_of, replace_marker
from mirrord.markdown.write.moved_items import MovedItems

RearrangeContent = Callable[[Sequence[str], Sequence[Node], Sequence[Node]], list[Line]]

_NUMBER = re.compile(r"\d+")
_ITEM_SIGN = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?:[ \t]|\Z)")
_OPENING_FENCE = re.compile(r"`{3,}[^`]*$|~{3,}")


def rearrange_items(
    cut: SplitLines, new_list: Node, inside: RearrangeContent, moved: MovedItems | None = None
) -> list[Line]:
    """
    The lines of a list, *cut* into its items, turned into the normal list *new_list*.

    inside: turns the lines and old blocks of an item into the lines of its new blocks.
    moved: finds items that come from other lists.

    Raises:
        Damaged: Markdown cannot hold it, or the items cannot be taken apart.
    """
    items = [block_of(item) for item in new_list.get("content", [])]
    pieces: list[Piece] = []
    marker: Marker | None = None
    first_number = _first_number(cut, new_list)
    for block, pair in zip(items, match_or_replace_blocks([part.block for part in cut.parts], items), strict=True):
        item, old = block.normal_form, pair.old if pair else None
        old_marker = _old_marker(cut, old)
        previous, marker = marker, _choose_marker(cut, new_list, item, old_marker, marker)
        if first_number is not None and not (pair and pair.is_equal):
            marker = _with_number(marker, _number_of(previous) + 1 if previous else first_number)
        if pair and pair.is_equal and old_marker == marker:
            pieces.append(Piece(block, cut.lines_of_part(pair.old), old, is_changed=False))
        elif moved and not (pair and pair.is_equal) and (source := moved.find(item)):
            pieces.append(Piece(block, source.below(marker), old, is_changed=True))
        else:
            pieces.append(Piece(block, _rewrite_item(cut, item, old, marker, inside), old, is_changed=True))
    return join_pieces(cut, pieces, item_gap(cut, pieces))


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


def _first_number(cut: SplitLines, new_list: Node) -> int | None:
    """The number that changed items count from; None: each keeps its own, or gets the next one."""
    start = new_list.get("attrs", {}).get("start", 1)
    has_as_many = len(new_list.get("content", [])) == len(cut.parts)
    if new_list["type"] != "orderedList" or not isinstance(start, int) or has_as_many:
        return None
    numbers = [_number_of(marker) for index in range(len(cut.parts)) if (marker := _old_marker(cut, index))]
    return start if numbers and numbers == list(range(numbers[0], numbers[0] + len(numbers))) else None


def _has_rising_numbers(cut: SplitLines) -> bool:
    first, second = _old_marker(cut, 0), _old_marker(cut, 1) if len(cut.parts) > 1 else None
    return not first or not second or _number_of(first) != _number_of(second)


def _rewrite_item(cut: SplitLines, item: Node, old: int | None, marker: Marker, inside: RearrangeContent) -> list[Line]:
    if old is None:
        return frame_of_item([], marker).wrap_content(
            _place_beside_box(inside([], [], _content_without_box(item)), marker)
        )
    part = cut.parts[old]
    old_marker = _old_marker(cut, old) or marker
    frame = frame_of_item(cut.lines[part.start : part.end], old_marker)
    before = _content_without_box(part.node)
    lines = _place_beside_box(inside(frame.inner if before else [], before, _content_without_box(item)), marker)
    if not marker.box and lines and 0 not in (lines[0].at, lines[0].replaced) and _ITEM_SIGN.match(lines[0].text):
        lines = [Line(""), *lines]  # the sign of an item without a text of its own stands alone
    result = frame.wrap_content(lines) if old_marker == marker else replace_marker(frame, lines, marker)
    return [line.shifted(part.start) for line in result]


def _place_beside_box(lines: list[Line], marker: Marker) -> list[Line]:
    """New item lines as what they are: a leading `[ ]` that is text is escaped, a fence or list is below its box."""
    if not lines or lines[0].at == 0:
        return lines
    if marker.box:
        is_below = _OPENING_FENCE.match(lines[0].text) or _ITEM_SIGN.match(lines[0].text)
        return [Line(" "), *lines] if is_below else lines
    return [Line("\\" + lines[0].text), *lines[1:]] if TASK_BOX.match(lines[0].text) else lines


_PIPE = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class _RowLine:
    """
    The line of a row, split at its pipes.

    cells: with their blanks. leading, trailing: the text before the first cell and after the last.
    """

    leading: str
    cells: Sequence[str]
    trailing: str

    def line(self, cells: Sequence[str]) -> str:
        """The same row with other *cells*."""
        if len(cells) == 1 and not self.trailing:  # a single cell without pipes is no row
            return f"|{cells[0]}|"
        # beside an empty cell, an omitted outer pipe would be confused with one between cells
        opening = self.leading if "|" in self.leading or cells[0].strip() else self.leading + "|"
        closing = self.trailing if self.trailing or cells[-1].strip() else "|"
        text = "|".join(cells)
        text = text if "|" in opening else text.lstrip()
        return opening + (text if closing else text.rstrip()) + closing


@dataclass(frozen=True, slots=True)
class _OldTable:
    """
    The old table.

    rows: nodes without what their columns set. columns: the widths to which cells are padded, 0: not padded.
    written: the Markdown of new cells by their meaning, as those of a column are often the same.
    """

    lines: Sequence[str]
    rows: Sequence[Node]
    columns: Sequence[int]
    style: Style
    surroundings: Surroundings
    written: dict[str, str] = field(default_factory=dict)

    def write(self, cell: Node) -> str:
        """The Markdown of a new normal *cell*."""
        meaning = fingerprint(cell)
        if meaning not in self.written:
            self.written[meaning] = render_cell(cell, self.style, self.surroundings)
        return self.written[meaning]

    def source(self, row: int) -> str:
        """The line of a row; the second line of the table is no row."""
        return self.lines[row + 1 if row else 0]


def rearrange_rows(
    lines: Sequence[str], old: Node, new_table: Node, style: Style, surroundings: Surroundings
) -> list[Line]:
    """
    The *lines* of the table *old* turned into *new_table*, both normal.

    surroundings: of the page.

    Raises:
        Damaged: Markdown cannot hold a cell, or the number of lines does not fit the rows.
    """
    before, after = old.get("content", []), new_table.get("content", [])
    if len(lines) != len(before) + 1 or not after or old.get("attrs") != new_table.get("attrs"):
        raise Damaged("the rows of the table are not its lines")
    table = _OldTable(lines, [_without_column_attrs(row) for row in before], _column_widths(lines), style, surroundings)
    rows = [_without_column_attrs(row) for row in after]
    pairs = match_or_replace_blocks(_blocks_of_rows(table.rows[1:]), _blocks_of_rows(rows[1:]))
    head = _write_row(table, after[0], Pair(0, table.rows[0] == rows[0]), 0)
    result = [head, _write_rule(table, before[0], after[0])]
    nearest = 0
    for row, pair in zip(after[1:], pairs, strict=True):
        nearest = pair.old + 1 if pair else nearest
        result.append(_write_row(table, row, pair, nearest))
    return result


def _blocks_of_rows(rows: Sequence[Node]) -> list[Block]:
    return [block_of(row) for row in rows]


def _without_column_attrs(row: Node) -> Node:
    """A row without alignment and widths of its cells, which lines above set for all rows."""
    return {**row, "content": [_cell_without_column_attrs(cell) for cell in row.get("content", [])]}


def _cell_without_column_attrs(cell: Node) -> Node:
    attrs = {key: value for key, value in cell.get("attrs", {}).items() if key not in COLUMN_ATTRS}
    bare: Node = {key: value for key, value in cell.items() if key != "attrs"}  # type: ignore[assignment]
    return {**bare, "attrs": attrs} if attrs else bare


def _column_widths(lines: Sequence[str]) -> list[int]:
    header, rule = _split_row(lines[0]), _split_row(lines[1])
    return [
        len(cell) if len(cell) == len(dashes) else 0 for cell, dashes in zip(header.cells, rule.cells, strict=False)
    ]


def _split_row(line: str) -> _RowLine:
    lead = line[: len(line) - len(line.lstrip())]
    cells = _PIPE.split(line.strip())
    trailing = ""
    if cells[0] == "" and len(cells) > 1:
        lead, cells = lead + "|", cells[1:]
    if cells[-1] == "" and len(cells) > 1:
        trailing, cells = "|", cells[:-1]
    return _RowLine(lead, cells, trailing)


def _write_row(table: _OldTable, row: Node, pair: Pair | None, nearest: int) -> Line:
    """The unchanged line of a row, or a new one in the style of the row it replaces or the *nearest* one above."""
    at = (nearest + 1) if nearest else 0
    if pair and pair.is_equal:
        return Line(table.source(nearest), at)
    pattern = _split_row(table.source(nearest))
    cells = row.get("content", [])
    bare = [_cell_without_column_attrs(cell) for cell in cells]
    old_cells = table.rows[nearest].get("content", []) if pair else []
    places = _places_of_cells(old_cells, bare) if len(old_cells) == len(pattern.cells) else {}
    cell_texts = [
        pattern.cells[places[index]]
        if index in places
        else _pad_cell(table, table.write(bare[index]), pattern, index, cell)
        for index, cell in enumerate(cells)
    ]
    return Line(pattern.line(cell_texts))


def _places_of_cells(old: Sequence[Node], new: Sequence[Node]) -> Mapping[int, int]:
    """For the cells of a row that were in the *old* one their numbers there; columns may have come or gone between."""
    if len(old) == len(new):
        return {index: index for index, cell in enumerate(new) if cell == old[index]}
    shorter = min(len(old), len(new))
    first = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    last = next((at for at in range(shorter - first) if old[-1 - at] != new[-1 - at]), shorter - first)
    shift = len(old) - len(new)
    return {at: at for at in range(first)} | {at: at + shift for at in range(len(new) - last, len(new))}


def _pad_cell(table: _OldTable, text: str, pattern: _RowLine, index: int, cell: Node) -> str:
    blank = " " if index >= len(pattern.cells) or pattern.cells[index][:1] in ("", " ") else ""
    if not blank and not any(raw.startswith(" ") for raw in pattern.cells):
        return text
    width = table.columns[index] - 2 if index < len(table.columns) else 0
    align = cell.get("attrs", {}).get("align")
    text = text.rjust(width) if align == "right" else text.center(width) if align == "center" else text.ljust(width)
    return f" {text} "


def _write_rule(table: _OldTable, old: Node, new: Node) -> Line:
    """The line below the header, unchanged unless a column was added, removed or realigned."""
    before, after = ([cell.get("attrs", {}).get("align") for cell in row.get("content", [])] for row in (old, new))
    if before == after:
        return Line(table.lines[1], 1)
    pattern = _split_row(table.lines[1])
    cells = []
    for index, align in enumerate(after):
        raw = pattern.cells[index] if index < len(pattern.cells) else f" {'---'} "
        same = index < len(before) and before[index] == align
        cells.append(raw if same else raw.replace(raw.strip(), _write_dashes(align, len(raw.strip()))))
    return Line(pattern.line(cells))


def _write_dashes(align: object, width: int) -> str:
    short = ALIGNMENT.get(str(align), "---")
    return short.replace("-" * short.count("-"), "-" * max(short.count("-"), width - short.count(":")))
