"""What Markdown has one form for in tables: the paragraphs of a cell, and the alignment and width of a column."""

from collections.abc import Mapping, Sequence
from typing import Final

from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.schema.document import Node

CELLS: Final = frozenset(["tableHeader", "tableCell"])
COLUMN_ATTRS: Final = frozenset(["align", "colwidth"])  # attributes of a cell that its column has


def join_paragraphs(content: Sequence[Node]) -> list[Node]:
    """The inline content of the normal blocks of a cell, a break between two; empty unless all are plain paragraphs."""
    if any(child["type"] != "paragraph" or "attrs" in child or "marks" in child for child in content):
        return []
    joined: list[Node] = []
    for child in content:
        joined += [*([{"type": "hardBreak"}] if joined else []), *child.get("content", [])]  # type: ignore[list-item]
    return joined


def align_rows(rows: list[Node]) -> list[Node]:
    """Normal rows whose cells have by default the alignment of their header and the width of the cell above all."""
    columns = [_column_attrs(head) for head in (rows[0].get("content") or [])] if rows else []
    if not any(columns) or any(_spans(cell) for row in rows for cell in (row.get("content") or [])):
        return rows
    return [rows[0], *(_align_row(row, columns) for row in rows[1:])]


def _column_attrs(head: Node) -> dict[str, Json]:
    """What the other cells of a column have by default."""
    attrs = head.get("attrs") or {}
    names = COLUMN_ATTRS if head["type"] == "tableHeader" else COLUMN_ATTRS - {"align"}
    return {name: attrs[name] for name in sorted(names & attrs.keys())}


def _align_row(row: Node, columns: Sequence[Mapping[str, Json]]) -> Node:
    cells = row.get("content") or []
    aligned = [_align_cell(cell, attrs) for cell, attrs in zip(cells, columns, strict=False)]
    return {**row, "content": [*aligned, *cells[len(aligned) :]]} if cells else row


def _align_cell(cell: Node, column: Mapping[str, Json]) -> Node:
    attrs = cell.get("attrs") or {}
    if column.keys() <= attrs.keys() or cell["type"] not in CELLS:
        return cell
    return {**cell, "attrs": {**column, **attrs}}


def _spans(cell: Node) -> bool:
    return not (cell.get("attrs") or {}).keys().isdisjoint(("colspan", "rowspan"))
