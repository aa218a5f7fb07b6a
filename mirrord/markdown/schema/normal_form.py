"""
The normal form in which documents are compared and from which Markdown is written.

It leaves out details that Markdown has no place for and that have no meaning: block ids, default
attributes, empty paragraphs, white space at the edges of blocks, lines and emphasis. Cells of tables have the alignment
of their column, and one paragraph.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import orjson

from mirrord.markdown.frontmatter.page_text import with_unix_endings
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.schema.anchor_tags import join_anchors
from mirrord.markdown.schema.document import BLOCKS, DELIMITED, INLINE, TEXTBLOCKS, Mark, Node, text_node
from mirrord.markdown.schema.node_rules import DEFAULT_ATTRIBUTES, IGNORED_ATTRIBUTES
from mirrord.markdown.schema.normal_tables import CELLS, align_rows, join_paragraphs
from mirrord.markdown.schema.sized_images import SIZES, nodes_of_html, split_size, to_size

_OWN_ATTRIBUTES = frozenset(["id"])
_LINE_EDGES = re.compile(r"[ \t]*\n[ \t]*")
_OUTER_SPACE = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)


def normalize(node: Node) -> Node:
    """The normal form of *node*; a node of unknown type stays unchanged."""
    name = node["type"]
    if name not in BLOCKS and name not in INLINE and name != "doc":
        return node
    if name in ("rawBlock", "rawInline") and (images := _images_of_raw(node)):
        return images
    result: Node = {"type": name}
    content = _normalize_content(name, node.get("content") or [])
    if name == "paragraph" and not content:
        return result
    if attrs := _normalize_attrs(name, node.get("attrs")):
        result["attrs"] = attrs
    if "text" in node:
        result["text"] = with_unix_endings(node["text"])
    if content:
        result["content"] = content
    if marks := [mark for mark in map(_normalize_mark, node.get("marks") or ()) if mark != {"type": "textStyle"}]:
        result["marks"] = marks
    return result


def _images_of_raw(node: Node) -> Node | None:
    """The images that a raw node is, of a version that did not read them; None if it is anything else."""
    raw = (node.get("attrs") or {}).get("raw")
    images = nodes_of_html(raw) if isinstance(raw, str) else []
    if not images or (node["type"] == "rawInline" and len(images) > 1):
        return None
    if node["type"] == "rawBlock":
        return normalize({"type": "paragraph", "content": images})
    return normalize({**images[0], "marks": node.get("marks") or []})


def fingerprint(node: Node) -> str:
    """The fingerprint of a normal node: equal for equal nodes, regardless of the order of their marks."""
    ordered = _with_ordered_marks(node)
    try:
        return orjson.dumps(ordered, option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:  # written by an app: a number too large, or nested too deep
        return json.dumps(ordered, sort_keys=True)


def first_difference(expected: Node, got: Node | None) -> str:
    """The path to the first difference of *got* from *expected*, both normal."""
    name = expected["type"]
    if got is None or got["type"] != name:
        return name
    if missing := _differing_keys(expected.get("attrs", {}), got.get("attrs", {})):
        return f"{name} ({missing})"
    mine, theirs = expected.get("content", []), got.get("content", [])
    for child, other in zip(mine, theirs, strict=False):
        if fingerprint(child) != fingerprint(other):
            return f"{name} > {first_difference(child, other)}"
    return f"{name} > {mine[len(theirs)]['type']}" if len(mine) > len(theirs) else name


def _differing_keys(expected: Mapping[str, Json], got: Mapping[str, Json]) -> str:
    return ", ".join(sorted(key for key in expected.keys() | got.keys() if expected.get(key) != got.get(key)))


def _with_ordered_marks(node: Node) -> Node:
    content, marks = node.get("content"), node.get("marks") or []
    if len(marks) < 2 and not (content and any("content" in child or "marks" in child for child in content)):
        return node
    result: Node = {**node, "marks": sorted(marks, key=_mark_order)} if len(marks) > 1 else {**node}
    if content:
        result["content"] = [_with_ordered_marks(child) for child in content]
    return result


def _mark_order(mark: Mark) -> str:
    return json.dumps(mark, sort_keys=True)


def _normalize_attrs(name: str, attrs: Mapping[str, Json] | None) -> dict[str, Json]:
    defaults = DEFAULT_ATTRIBUTES.get(name, {})
    ignored = _OWN_ATTRIBUTES if name in BLOCKS else IGNORED_ATTRIBUTES.get(name, frozenset())
    normal_attrs = {
        key: _normalize_value(key, value)
        for key, value in (attrs or {}).items()
        if value is not None and key not in ignored and not _is_default(value, defaults.get(key))
    }
    return _with_size(normal_attrs) if name == "image" else normal_attrs


def _with_size(attrs: dict[str, Json]) -> dict[str, Json]:
    """The normal attributes of an image with its size, which may be in the description, as numbers."""
    sizes = {key: to_size(attrs[key]) for key in SIZES if key in attrs}
    alt = attrs.get("alt")
    if sizes or not isinstance(alt, str):
        return {**attrs, **sizes}
    description, sizes = split_size(alt)
    return {
        **{key: value for key, value in attrs.items() if key != "alt"},
        **({"alt": description} if description else {}),
        **sizes,
    }


def _normalize_value(key: str, value: Json) -> Json:
    if not isinstance(value, str):
        return value
    return with_unix_endings(value).strip() if key == "latex" else with_unix_endings(value)


def _is_default(value: Json, default: Json) -> bool:
    return type(value) is type(default) and value == default


def _normalize_mark(mark: Mark) -> Mark:
    attrs = _normalize_attrs(mark["type"], mark.get("attrs"))
    return {"type": mark["type"], "attrs": attrs} if attrs else {"type": mark["type"]}


def _normalize_content(name: str, content: Sequence[Node]) -> list[Node]:
    if name in TEXTBLOCKS or name == "detailsSummary":
        return _trim(_merge_texts(_hoist_all_emphasis(_split_outer_space(join_anchors(content)))))
    if name == "codeBlock":
        return _normalize_code(content)
    children = normalize_blocks(name, [normalize(child) for child in wrap_inlines(content)])
    return _join_cell(children) if name in CELLS and len(children) > 1 else children


def normalize_blocks(name: str, blocks: Sequence[Node]) -> list[Node]:
    """The content of a container *name*, no cell, that holds normal *blocks*."""
    filled = [child for child in blocks if child["type"] != "paragraph" or len(child) > 1]
    return align_rows(filled) if name == "table" else filled


def _join_cell(content: list[Node]) -> list[Node]:
    inline = _normalize_content("paragraph", join_paragraphs(content))
    return [{"type": "paragraph", "content": inline}] if inline else content


def _normalize_code(content: Sequence[Node]) -> list[Node]:
    if any(child["type"] != "text" or child.get("marks") for child in content):
        return list(content)
    text = with_unix_endings("".join(child["text"] for child in content))
    return [text_node(text)] if text else []


def wrap_inlines(content: Sequence[Node]) -> Iterator[Node]:
    """Wrap runs of inline nodes among blocks in paragraphs: some editors treat an image as a block."""
    for inline, children in groupby(content, key=_is_inline):
        if not inline:
            yield from children
            continue
        run = list(children)
        runs = [[image] for image in run] if all(child["type"] == "image" for child in run) else [run]
        for nodes in runs:
            yield {"type": "paragraph", "content": nodes}


def _is_inline(node: Node) -> bool:
    return node["type"] in INLINE


def _split_outer_space(content: Sequence[Node]) -> Iterator[Node]:
    """The inline nodes, with the white space around texts split into texts of its own."""
    for child in map(normalize, content):
        if child["type"] == "hardBreak" and is_code(child):
            yield _without_mark(child, "code")
        elif "text" not in child:
            yield child
        elif is_code(child):
            yield {**child, "text": child["text"].replace("\n", " ")}
        elif (text := child["text"]) and not text[0].isspace() and not text[-1].isspace():
            yield child
        elif match := _OUTER_SPACE.fullmatch(text):
            for part in filter(None, match.groups()):
                yield {**child, "text": part}


def is_code(node: Node) -> bool:
    """Whether a normal *node* is written as code, where every blank counts."""
    return {"type": "code"} in node.get("marks", [])


def _is_link(node: Node) -> bool:
    return any(mark["type"] == "link" for mark in node.get("marks", []))


def _hoist_all_emphasis(content: Iterator[Node]) -> list[Node]:
    """Remove emphasis from the blanks and breaks at both ends of each emphasized run."""
    result = list(content)
    for name in {mark["type"] for node in result for mark in node.get("marks", [])} & DELIMITED:
        _hoist_emphasis(result, name, range(len(result)))
        _hoist_emphasis(result, name, range(len(result) - 1, -1, -1))
    return result


def _hoist_emphasis(content: list[Node], name: str, order: range) -> None:
    inside = False
    for index in order:
        node = content[index]
        marked = any(mark["type"] == name for mark in node.get("marks", []))
        if marked and not inside and _is_blank(node):
            content[index] = _without_mark(node, name)
        else:
            inside = marked


def _is_blank(node: Node) -> bool:
    return node["type"] == "hardBreak" or ("text" in node and node["text"].isspace() and not is_code(node))


def _without_mark(node: Node, name: str) -> Node:
    marks = [mark for mark in node["marks"] if mark["type"] != name]
    result: Node = {**node, "marks": marks}
    if not marks:
        del result["marks"]
    return result


def _merge_texts(content: Sequence[Node]) -> list[Node]:
    runs: list[list[Node]] = []
    for node in content:
        if "text" in node and runs and "text" in runs[-1][0] and _is_marked_like(runs[-1][0], node):
            runs[-1].append(node)
        else:
            runs.append([node])
    return [run[0] if len(run) == 1 else {**run[0], "text": "".join(node["text"] for node in run)} for run in runs]


def _is_marked_like(node: Node, other: Node) -> bool:
    mine, theirs = node.get("marks", []), other.get("marks", [])
    if mine == theirs:
        return True
    is_permuted = len(mine) == len(theirs) > 1
    return is_permuted and sorted(mine, key=_mark_order) == sorted(theirs, key=_mark_order)


def _trim(content: Sequence[Node]) -> list[Node]:
    """Remove blanks at the edges of the block, of its lines and around its hard breaks."""
    result: list[Node] = []
    strip = " \n"
    for node in content:
        if node["type"] == "hardBreak":
            _strip_end(result, " \t\n")
            strip = " \t\n"
        elif "text" in node and not is_code(node):
            text = _LINE_EDGES.sub("\n", node["text"]).lstrip("" if _is_link(node) else strip)
            if not text:
                continue
            if text.startswith("\n"):
                _strip_end(result, " \t")
            node = {**node, "text": text}
            strip = " \t" if text.endswith("\n") else ""
        else:
            strip = ""
        result.append(node)
    _strip_end(result, " \n")
    return result if any(node["type"] != "hardBreak" for node in result) else []


def _strip_end(content: list[Node], blanks: str) -> None:
    while content and "text" in content[-1] and not is_code(content[-1]) and not _is_link(content[-1]):
        text = content[-1]["text"].rstrip(blanks)
        if text:
            content[-1] = {**content[-1], "text": text}
            return
        content.pop()
