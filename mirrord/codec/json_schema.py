"""The JSON Schema (draft 2020-12) of documents, made from the table."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from mirrord.codec.properties import Json
from mirrord.codec.vocabulary import MARKS, NODES, Attribute, Inside, attributes_of

JsonObject = dict[str, Json]

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> JsonObject:
    """The JSON Schema of a document."""
    nodes: JsonObject = {f"node.{name}": _node(name) for name in NODES}
    marks: JsonObject = {f"mark.{name}": _shape(name, {}, attributes) for name, attributes in MARKS.items()}
    shared: JsonObject = {
        "node": _one_of("node", list(NODES), _unknown_node()),
        "mark": _one_of("mark", list(MARKS), _shape(None, {}, {})),
        "marks": {"type": "array", "items": {"$ref": "#/$defs/mark"}},
        **{group: _allowed([group]) for group in ("block", "inline")},
    }
    return {
        "$schema": DRAFT,
        "title": "page.content: a TipTap document of mirrord",
        "$ref": "#/$defs/node.doc",
        "$defs": {**shared, **nodes, **marks},
    }


def _one_of(kind: str, known: list[str], unknown: JsonObject) -> JsonObject:
    """The shape of its type, found by the type: validators then look into a node once, and name what is wrong in it."""
    cases: list[Json] = [{"if": _typed({"const": name}), "then": {"$ref": f"#/$defs/{kind}.{name}"}} for name in known]
    other: Json = {"if": _typed({"not": {"enum": list(known)}}), "then": unknown}
    return {"type": "object", "required": ["type"], "allOf": [*cases, other]}


def _typed(schema: JsonObject) -> JsonObject:
    return {"properties": {"type": schema}}


def _node(name: str) -> JsonObject:
    node = NODES[name]
    parts: JsonObject = {}
    if node.inside is not None:
        parts["content"] = _content(node.inside)
    if node.group == "inline":
        parts["marks"] = {"$ref": "#/$defs/marks"}
    if name == "text":
        parts["text"] = {"type": "string"}
    filled = node.inside is not None and (node.inside.filled or node.inside.ordered)
    required = ["text"] if name == "text" else ["content"] if filled else []
    return _shape(name, parts, attributes_of(name), required)


def _unknown_node() -> JsonObject:
    anything: JsonObject = {"type": "array", "items": {"$ref": "#/$defs/node"}}
    return _shape(None, {"content": anything, "marks": {"$ref": "#/$defs/marks"}}, {})


def _shape(
    name: str | None, parts: JsonObject, attributes: Mapping[str, Attribute], required: Sequence[str] = ()
) -> JsonObject:
    """A node or mark of type *name* (None: of any); nothing beside its type, attributes and *parts*."""
    needed: list[Json] = [key for key, attribute in attributes.items() if attribute.required]
    attrs: JsonObject = {"type": "object", "properties": {key: _value(attributes[key]) for key in attributes}}
    return {
        "type": "object",
        "properties": {
            "type": {"type": "string"} if name is None else {"const": name},
            "attrs": {**attrs, "required": needed} if needed else attrs,
            **parts,
        },
        "required": ["type", *(["attrs"] if needed else []), *required],
        "additionalProperties": False,
    }


def _value(attribute: Attribute) -> JsonObject:
    result: JsonObject = {"description": attribute.about}
    if attribute.values:
        result["enum"] = [*attribute.values, *([] if attribute.required else [None])]
    else:
        result["type"] = attribute.kind if attribute.required else [attribute.kind, "null"]
    if attribute.default is not None:
        result["default"] = attribute.default
    return result


def _content(inside: Inside) -> JsonObject:
    if inside.ordered:
        each: list[Json] = [{"$ref": f"#/$defs/node.{name}"} for name in inside.names]
        return {"type": "array", "prefixItems": each, "minItems": len(each), "items": False}
    items = _items(inside)
    return {"type": "array", "items": items, "minItems": 1} if inside.filled else {"type": "array", "items": items}


def _items(inside: Inside) -> JsonObject:
    if inside.names == ("text",):
        return {"$ref": "#/$defs/node.text", "properties": {"marks": {"maxItems": 0}}}
    if len(inside.names) == 1 and inside.names[0] in ("block", "inline"):
        return {"$ref": f"#/$defs/{inside.names[0]}"}
    return _allowed(inside.names)


def _allowed(names: Collection[str]) -> JsonObject:
    """A node of these types or groups, or of one that is not in the table."""
    barred: list[Json] = [name for name, node in NODES.items() if name not in names and node.group not in names]
    return {"$ref": "#/$defs/node", **_typed({"not": {"enum": barred}})}
