"""
Widths of columns: a comment above a table, which viewers do not show, and `colwidth` of its cells. Pure.

`<!-- columns: 120 - 240 -->` has a width in pixels for each column; `-` is as wide as its words.
"""

import re
from collections.abc import Sequence
from typing import Final

from mirrord.markdown.schema.document import Node

Widths = tuple[int | None, ...]  # one for each column; () for a table without any

MAX_WIDTH_PX: Final = 10_000

_COMMENT = re.compile(r"<!--[ \t]*columns:((?:[ \t]+(?:-|[1-9][0-9]{0,4}))+)[ \t]+-->")
_AUTOMATIC = "-"


def read_widths(source: str) -> Widths:
    """The widths in the comment *source*; () if it is any other text."""
    match = _COMMENT.fullmatch(source.strip(" \n"))
    widths = tuple(None if word == _AUTOMATIC else int(word) for word in match[1].split()) if match else ()
    return widths if any(widths) and all(width is None or width <= MAX_WIDTH_PX for width in widths) else ()


def write_widths(widths: Widths) -> str:
    """The comment that holds *widths*."""
    return f"<!-- columns: {' '.join(_AUTOMATIC if width is None else str(width) for width in widths)} -->"


def widths_of(rows: Sequence[Node]) -> Widths:
    """The widths on which all *rows* of a normal table agree; () if they have none, or do not agree."""
    widths = _widths_of_row(rows[0])
    if not any(widths) or not all(_widths_of_row(row) == widths for row in rows[1:]):
        return ()
    return widths


def _widths_of_row(row: Node) -> Widths:
    """The widths of the cells of a normal row; () if one of them has `colwidth` that the comment cannot say."""
    values = [(cell.get("attrs") or {}).get("colwidth") for cell in row.get("content", [])]
    widths = tuple(map(to_width, values))
    return widths if all(value is None or width for value, width in zip(values, widths, strict=True)) else ()


def give_widths(rows: Sequence[Node], widths: Widths) -> None:
    """Write *widths* into the cells of the *rows* of a table that has as many columns."""
    for row in rows:
        for cell, width in zip(row.get("content", []), widths, strict=False):
            if width is not None:
                cell["attrs"] = {**cell.get("attrs", {}), "colwidth": [width]}


def to_width(value: object) -> int | None:
    """The width of one column in `colwidth`, in whole pixels; None for every other value."""
    width = value[0] if isinstance(value, list) and len(value) == 1 else None
    is_width = isinstance(width, int) and not isinstance(width, bool) and 1 <= width <= MAX_WIDTH_PX
    return width if is_width else None
