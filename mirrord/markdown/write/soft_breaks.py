"""
Line breaks that an editor made hard without being asked come back soft.

TipTap without `whitespace: 'pre'` reads the soft breaks of a paragraph as hard ones once a key is typed in it.
"""

from collections.abc import Mapping, Sequence

from mirrord.markdown.inline.inline_reader import merge_texts
from mirrord.markdown.inline.source_map import UnitKey
from mirrord.markdown.inline.unit_diff import changed_runs
from mirrord.markdown.schema.block import children_of, id_of
from mirrord.markdown.schema.document import TEXTBLOCKS, Document, Mark, Node, text_node

_NO_MARKS: frozenset[str] = frozenset()
_BREAK: UnitKey = ("\n", _NO_MARKS)
_ATOM: UnitKey = ("", _NO_MARKS)


def with_soft_breaks(written: Document, old: Document) -> Document:
    """
    The document *written* by an app, with the soft breaks of *old*, the previous document, where it has hard ones.

    Only in textblocks where every soft break became hard, and in which more changed than a single break.
    """
    if not _has_hard_breaks(written):
        return written
    old_nodes: dict[str, Node] = {}
    _collect_ids(old.get("content") or [], old_nodes)
    content = written.get("content") or []
    return {**written, "content": _with_soft_breaks(content, old.get("content") or [], old_nodes)}


def _has_hard_breaks(node: Node) -> bool:
    return node["type"] == "hardBreak" or any(map(_has_hard_breaks, node.get("content") or ()))


def _collect_ids(content: Sequence[Node], nodes: dict[str, Node]) -> None:
    for node in content:
        if node_id := id_of(node):
            nodes.setdefault(node_id, node)
        _collect_ids(children_of(node), nodes)


def _with_soft_breaks(content: Sequence[Node], old: Sequence[Node], old_nodes: Mapping[str, Node]) -> list[Node]:
    """Blocks are known by their ids, those without by their place if there are as many as before."""
    places: Sequence[Node | None] = old if len(old) == len(content) else [None] * len(content)
    return [
        _soften(node, old_nodes.get(id_of(node) or "", before), old_nodes)
        for node, before in zip(content, places, strict=True)
    ]


def _soften(node: Node, old: Node | None, old_nodes: Mapping[str, Node]) -> Node:
    if node["type"] in TEXTBLOCKS:
        return soften_text(node, old) if old and old["type"] == node["type"] else node
    children = children_of(node)
    if not children or not _has_hard_breaks(node):
        return node
    return {**node, "content": _with_soft_breaks(children, children_of(old) if old else (), old_nodes)}


def soften_text(node: Node, old: Node) -> Node:
    """The textblock *node* with the soft breaks of *old*, the same block before, where an editor made them hard."""
    content, old_content = node.get("content") or [], old.get("content") or []
    soft_breaks = sum(child.get("text", "").count("\n") for child in old_content)
    if not soft_breaks or any("\n" in child.get("text", "") for child in content):
        return node
    hard = _hardened(old_content, content)
    if len(hard) < soft_breaks or (soft_breaks == 1 and len(_keys_of(old_content)) == len(_keys_of(content))):
        return node
    softened = [
        text_node("\n", _marks_around(content, at)) if at in hard else child for at, child in enumerate(content)
    ]
    return {**node, "content": merge_texts([Node(**child) for child in softened])}


def _hardened(old: Sequence[Node], new: Sequence[Node]) -> set[int]:
    """The indexes of hard breaks in *new* where *old* has soft ones."""
    old_keys, new_keys = _keys_of(old), _keys_of(new)
    places = [at for at, child in enumerate(new) for _ in child.get("text", " ")]
    soft = [is_soft for child in old for is_soft in ([char == "\n" for char in child.get("text", "")] or [False])]
    hard, at, new_at = set[int](), 0, 0
    for hunk in [*changed_runs(old_keys, new_keys), None]:
        end = hunk.start if hunk else len(old_keys)
        pairs = zip(range(at, end), range(new_at, new_at + end - at), strict=True)
        hard |= {places[other] for unit, other in pairs if soft[unit]}
        if hunk:
            at, new_at = hunk.end, hunk.new_end
    return hard


def _keys_of(content: Sequence[Node]) -> list[UnitKey]:
    """Characters without their marks; any break is a line feed."""
    keys: list[UnitKey] = []
    for child in content:
        if "text" in child:
            keys += [(char, _NO_MARKS) for char in child["text"]]
        else:
            keys.append(_BREAK if child["type"] == "hardBreak" else _ATOM)
    return keys


def _marks_around(content: Sequence[Node], at: int) -> list[Mark]:
    """The marks that the nodes on both sides of a break have."""
    if at in (0, len(content) - 1):
        return []
    after = content[at + 1].get("marks") or []
    return [mark for mark in content[at - 1].get("marks") or [] if mark in after]
