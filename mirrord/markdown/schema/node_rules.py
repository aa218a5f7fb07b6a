"""What nodes and marks can express, and how much of it Markdown expresses itself."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.schema.document import BLOCKS, INLINE, MARKS, TEXTBLOCKS, Mark, Node
from mirrord.markdown.schema.node_types import MARKS as MARK_TYPES
from mirrord.markdown.schema.node_types import NODES
from mirrord.markdown.schema.sized_images import is_size

# Besides the defaults of the table: values that TipTap writes without a choice of the user, and empty targets.
_MEANINGLESS: Mapping[str, Mapping[str, Json]] = MappingProxyType(
    {
        "paragraph": {"textAlign": "left"},
        "heading": {"textAlign": "left"},
        "image": {"src": "", "width": "", "height": ""},
        "link": {"href": ""},
    }
)
DEFAULT_ATTRIBUTES: Mapping[str, Mapping[str, Json]] = MappingProxyType(
    {
        name: {
            **{key: attribute.default for key, attribute in attributes.items() if attribute.default is not None},
            **_MEANINGLESS.get(name, {}),
        }
        for name, attributes in [*((name, node.attributes) for name, node in NODES.items()), *MARK_TYPES.items()]
    }
)
IGNORED_ATTRIBUTES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "link": frozenset(["auto"]),  # a matter of spelling
        "image": frozenset(["id"]),  # editors that give ids to blocks take images for some
    }
)

_Test = Callable[[Json], bool]


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_flag(value: Json) -> bool:
    return isinstance(value, bool)


def _is_line(value: Json) -> bool:
    return isinstance(value, str) and value == value.strip() and not re.search(r"[\n\r]", value)


def _is_inline_latex(value: Json) -> bool:
    return isinstance(value, str) and "`" not in value and "](" not in value


def _range_test(lowest: int, highest: int) -> _Test:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= highest


def _pattern_test(pattern: str) -> _Test:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


_STYLE_VALUE_TEST = _pattern_test(r"""[^\s;"<>&\\](?:[^;"<>&\\\r\n\t]*[^\s;"<>&\\])?""")
_LABEL_TEST = _pattern_test(r"[^\s\[\]\\^][^\s\[\]\\]*")
_WIKILINK_TESTS: Mapping[str, _Test] = MappingProxyType(
    {
        "target": _pattern_test(r"[^\[\]|#\n]*"),
        "heading": _pattern_test(r"[^\[\]|\n]*"),
        "alias": _pattern_test(r"[^\[\]\n]*"),
    }
)
_CELL_TESTS: Mapping[str, _Test] = MappingProxyType({"align": _pattern_test("left|center|right")})

# The attributes that Markdown itself expresses, each with a test of its value.
NATIVE_ATTRIBUTES: Mapping[str, Mapping[str, _Test]] = MappingProxyType(
    {
        "heading": {"level": _range_test(1, 6)},
        "orderedList": {"start": _range_test(0, 999_999_999)},
        "taskItem": {"checked": _is_flag},
        "codeBlock": {"language": _is_line},
        "callout": {"type": _pattern_test(r"[^\[\]\n\r]+"), "title": _is_line, "fold": _pattern_test("[+-]")},
        "details": {"open": _is_flag},
        "tableHeader": _CELL_TESTS,
        "tableCell": _CELL_TESTS,
        "mathBlock": {"latex": _is_text},
        "footnoteDef": {"label": _LABEL_TEST},
        "rawBlock": {"raw": _is_text},
        "rawInline": {"raw": _is_text},
        "image": {"src": _is_text, "alt": _is_text, "title": _is_text, "width": is_size, "height": is_size},
        "mathInline": {"latex": _is_inline_latex, "display": _is_flag},
        "footnoteRef": {"label": _LABEL_TEST},
        "wikilink": _WIKILINK_TESTS,
        "embed": _WIKILINK_TESTS,
        "mention": {"id": _pattern_test(r"[^\s\x00-\x1f\x7f]+"), "label": _pattern_test(r"\S(?:[^\n]*\S)?")},
        "link": {"href": _is_text, "title": _is_text},
        "highlight": {"color": _STYLE_VALUE_TEST},
        "textStyle": dict.fromkeys(("color", "backgroundColor", "fontSize", "fontFamily"), _STYLE_VALUE_TEST),
    }
)
_REQUIRED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **{name: frozenset(["label"]) for name in ("footnoteDef", "footnoteRef")},
        **{name: frozenset(["raw"]) for name in ("rawBlock", "rawInline")},
        **{name: frozenset(["latex"]) for name in ("mathBlock", "mathInline")},
        **{name: frozenset(["target"]) for name in ("wikilink", "embed")},
        "callout": frozenset(["type"]),
        "heading": frozenset(["level"]),
        "mention": frozenset(["id"]),
    }
)
_ITEMS: Mapping[str, str] = MappingProxyType(
    {"bulletList": "listItem", "orderedList": "listItem", "taskList": "taskItem", "table": "tableRow"}
)
_PARTS = frozenset(
    ["doc", "listItem", "taskItem", "tableRow", "tableHeader", "tableCell", "detailsSummary", "detailsContent"]
)
_CHILDLESS = frozenset(["horizontalRule", "mathBlock", "rawBlock"])
_RESERVED = frozenset(["cells", "header"])  # keys of a table's comment
_RESERVED_OF_CELL = frozenset(["type", "paragraph"])


