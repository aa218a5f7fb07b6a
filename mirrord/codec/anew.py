"""Render single blocks; each is read back by itself before it is accepted."""

from collections.abc import Mapping
from typing import Any

from mirrord.codec.document import Node
from mirrord.codec.normal import fingerprint, first_difference, normalize
from mirrord.codec.reader import read_nodes
from mirrord.codec.segments import outline_of
from mirrord.codec.style import Style, style_variants
from mirrord.codec.writer import write_block
from mirrord.errors import Damaged


def render_cell(cell: Node, style: Style, references: Mapping[str, Any]) -> str:
    """
    Markdown of the content of one normal table cell, verified by reading it back in a table of its own.

    Raises:
        Damaged: no Markdown is read back as this cell.
    """
    inline = [child for paragraph in cell.get("content", []) for child in paragraph.get("content", [])]
    head: Node = {"type": "tableHeader", "content": [{"type": "paragraph", "content": inline}]}
    table = normalize({"type": "table", "content": [{"type": "tableRow", "content": [head]}]})
    row, _ = render_block(table, style, references).split("\n")
    return row.removeprefix("| ").removesuffix(" |")


def render_block(node: Node, style: Style, references: Mapping[str, Any]) -> str:
    """
    Markdown of one normal block with LF line endings, verified by reading it back by itself.

    Raises:
        Damaged: no Markdown is read back as this block.
    """
    expected, lost = fingerprint(node), ""
    for variant in style_variants(style):
        source = write_block(node, variant)
        blocks_read = [normalize(block) for block in read_nodes(outline_of(source, references))]
        if [fingerprint(block) for block in blocks_read] == [expected]:
            return source
        lost = lost or first_difference(node, blocks_read[0] if len(blocks_read) == 1 else None)
    raise Damaged(f"the change would lose {lost}: Markdown cannot hold it")
