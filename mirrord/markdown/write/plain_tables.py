"""
Tables of apps as Markdown can have them: blocks in cells become lines, and merged cells a first one and empty ones.

A table that is JSON in the page stays so while an app edits it, and so does one with nodes of an app's own in its
cells. Pure.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from mirrord.errors import Damaged
from mirrord.markdown.content_loss import ContentLoss
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.schema.block import children_of, id_of
from mirrord.markdown.schema.document import BLOCKS, INLINE, Document, Mark, Node, text_node
from mirrord.markdown.schema.node_rules import has_no_markdown
from mirrord.markdown.schema.normal_form import fingerprint, normalize, wrap_inlines

_BOLD: Final[Mark] = {"type": "bold"}
_CODE: Final[Mark] = {"type": "code"}
_BULLETS: Final = ("•", "◦", "▪")  # by the depth of a list
_CELLS: Final = ("tableHeader", "tableCell")
MAX_ADDED_CELLS: Final = 100_000  # empty cells: one row may be long, and thousands below it short
_NOT_OF_MARKDOWN: Final = frozenset(["colspan", "rowspan", "type", "paragraph"])  # attributes of a cell

Line = list[Node]


def with_plain_tables(document: Document, before: Sequence[Node], rule: ContentLoss) -> Document:
    """
    A checked *document* of an app with tables that Markdown can have. before: the blocks of the page.

    Raises:
        Damaged: there is another table, and the rule is to refuse it.
    """
    if rule is ContentLoss.JSON or not _holds_table(document):
        return document
    tables = list(_tables_in(before))

    def plain(table: Node) -> Node:
        if table in tables or not _is_irregular(table) or _is_in(tables, table):  # most tables of a page did not change
            return table
        if rule is ContentLoss.REFUSE:
            raise Damaged("a table has blocks in its cells, cells that span others, or rows of unequal length")
        return plain_table(table)

    return _with_tables(document, plain)


def plain_table(table: Node) -> Node:
    """*table* as Markdown can have it; the same table if nodes of an app would be lost, or too many cells be added."""
    rows = table.get("content") or []
    cells = [cell for row in rows for cell in row.get("content") or []]
    if any(map(_holds_unknown, cells)) or _covered_cells(rows) - len(cells) > MAX_ADDED_CELLS:
        return table
    places = _places_of(rows)
    width = max((column + 1 for _, column in places), default=0)
    if width * len(rows) - len(cells) > MAX_ADDED_CELLS:
        return table
    grid = _grid_of(places, len(rows))
    lines: list[Node] = [
        {"type": "tableRow", "content": [*row, *[_empty_cell(_kind_of_empty(row))] * (width - len(row))]}
        for row in grid
    ]
    result: Node = {**table, "content": lines}
    return table if has_no_markdown(normalize(result)) else result


def _with_tables(node: Node, plain: Callable[[Node], Node]) -> Node:
    if node["type"] == "table":
        return plain(node)
    children = node.get("content") or []
    if node["type"] != "doc" and not children_of(node):
        return node
    return {**node, "content": [_with_tables(child, plain) for child in children]}


def _holds_table(node: Node) -> bool:
    return node["type"] == "table" or any(map(_holds_table, node.get("content") or ()))


def _tables_in(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        if node["type"] == "table":
            yield node
        else:
            yield from _tables_in(children_of(node))


def _is_irregular(table: Node) -> bool:
    return has_no_markdown(normalize(table))


def _is_in(tables: Sequence[Node], table: Node) -> bool:
    """Whether one of the *tables*, which is irregular as well, has the id or the meaning of *table*."""
    fences = [other for other in tables if _is_irregular(other)]
    if any(id_of(table) == id_of(other) is not None for other in fences):
        return True
    return fingerprint(normalize(table)) in {fingerprint(normalize(other)) for other in fences}


def _holds_unknown(node: Node) -> bool:
    children = [] if node["type"] in INLINE else node.get("content") or []
    is_known = node["type"] in BLOCKS or node["type"] in INLINE
    return not is_known or any(map(_holds_unknown, children))


def _covered_cells(rows: Sequence[Node]) -> int:
    """How many cells those of *rows* cover by their spans; one that two of them cover counts twice."""
    return sum(
        _span_of(cell, "colspan") * min(_span_of(cell, "rowspan"), len(rows) - number)
        for number, row in enumerate(rows)
        for cell in row.get("content") or []
    )


def _places_of(rows: Sequence[Node]) -> dict[tuple[int, int], Node]:
    """The plain cells by row and column, with an empty one where one beside or above reaches."""
    places: dict[tuple[int, int], Node] = {}
    for number, row in enumerate(rows):
        column = 0
        for cell in row.get("content") or []:
            while (number, column) in places:
                column += 1
            plain = _plain_cell(cell)
            for y in range(number, min(number + _span_of(cell, "rowspan"), len(rows))):
                for x in range(column, column + _span_of(cell, "colspan")):
                    places.setdefault((y, x), _empty_cell(plain["type"] if y == number else "tableCell", plain))
            places[number, column] = plain
    return places


def _grid_of(places: Mapping[tuple[int, int], Node], height: int) -> list[list[Node]]:
    """The plain cells of each row in *places*."""
    widths = [0] * height
    for number, column in places:
        widths[number] = max(widths[number], column + 1)
    return [
        [places.get((number, x)) or _empty_cell("tableCell") for x in range(width)]
        for number, width in enumerate(widths)
    ]


def _kind_of_empty(row: Sequence[Node]) -> str:
    return "tableHeader" if row and all(cell["type"] == "tableHeader" for cell in row) else "tableCell"


def _empty_cell(kind: str, beside: Node | None = None) -> Node:
    """An empty cell with the alignment of the one that reached into it."""
    align = (beside.get("attrs") or {}).get("align") if beside else None
    attrs: dict[str, Json] = {} if align is None else {"align": align}
    return {"type": kind, **({"attrs": attrs} if attrs else {}), "content": [{"type": "paragraph"}]}  # type: ignore[typeddict-item]


def _span_of(cell: Node, name: str) -> int:
    value = (cell.get("attrs") or {}).get(name)
    return value if isinstance(value, int) and value > 1 else 1


def _plain_cell(cell: Node) -> Node:
    if cell["type"] not in _CELLS:
        return _empty_cell("tableCell")
    left_out = _NOT_OF_MARKDOWN | ({"colwidth"} if _span_of(cell, "colspan") > 1 else set())
    attrs: dict[str, Json] = {key: value for key, value in (cell.get("attrs") or {}).items() if key not in left_out}
    content = cell.get("content") or []
    if any(child["type"] != "paragraph" for child in content):
        content = [{"type": "paragraph", "content": _joined(_lines_of_blocks(content))}]
    return {"type": cell["type"], **({"attrs": attrs} if attrs else {}), "content": content}  # type: ignore[typeddict-item]


def _joined(lines: Sequence[Line]) -> Line:
    """The lines as one, with line breaks."""
    joined: Line = []
    for line in lines:
        joined += [*([{"type": "hardBreak"}] if joined else []), *line]  # type: ignore[list-item]
    return joined


def _lines_of_blocks(blocks: Sequence[Node], depth: int = 0) -> list[Line]:
    return [line for block in wrap_inlines(blocks) for line in _lines_of(block, depth) if line]


def _lines_of(block: Node, depth: int) -> list[Line]:
    name, content = block["type"], block.get("content") or []
    if name in ("bulletList", "orderedList", "taskList"):
        return _lines_of_list(block, depth)
    if name in ("paragraph", "heading", "detailsSummary"):
        return [content if name == "paragraph" else [_with_mark(node, _BOLD) for node in content]]
    if name in ("codeBlock", "rawBlock"):
        source = "".join(child.get("text", "") for child in content) or _string(block, "raw")
        return [[text_node(line, [_CODE])] for line in source.split("\n") if line.strip()]
    if name == "mathBlock":
        latex = " ".join(_string(block, "latex").split())
        return [[{"type": "mathInline", "attrs": {"latex": latex, "display": True}}]]
    if name == "horizontalRule":
        return [[text_node("———")]]
    if name == "tableRow":
        return [_joined_cells(content, depth)]
    title = _string(block, "title") or _string(block, "type") if name == "callout" else ""
    return [*([[text_node(title, [_BOLD])]] if title else []), *_lines_of_blocks(content, depth)]


def _lines_of_list(node: Node, depth: int) -> list[Line]:
    first = (node.get("attrs") or {}).get("start")
    lines: list[Line] = []
    for number, item in enumerate(node.get("content") or [], first if isinstance(first, int) else 1):
        head, *others = _lines_of_blocks(item.get("content") or [], depth + 1) or [[]]
        lines += [[text_node(_marker(node, item, number, depth) + " "), *head], *others]
    return lines


def _marker(node: Node, item: Node, number: int, depth: int) -> str:
    if node["type"] == "orderedList":
        return f"{number}."
    if node["type"] == "taskList":
        return "☑" if (item.get("attrs") or {}).get("checked") is True else "☐"
    return _BULLETS[min(depth, len(_BULLETS) - 1)]


def _joined_cells(cells: Sequence[Node], depth: int) -> Line:
    """The cells of a row of a table in a cell, in one line."""
    joined: Line = []
    for cell in cells:
        joined += [
            *([text_node(" | ")] if joined else []),
            *_joined(_lines_of_blocks(cell.get("content") or [], depth)),
        ]
    return joined


def _with_mark(node: Node, mark: Mark) -> Node:
    marks = node.get("marks") or []
    is_marked = node["type"] != "text" or any(other["type"] in (mark["type"], "code") for other in marks)
    return node if is_marked else {**node, "marks": [*marks, mark]}


def _string(node: Node, name: str) -> str:
    value = (node.get("attrs") or {}).get(name)
    return value if isinstance(value, str) else ""
