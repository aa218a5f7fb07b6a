"""Tables, both ways: cells in rows of one line, and in a comment what Markdown's tables cannot say."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from mirrord.codec.document import Node
from mirrord.codec.inline_writer import write_inline
from mirrord.codec.properties import Json
from mirrord.codec.schema import extras
from mirrord.codec.style import Style

ALIGNMENT = {"left": ":--", "center": ":-:", "right": "--:"}


def write_table(node: Node, style: Style) -> str:
    """The lines of a normal table."""
    rows = node.get("content", [])
    width = len(rows[0]["content"])
    lines = [write_row(row, style) for row in rows]
    if not _has_header(rows):
        lines.insert(0, "|" + "  |" * width)
    aligned = [ALIGNMENT.get(align, "---") for align in _alignment(rows)]
    return "\n".join([lines[0], f"| {' | '.join(aligned)} |", *lines[1:]])


def write_row(row: Node, style: Style) -> str:
    """The line of a normal row."""
    return f"| {' | '.join(write_cell(cell, style) for cell in row.get('content', []))} |"


def table_extras(node: Node) -> dict[str, Json]:
    """The attributes of a normal table that Markdown has no place for, those of its cells under `cells`."""
    rows = node.get("content", [])
    header, alignment = _has_header(rows), _alignment(rows)
    result, cells = extras(node), dict[str, Json]()
    if not header:
        result["header"] = False
    for number, row in enumerate(rows):
        for column, cell in enumerate(row["content"]):
            kind = "tableHeader" if header and number == 0 else "tableCell"
            if found := _cell_extras(cell, kind, alignment[column]):
                cells[f"{number},{column}"] = found
    return {**result, "cells": cells} if cells else result


def read_table(rows: list[Node], attrs: Mapping[str, Json]) -> Node:
    """A table of the *rows* Markdown shows, with what its comment says."""
    if attrs.get("header") is False and len(rows) > 1 and not _is_filled(rows[0]):
        rows = rows[1:]
    cells = attrs.get("cells")
    for place, given in cells.items() if isinstance(cells, dict) else ():
        if isinstance(given, dict) and (cell := _at(rows, place)):
            _complete(cell, given)
    own = {key: value for key, value in attrs.items() if key not in ("cells", "header")}
    return {"type": "table", "attrs": own, "content": rows} if own else {"type": "table", "content": rows}


def _has_header(rows: Sequence[Node]) -> bool:
    return all(cell["type"] == "tableHeader" for cell in rows[0]["content"])


def _is_filled(row: Node) -> bool:
    return any("content" in paragraph for cell in row["content"] for paragraph in cell["content"])


def _alignment(rows: Sequence[Node]) -> list[str]:
    """Of each column, where all its cells agree."""
    columns = zip(*(row["content"] for row in rows), strict=True)
    found = [{str(cell.get("attrs", {}).get("align", "")) for cell in column} for column in columns]
    return [column.pop() if len(column) == 1 else "" for column in found]


def write_cell(cell: Node, style: Style) -> str:
    """What stands between the pipes of a normal cell, without the blanks around it."""
    content = cell.get("content", [])
    text = write_inline(content[0].get("content", []), style, one_line=True) if content else ""
    return text.replace("|", r"\|")


def _cell_extras(cell: Node, kind: str, align: str) -> dict[str, Json]:
    result = extras(cell)
    if cell["type"] != kind:
        result["type"] = cell["type"]
    own = cell.get("attrs", {}).get("align")
    if own is not None and own != align:
        result["align"] = own
    for paragraph in cell.get("content", []):
        if found := extras(paragraph):
            result["paragraph"] = found
    return result


def _at(rows: Sequence[Node], place: str) -> Node | None:
    row, _, column = place.partition(",")
    if not (row.isdecimal() and column.isdecimal() and len(place) < 16):
        return None
    if int(row) >= len(rows) or int(column) >= len(rows[int(row)]["content"]):
        return None
    return rows[int(row)]["content"][int(column)]


def _complete(cell: Node, given: Mapping[str, Json]) -> None:
    if given.get("type") in ("tableHeader", "tableCell"):
        cell["type"] = str(given["type"])
    paragraph = given.get("paragraph")
    if isinstance(paragraph, dict) and paragraph:
        cell["content"][0]["attrs"] = paragraph
    cell["attrs"] = {**dict(_given(given)), **_said(cell)}


def _given(given: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    return ((key, value) for key, value in given.items() if key not in ("type", "paragraph"))


def _said(cell: Node) -> dict[str, Json]:
    """What Markdown says of a cell, which no comment overrides."""
    return cast(dict[str, Json], {key: value for key, value in cell.get("attrs", {}).items() if value is not None})
