"""
The nodes, marks and attributes of documents as one table.

Nodes, marks and attributes outside the table are allowed anywhere; those in it must conform to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from mirrord.markdown.frontmatter.yaml_reader import Json

Kind = Literal["string", "integer", "boolean"]


@dataclass(frozen=True, slots=True)
class Attribute:
    """
    An attribute of a node or mark.

    default: the meaning of absence and of null. values: the allowed ones; () for any value of its kind.
    native: Markdown has a form for it; otherwise it is kept there as JSON, unless it is the default.
    """

    about: str
    kind: Kind = "string"
    default: Json = None
    required: bool = False
    values: tuple[Json, ...] = ()
    native: bool = True


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
_CELL = {
    "align": Attribute("of its column", values=("left", "center", "right")),
    "colspan": Attribute("Markdown has 1 only", "integer", default=1, native=False),
    "rowspan": Attribute("Markdown has 1 only", "integer", default=1, native=False),
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
