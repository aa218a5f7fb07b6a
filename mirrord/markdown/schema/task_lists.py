"""
Bullet lists of which every item begins with a box: in Markdown they are lists of tasks.

A box among items without one is raw text, because TipTap has no list of both; an item that comes out of such a list
brings its box along.
"""

from collections.abc import Sequence

from mirrord.markdown.schema.block import HOLDERS
from mirrord.markdown.schema.document import Node

_STATES = {"[ ]": False, "[x]": True, "[X]": True}


def with_task_lists(content: Sequence[Node]) -> list[Node]:
    """The blocks *content* with tasks in place of items that are bullets with boxes, at any depth."""
    return [_with_tasks(node) for node in content]


def _with_tasks(node: Node) -> Node:
    children = node.get("content") if node["type"] in HOLDERS else None
    if not children:
        return node
    if node["type"] == "bulletList" and all(_box_of(item) in _STATES for item in children):
        node, children = {**node, "type": "taskList"}, [_to_task(item) for item in children]
    return {**node, "content": with_task_lists(children)}


def _box_of(item: Node) -> object:
    """The raw text that an item begins with."""
    if item["type"] != "listItem":
        return None
    inlines = _inlines_of(item)
    is_raw = bool(inlines) and inlines[0]["type"] == "rawInline" and not inlines[0].get("marks")
    raw = (inlines[0].get("attrs") or {}).get("raw") if is_raw else None
    is_apart = len(inlines) < 2 or inlines[1].get("text", "")[:1] == " "
    return raw if isinstance(raw, str) and is_apart else None


def _inlines_of(item: Node) -> Sequence[Node]:
    first: Node = next(iter(item.get("content") or ()), item)
    return first.get("content") or () if first["type"] == "paragraph" else ()


def _to_task(item: Node) -> Node:
    first, *others = item["content"]
    _, *inlines = first["content"]
    if inlines:
        inlines[0] = {**inlines[0], "text": inlines[0]["text"][1:]}
    paragraph: Node = {**first, "content": [inline for inline in inlines if inline.get("text") != ""]}
    attrs = {**(item.get("attrs") or {}), "checked": _STATES[str(_box_of(item))]}
    return {**item, "type": "taskItem", "attrs": attrs, "content": [paragraph, *others]}
