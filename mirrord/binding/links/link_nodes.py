"""
Nodes of an app that link to pages by an attribute, as links by an address, and back. Pure.

Only a node that comes back as it is becomes a link; another one stays a node of the app's own.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from mirrord.binding.mappings.link_rules import LinkNode, LinkRules

_Json = dict[str, Any]
_Originals = defaultdict[str, list[_Json]]  # nodes and links of the app's document, by their addresses


def with_links(document: _Json, rules: LinkRules) -> _Json:
    """*document* of an app with links in place of nodes that link to pages."""
    node = rules.node
    return document if node is None else _mapped(document, lambda children: _linked_children(children, rules, node))


def with_nodes(document: _Json, former: _Json, rules: LinkRules) -> _Json:
    """*document* with nodes in place of links. former: that of the app, whose nodes keep their other attributes."""
    node = rules.node
    if node is None:
        return document
    originals = _Originals(list)
    for children in _children_in(former):
        for child, linked in zip(children, _linked_children(children, rules, node), strict=True):
            if target := _target_of(linked):
                originals[target].append(child)

    def change(children: list[_Json]) -> list[_Json]:
        is_alone = _are_alone([_target_of(child) for child in children])
        pairs = zip(children, is_alone, strict=True)
        return [_node_of(child, originals, rules, node) if alone else child for child, alone in pairs]

    return _mapped(document, change)


def _mapped(node: _Json, change: Callable[[list[_Json]], list[_Json]]) -> _Json:
    children = node.get("content")
    if not isinstance(children, list) or not all(isinstance(child, dict) for child in children):
        return node
    return {**node, "content": [_mapped(child, change) for child in change(children)]}


def _children_in(node: _Json) -> Iterator[list[_Json]]:
    """The children of *node*, and of all nodes below it, as _mapped() changes them."""
    children = node.get("content")
    if isinstance(children, list) and all(isinstance(child, dict) for child in children):
        yield children
        for child in children:
            yield from _children_in(child)


def _linked_children(children: list[_Json], rules: LinkRules, node: LinkNode) -> list[_Json]:
    """*children* with links; not where two links to one page are beside each other, which would be one."""
    links = [_link_of(child, rules, node) for child in children]
    targets = [_target_of(link or child) for link, child in zip(links, children, strict=True)]
    is_alone = _are_alone(targets)
    return [link if link and alone else child for child, link, alone in zip(children, links, is_alone, strict=True)]


def _are_alone(targets: list[str]) -> list[bool]:
    """Whether each of *targets* differs from those beside it."""
    around = zip(["", *targets], targets, [*targets, ""][1:], strict=False)
    return [target not in (before, after) for before, target, after in around]


def _link_of(child: _Json, rules: LinkRules, node: LinkNode) -> _Json | None:
    """The text with a link that says what the node *child* does; None: it is another, or says more than a link can."""
    attrs, marks = child.get("attrs"), child.get("marks", [])
    if child.get("type") != node.name or not isinstance(attrs, dict) or not isinstance(marks, list):
        return None
    if child.get("content") or any(not isinstance(mark, dict) or mark.get("type") == "link" for mark in marks):
        return None
    external_id, text = attrs.get(node.id), attrs.get(node.title)
    if isinstance(external_id, bool) or not isinstance(external_id, str | int):
        return None
    if not isinstance(text, str) or not text or text != " ".join(text.split()):
        return None
    if any(attrs.get(key) != value for key, value in node.conditions.items()):
        return None
    if (address := rules.address_of(str(external_id))) is None:
        return None
    return {"type": "text", "text": text, "marks": [*marks, {"type": "link", "attrs": {"href": address}}]}


def _link_mark_of(node: _Json) -> _Json | None:
    marks = node.get("marks")
    if node.get("type") != "text" or not isinstance(marks, list):
        return None
    return next((mark for mark in marks if isinstance(mark, dict) and mark.get("type") == "link"), None)


def _target_of(node: _Json) -> str:
    """The address of a text with a link; "": it is another node."""
    mark = _link_mark_of(node)
    attrs = mark.get("attrs") if mark is not None else None
    target = attrs.get("href") if isinstance(attrs, dict) else None
    return target if isinstance(target, str) else ""


def _node_of(child: _Json, originals: _Originals, rules: LinkRules, node: LinkNode) -> _Json:
    """The node of the app for *child* if that is a link to a page which the app does not have as a link; or *child*."""
    target, mark = _target_of(child), _link_mark_of(child)
    external_id = rules.id_in(target) if target else None
    if external_id is None or mark is None:
        return child
    text, marks = child["text"], [each for each in child["marks"] if each is not mark]
    former = _take_original(originals[target], text, node)
    if any(value for key, value in mark["attrs"].items() if key != "href"):
        return child
    if former is None:
        attrs = {**node.conditions, node.id: _number_or_text(external_id), node.title: text}
        return {"type": node.name, "attrs": attrs, **({"marks": marks} if marks else {})}
    if former["type"] == "text":
        return child
    others = {key: value for key, value in former.items() if key != "marks"}
    attrs = {**former["attrs"], node.title: text}
    return {**others, "attrs": attrs, **({"marks": marks} if marks or "marks" in former else {})}


def _take_original(originals: list[_Json], text: str, node: LinkNode) -> _Json | None:
    """Take one of *originals* with these words, else the first; None: there is none."""
    for number, each in enumerate(originals):
        if text == (each["text"] if each["type"] == "text" else each["attrs"][node.title]):
            return originals.pop(number)
    return originals.pop(0) if originals else None


def _number_or_text(external_id: str) -> str | int:
    is_number = external_id.isascii() and external_id.isdecimal() and str(int(external_id)) == external_id
    return int(external_id) if is_number and len(external_id) < 16 else external_id