def extra_attrs_of(element: Node | Mark) -> dict[str, Json]:
    """The attributes of a normal node or mark that Markdown cannot express."""
    native = NATIVE_ATTRIBUTES.get(element["type"], {})
    return {key: value for key, value in element.get("attrs", {}).items() if key not in native}


def is_native(element: Node | Mark) -> bool:
    """Whether Markdown itself expresses all of a normal inline node or mark."""
    name = element["type"]
    if name not in INLINE and name not in MARKS:
        return False
    if name == "link" and str(element.get("attrs", {}).get("href", "")).startswith("mention:"):
        return False
    return not extra_attrs_of(element) and _is_expressible(element) and "content" not in element


def _is_expressible(element: Node | Mark) -> bool:
    native, attrs = NATIVE_ATTRIBUTES.get(element["type"], {}), element.get("attrs", {})
    return _REQUIRED.get(element["type"], frozenset()) <= attrs.keys() and all(
        test(attrs[key]) for key, test in native.items() if key in attrs
    )


def has_no_markdown(node: Node) -> bool:
    """Whether Markdown has no form for a normal block, whose parts are in their places: it becomes a JSON fence."""
    name = node["type"]
    if name not in BLOCKS or name in _PARTS:
        return True
    if not _is_expressible(node) or "marks" in node:
        return True
    content = node.get("content", [])
    if name in _ITEMS:
        return not _is_list(node, content)
    if name in TEXTBLOCKS:
        return _holds_blocks(content)
    if name == "codeBlock":
        return any(child["type"] != "text" or "marks" in child for child in content)
    if name == "details":
        return not _is_details(content)
    if name == "mathBlock":
        return not _is_math(node)
    return name in _CHILDLESS and bool(content)


def _holds_blocks(content: list[Node]) -> bool:
    return any(child["type"] in BLOCKS or child["type"] == "doc" for child in content)


def _is_list(node: Node, content: list[Node]) -> bool:
    part = _ITEMS[node["type"]]
    if not content or any(child["type"] != part or not _is_expressible(child) or "marks" in child for child in content):
        return False
    if part == "tableRow":
        return _is_table(node, content)
    start = node.get("attrs", {}).get("start", 1)
    return not isinstance(start, int) or start + len(content) <= 1_000_000_000


def _is_table(node: Node, rows: list[Node]) -> bool:
    if _RESERVED & node.get("attrs", {}).keys() or any("attrs" in row for row in rows):
        return False
    widths = {len(row.get("content", [])) for row in rows}
    return len(widths) == 1 and 0 not in widths and all(_is_cell(cell) for row in rows for cell in row["content"])


def _is_cell(cell: Node) -> bool:
    attrs, content = cell.get("attrs", {}), cell.get("content", [])
    return (
        cell["type"] in ("tableHeader", "tableCell")
        and "marks" not in cell
        and _is_expressible(cell)
        and not (attrs.keys() & (_RESERVED_OF_CELL | {"colspan", "rowspan"}))
        and len(content) <= 1
        and all(child["type"] == "paragraph" and not has_no_markdown(child) for child in content)
    )


def _is_details(content: list[Node]) -> bool:
    if [child["type"] for child in content] != ["detailsSummary", "detailsContent"]:
        return False
    summary = content[0].get("content", [])
    return not any(child.get("attrs") or child.get("marks") for child in content) and not _holds_blocks(summary)


def _is_math(node: Node) -> bool:
    latex = str(node.get("attrs", {}).get("latex", ""))
    return bool(latex) and "$$" not in latex and not latex.endswith("\\") and not re.search(r"\n[ \t]*\n", latex)
