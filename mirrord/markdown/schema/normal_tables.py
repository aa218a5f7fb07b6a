"""What Markdown has one form for in tables: the paragraphs of a cell, and the alignment of a column."""

from collections.abc import Sequence
from typing import Final

from mirrord.markdown.schema.document import Node

CELLS: Final = frozenset(["tableHeader", "tableCell"])


def join_paragraphs(content: Sequence[Node]) -> list[Node]:
    """The inline content of the normal blocks of a cell, a break between two; empty unless all are plain paragraphs."""
    if any(child["type"] != "paragraph" or "attrs" in child or "marks" in child for child in content):
        return []
    joined: list[Node] = []
    for child in content:
        joined += [*([{"type": "hardBreak"}] if joined else []), *child.get("content", [])]  # type: ignore[list-item]
    return joined


def align_rows(rows: list[Node]) -> list[Node]:
    """Normal rows whose cells without an alignment have that of their column's header."""
    heads = (rows[0].get("content") or []) if rows else []
    columns = [(head.get("attrs") or {}).get("align") if head["type"] == "tableHeader" else None for head in heads]
    if not any(columns) or any(_spans(cell) for row in rows for cell in (row.get("content") or [])):
        return rows
    return [rows[0], *(_align_row(row, columns) for row in rows[1:])]


def _align_row(row: Node, columns: Sequence[object]) -> Node:
    cells = row.get("content") or []
    aligned = [_align_cell(cell, align) for cell, align in zip(cells, columns, strict=False)]
    return {**row, "content": [*aligned, *cells[len(aligned) :]]} if cells else row


def _align_cell(cell: Node, align: object) -> Node:
    attrs = cell.get("attrs") or {}
    if not isinstance(align, str) or "align" in attrs or cell["type"] not in CELLS:
        return cell
    return {**cell, "attrs": {**attrs, "align": align}}


def _spans(cell: Node) -> bool:
    return not (cell.get("attrs") or {}).keys().isdisjoint(("colspan", "rowspan"))
