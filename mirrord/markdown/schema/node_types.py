"""
The nodes, marks and attributes of documents as one table, and the JSON Schema (draft 2020-12) of documents.

Nodes, marks and attributes outside the table are allowed anywhere; those in it must conform to it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from mirrord.markdown.frontmatter.yaml_reader import Json

Kind = Literal["string", "integer", "boolean", "size"]

_SIZE_TYPES: Final = ("number", "string")  # of the kind `size`: pixels, or any text of HTML


@dataclass(frozen=True, slots=True)
class Attribute:
    """
    An attribute of a node or mark.

    default: the meaning of absence and of null. values: the allowed ones; () for any value of its kind.
    bounds: of an integer, both allowed; other values are refused.
    native: Markdown has a form for it; otherwise it is kept there as JSON, unless it is the default.
    """

    about: str
    kind: Kind = "string"
    default: Json = None
    required: bool = False
    values: tuple[Json, ...] = ()
    native: bool = True
    bounds: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ContentRule:
    """
    The content of a node: nodes of these types or groups (`block`, `inline`).

    filled: at least one. ordered: exactly these, one of each.
    """

    names: tuple[str, ...]
    filled: bool = False
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class NodeType:
    """
    A type of node.

    group: `block`, `inline`, or "" for types that occur in one kind of node only.
    inside: None for atoms. has_id: it has an id at any depth; every other block has one at the top only.
    """

    group: Literal["block", "inline", ""]
    inside: ContentRule | None = None
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    has_id: bool = False


_TEXT = ContentRule(("inline",))
_BLOCKS = ContentRule(("block",), filled=True)
_ID = Attribute("unique in the document; never in the Markdown", native=False)
_LABEL = {"label": Attribute("as in `[^label]`", required=True)}
_RAW = {"raw": Attribute("Markdown, kept as it is", required=True)}
_LATEX = Attribute("without the dollars", required=True)
_SPAN_BOUNDS = 1, 1000  # what HTML allows for columns; browsers lay out each of them
_CELL = {
    "align": Attribute("of its column", values=("left", "center", "right")),
    "colspan": Attribute("Markdown has 1 only", "integer", default=1, native=False, bounds=_SPAN_BOUNDS),
    "rowspan": Attribute("Markdown has 1 only", "integer", default=1, native=False, bounds=_SPAN_BOUNDS),
}
_TARGET = {
    "target": Attribute("the page's name or path; empty for a heading of the page itself", required=True),
    "heading": Attribute("after `#`; a block id with its `^`"),
    "alias": Attribute("after `|`: what is shown"),
}

NODES: Mapping[str, NodeType] = MappingProxyType(
    {
        "doc": NodeType("", ContentRule(("block",))),
        "paragraph": NodeType("block", _TEXT),
        "heading": NodeType("block", _TEXT, {"level": Attribute("Markdown has 1 to 6", "integer", required=True)}),
        "bulletList": NodeType("block", ContentRule(("listItem",), filled=True)),
        "orderedList": NodeType(
            "block",
            ContentRule(("listItem",), filled=True),
            {"start": Attribute("the first number", "integer", default=1)},
        ),
        "listItem": NodeType("", _BLOCKS, has_id=True),
        "taskList": NodeType("block", ContentRule(("taskItem",), filled=True)),
        "taskItem": NodeType(
            "", _BLOCKS, {"checked": Attribute("whether it is done", "boolean", default=False)}, has_id=True
        ),
        "codeBlock": NodeType(
            "block", ContentRule(("text",)), {"language": Attribute("the whole info string", default="")}
        ),
        "blockquote": NodeType("block", _BLOCKS),
        "callout": NodeType(
            "block",
            _BLOCKS,
            {
                "type": Attribute("any word, as in `[!note]`", required=True),
                "title": Attribute("Markdown, kept as it is", default=""),
                "fold": Attribute("`-` folded, `+` unfolded", default="", values=("", "-", "+")),
            },
        ),
        "details": NodeType(
            "block",
            ContentRule(("detailsSummary", "detailsContent"), ordered=True),
            {"open": Attribute("whether it is unfolded", "boolean", default=False)},
        ),
        "detailsSummary": NodeType("", _TEXT),
        "detailsContent": NodeType("", _BLOCKS),
        "horizontalRule": NodeType("block"),
        "table": NodeType("block", ContentRule(("tableRow",), filled=True)),
        "tableRow": NodeType("", ContentRule(("tableHeader", "tableCell"))),
        "tableHeader": NodeType("", _BLOCKS, _CELL),
        "tableCell": NodeType("", _BLOCKS, _CELL),
        "mathBlock": NodeType("block", None, {"latex": _LATEX}),
        "footnoteDef": NodeType("block", _BLOCKS, _LABEL),
        "rawBlock": NodeType("block", None, _RAW),
        "text": NodeType("inline"),
        "hardBreak": NodeType("inline"),
        "image": NodeType(
            "inline",
            None,
            {
                "src": Attribute("as it is written", required=True),
                "alt": Attribute("the description", default=""),
                "title": Attribute("the hint", default=""),
                "width": Attribute("in pixels, or as in HTML", "size"),
                "height": Attribute("in pixels, or as in HTML", "size"),
            },
        ),
        "mathInline": NodeType(
            "inline",
            None,
            {"latex": _LATEX, "display": Attribute("`$$` instead of `$`", "boolean", default=False)},
        ),
        "footnoteRef": NodeType("inline", None, _LABEL),
        "wikilink": NodeType("inline", None, _TARGET),
        "embed": NodeType("inline", None, _TARGET),
        "mention": NodeType(
            "inline",
            None,
            {
                "id": Attribute("of whom or what is mentioned", required=True),
                "label": Attribute("what is shown", default=""),
                "mentionSuggestionChar": Attribute("what was typed to find it", default="@", native=False),
            },
        ),
        "rawInline": NodeType("inline", None, _RAW),
    }
)

MARKS: Mapping[str, Mapping[str, Attribute]] = MappingProxyType(
    {
        "bold": {},
        "italic": {},
        "strike": {},
        "code": {},
        "link": {
            "href": Attribute("as it is written", required=True),
            "title": Attribute("the hint", default=""),
            "auto": Attribute("whether it is written as `<…>`", "boolean"),
            "target": Attribute("where it opens", default="_blank", native=False),
            "rel": Attribute("what browsers are told of it", default="noopener noreferrer nofollow", native=False),
            "class": Attribute("of its HTML element", native=False),
        },
        "highlight": {"color": Attribute("as in CSS; none for the plain `==`", default="")},
        "underline": {},
        "subscript": {},
        "superscript": {},
        "textStyle": {
            "color": Attribute("as in CSS", default=""),
            "backgroundColor": Attribute("as in CSS", default=""),
            "fontSize": Attribute("as in CSS", default=""),
            "fontFamily": Attribute("as in CSS", default=""),
        },
    }
)


def attributes_of(name: str) -> Mapping[str, Attribute]:
    """The attributes of the node type *name*, its id among them."""
    node = NODES[name]
    return {"id": _ID, **node.attributes} if node.group == "block" or node.has_id else node.attributes


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
        kinds: list[Json] = [*(_SIZE_TYPES if attribute.kind == "size" else (attribute.kind,))]
        result["type"] = attribute.kind if attribute.required else [*kinds, "null"]
    if attribute.bounds is not None:
        result["minimum"], result["maximum"] = attribute.bounds
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
