"""Single blocks written anew, each read back alone before it counts."""

from collections.abc import Mapping
from typing import Any

from mirrord.codec.document import Node
from mirrord.codec.normal import difference, fingerprint, normal
from mirrord.codec.reader import nodes
from mirrord.codec.segments import outline
from mirrord.codec.style import Style, variants
from mirrord.codec.writer import write
from mirrord.errors import Damaged


def written_cell(cell: Node, style: Style, references: Mapping[str, Any]) -> str:
    """
    Markdown of what is in one normal cell of a table, that alone in a table is read as that.

    Raises:
        Damaged: there is none.
    """
    inline = [child for paragraph in cell.get("content", []) for child in paragraph.get("content", [])]
    head: Node = {"type": "tableHeader", "content": [{"type": "paragraph", "content": inline}]}
    table = normal({"type": "table", "content": [{"type": "tableRow", "content": [head]}]})
    row, _ = written(table, style, references).split("\n")
    return row.removeprefix("| ").removesuffix(" |")


def written(node: Node, style: Style, references: Mapping[str, Any]) -> str:
    """
    Markdown of one normal block, lines ending with LF, that alone is read as that block.

    Raises:
        Damaged: there is none.
    """
    wanted, lost = fingerprint(node), ""
    for variant in variants(style):
        source = write(node, variant)
        got = [normal(block) for block in nodes(outline(source, references))]
        if [fingerprint(block) for block in got] == [wanted]:
            return source
        lost = lost or difference(node, got[0] if len(got) == 1 else None)
    raise Damaged(f"the change would lose {lost}: Markdown cannot hold it")
