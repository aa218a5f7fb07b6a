"""The JSON Schema (draft 2020-12) of documents, generated from the table of node types."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.schema.node_types import MARKS, NODES, Attribute, ContentRule, attributes_of

JsonObject = dict[str, Json]

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> JsonObject:
    """The JSON Schema of a document."""
    nodes: JsonObject = {f"node.{name}": _node_schema(name) for name in NODES}
    marks: JsonObject = {f"mark.{name}": _object_schema(name, {}, attributes) for name, attributes in MARKS.items()}
    shared: JsonObject = {
        "node": _schema_by_type("node", list(NODES), _unknown_node_schema()),
        "mark": _schema_by_type("mark", list(MARKS), _object_schema(None, {}, {})),
        "marks": {"type": "array", "items": {"$ref": "#/$defs/mark"}},
        **{group: _allowed_schema([group]) for group in ("block", "inline")},
    }
    return {
        "$schema": DRAFT,
        "title": "page.content: a TipTap document of mirrord",
        "$ref": "#/$defs/node.doc",
        "$defs": {**shared, **nodes, **marks},
    }


def _schema_by_type(kind: str, names: list[str], unknown: JsonObject) -> JsonObject:
    """A schema chosen by the type: validators then visit a node once, and name the fault in it."""
    cases: list[Json] = [
        {"if": _with_type({"const": name}), "then": {"$ref": f"#/$defs/{kind}.{name}"}} for name in names
    ]
    other: Json = {"if": _with_type({"not": {"enum": list(names)}}), "then": unknown}
    return {"type": "object", "required": ["type"], "allOf": [*cases, other]}


def _with_type(schema: JsonObject) -> JsonObject:
    return {"properties": {"type": schema}}


def _node_schema(name: str) -> JsonObject:
    node = NODES[name]
    parts: JsonObject = {}
    if node.inside is not None:
        parts["content"] = _content_schema(node.inside)
    if node.group == "inline":
        parts["marks"] = {"$ref": "#/$defs/marks"}
    if name == "text":
        parts["text"] = {"type": "string"}
    filled = node.inside is not None and (node.inside.filled or node.inside.ordered)
    required = ["text"] if name == "text" else ["content"] if filled else []
    return _object_schema(name, parts, attributes_of(name), required)


def _unknown_node_schema() -> JsonObject:
    anything: JsonObject = {"type": "array", "items": {"$ref": "#/$defs/node"}}
    return _object_schema(None, {"content": anything, "marks": {"$ref": "#/$defs/marks"}}, {})


def _object_schema(
    name: str | None, parts: JsonObject, attributes: Mapping[str, Attribute], required: Sequence[str] = ()
) -> JsonObject:
    """A node or mark of type *name* (None: any type) with only its type, attributes and *parts*."""
    needed: list[Json] = [key for key, attribute in attributes.items() if attribute.required]
    attrs: JsonObject = {"type": "object", "properties": {key: _value_schema(attributes[key]) for key in attributes}}
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


def _value_schema(attribute: Attribute) -> JsonObject:
    result: JsonObject = {"description": attribute.about}
    if attribute.values:
        result["enum"] = [*attribute.values, *([] if attribute.required else [None])]
    else:
        result["type"] = attribute.kind if attribute.required else [attribute.kind, "null"]
    if attribute.default is not None:
        result["default"] = attribute.default
    return result


def _content_schema(inside: ContentRule) -> JsonObject:
    if inside.ordered:
        each: list[Json] = [{"$ref": f"#/$defs/node.{name}"} for name in inside.names]
        return {"type": "array", "prefixItems": each, "minItems": len(each), "items": False}
    items = _item_schema(inside)
    return {"type": "array", "items": items, "minItems": 1} if inside.filled else {"type": "array", "items": items}


def _item_schema(inside: ContentRule) -> JsonObject:
    if inside.names == ("text",):
        return {"$ref": "#/$defs/node.text", "properties": {"marks": {"maxItems": 0}}}
    if len(inside.names) == 1 and inside.names[0] in ("block", "inline"):
        return {"$ref": f"#/$defs/{inside.names[0]}"}
    return _allowed_schema(inside.names)


def _allowed_schema(names: Collection[str]) -> JsonObject:
    """A node of these types or groups, or of a type that is not in the table."""
    barred: list[Json] = [name for name, node in NODES.items() if name not in names and node.group not in names]
    return {"$ref": "#/$defs/node", **_with_type({"not": {"enum": barred}})}
