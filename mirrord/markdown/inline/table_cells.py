"""Tables in both directions: cells in one-line rows, and comments for what Markdown tables cannot express."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.inline.inline_writer import write_inline
from mirrord.markdown.inline.source_style import Style
from mirrord.markdown.schema.column_widths import Widths, give_widths, widths_of, write_widths
from mirrord.markdown.schema.document import Node, is_in_bounds, write_comment
from mirrord.markdown.schema.node_rules import extra_attrs_of

ALIGNMENT = {"left": ":--", "center": ":-:", "right": "--:"}


def write_table(node: Node, style: Style) -> str:
    """The lines of a normal table."""
    rows = node.get("content", [])
    width = len(rows[0]["content"])
    lines = [write_row(row, style) for row in rows]
    if not _has_header(rows):
        lines.insert(0, "|" + "  |" * width)
    aligned = [ALIGNMENT.get(align, "---") for align in _column_alignments(rows)]
    return "\n".join([lines[0], f"| {' | '.join(aligned)} |", *lines[1:]])


def write_row(row: Node, style: Style) -> str:
    """The line of a normal row."""
    return f"| {' | '.join(write_cell(cell, style) for cell in row.get('content', []))} |"


def write_table_comments(node: Node) -> list[str]:
    """The comments above a normal table: what Markdown cannot express, and the widths of its columns."""
    extra_attrs, widths = table_extra_attrs(node), widths_of(node.get("content", []))
    return [*([write_comment(extra_attrs)] if extra_attrs else []), *([write_widths(widths)] if widths else [])]


def table_extra_attrs(node: Node) -> dict[str, Json]:
    """The attributes of a normal table that only JSON can hold, those of its cells under `cells`."""
    rows = node.get("content", [])
    header, alignment = _has_header(rows), _column_alignments(rows)
    comments_hold = frozenset(["colwidth"]) if widths_of(rows) else frozenset[str]()
    result, cells = extra_attrs_of(node), dict[str, Json]()
    if not header:
        result["header"] = False
    for number, row in enumerate(rows):
        for column, cell in enumerate(row["content"]):
            kind = "tableHeader" if header and number == 0 else "tableCell"
            cell_attrs = _cell_extras(cell, kind, alignment[column])
            if others := {key: value for key, value in cell_attrs.items() if key not in comments_hold}:
                cells[f"{number},{column}"] = others
    return {**result, "cells": cells} if cells else result


def read_table(rows: list[Node], attrs: Mapping[str, Json], widths: Widths = ()) -> Node:
    """A table of the *rows* in Markdown, with the attributes and the widths of its comments."""
    give_widths(rows, widths)
    if attrs.get("header") is False and len(rows) > 1 and not _has_content(rows[0]):
        rows = rows[1:]
    cells = attrs.get("cells")
    for place, cell_attrs in cells.items() if isinstance(cells, dict) else ():
        if isinstance(cell_attrs, dict) and (cell := _cell_at(rows, place)):
            _apply_extras(cell, cell_attrs)
    table_attrs = {key: value for key, value in attrs.items() if key not in ("cells", "header")}
    return (
        {"type": "table", "attrs": table_attrs, "content": rows} if table_attrs else {"type": "table", "content": rows}
    )


def _has_header(rows: Sequence[Node]) -> bool:
    return all(cell["type"] == "tableHeader" for cell in rows[0]["content"])


def _has_content(row: Node) -> bool:
    return any("content" in paragraph for cell in row["content"] for paragraph in cell["content"])


def _column_alignments(rows: Sequence[Node]) -> list[str]:
    """The alignment of each column, "" if its cells differ."""
    columns = zip(*(row["content"] for row in rows), strict=True)
    alignments = [{str(cell.get("attrs", {}).get("align", "")) for cell in column} for column in columns]
    return [column.pop() if len(column) == 1 else "" for column in alignments]


def write_cell(cell: Node, style: Style) -> str:
    """The text between the pipes of a normal cell, without the blanks around it."""
    content = cell.get("content", [])
    text = write_inline(content[0].get("content", []), style, one_line=True) if content else ""
    return text.replace("|", r"\|")


def _cell_extras(cell: Node, kind: str, align: str) -> dict[str, Json]:
    result = extra_attrs_of(cell)
    if cell["type"] != kind:
        result["type"] = cell["type"]
    cell_align = cell.get("attrs", {}).get("align")
    if cell_align is not None and cell_align != align:
        result["align"] = cell_align
    for paragraph in cell.get("content", []):
        if paragraph_attrs := extra_attrs_of(paragraph):
            result["paragraph"] = paragraph_attrs
    return result


def _cell_at(rows: Sequence[Node], place: str) -> Node | None:
    row, _, column = place.partition(",")
    if not (row.isdecimal() and column.isdecimal() and len(place) < 16):
        return None
    if int(row) >= len(rows) or int(column) >= len(rows[int(row)]["content"]):
        return None
    return rows[int(row)]["content"][int(column)]


def _apply_extras(cell: Node, extra_attrs: Mapping[str, Json]) -> None:
    if extra_attrs.get("type") in ("tableHeader", "tableCell"):
        cell["type"] = str(extra_attrs["type"])
    paragraph = extra_attrs.get("paragraph")
    if isinstance(paragraph, dict) and paragraph:
        cell["content"][0]["attrs"] = paragraph
    cell["attrs"] = {**dict(_plain_attrs(extra_attrs)), **_markdown_attrs(cell)}


def _plain_attrs(extra_attrs: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """The attributes of a cell in a comment, without numbers that are out of their bounds."""
    return (
        (key, value)
        for key, value in extra_attrs.items()
        if key not in ("type", "paragraph") and is_in_bounds("tableCell", key, value)
    )


def _markdown_attrs(cell: Node) -> dict[str, Json]:
    """The attributes of a cell in Markdown, which no comment overrides."""
    return cast(dict[str, Json], {key: value for key, value in cell.get("attrs", {}).items() if value is not None})
