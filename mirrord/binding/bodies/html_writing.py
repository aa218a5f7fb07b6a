"""Nodes of a document as HTML, as editors such as TipTap's write it. Text and addresses are escaped. Pure."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mirrord.binding.bodies.html_inline import MARKS
from mirrord.binding.bodies.html_reading import LANGUAGE, TASK_ITEM, TASK_LIST
from mirrord.errors import Damaged
from mirrord.markdown.parser.dialect import is_script
from mirrord.markdown.schema.document import Mark, Node

Attributes = Mapping[str, str]

_TAGS: Mapping[str, str] = {mark: tag for tag, mark in reversed(list(MARKS.items()))}  # of marks: the first of each
_PLAIN: Mapping[str, str] = {"paragraph": "p", "blockquote": "blockquote", "bulletList": "ul"}
_ITEM_PARAGRAPHS = ("listItem", "tableHeader", "tableCell")  # in which a paragraph may be without a tag


@dataclass(frozen=True, slots=True)
class HtmlStyle:
    """
    How an app writes what Markdown does not tell apart.

    wraps_paragraphs: those in items and cells have a tag. by_address: further attributes of links and pictures, by tag
    and address.
    """

    wraps_paragraphs: bool = False
    by_address: Mapping[tuple[str, str], Attributes] = field(default_factory=dict)


def html_of(node: Node, style: HtmlStyle, tag: str = "", attributes: Attributes | None = None) -> str:
    """
    The block *node* as HTML. tag, attributes: of the element that it replaces, which stay where they fit.

    Raises:
        Damaged: HTML has no form for it.
    """
    return _Writing(style).block(node, tag, attributes or {})


def _element(tag: str, attributes: Attributes, inside: str) -> str:
    return f"{_opening(tag, attributes)}{inside}</{tag}>"


def _opening(tag: str, attributes: Attributes) -> str:
    texts = (f' {key}="{html.escape(value)}"' for key, value in attributes.items())
    return f"<{tag}{''.join(texts)}>"


@dataclass(frozen=True, slots=True)
class _Writing:
    style: HtmlStyle

    def block(self, node: Node, former_tag: str = "", former: Attributes | None = None) -> str:
        kind, attrs = node["type"], node.get("attrs") or {}
        if kind == "horizontalRule":
            return "<hr>"
        if kind == "codeBlock":
            return self._code(node, former or {})
        if kind == "table":
            rows = "".join(self._row(row) for row in node.get("content") or [])
            return _element("table", former or {}, f"<tbody>{rows}</tbody>")
        if kind == "heading":
            tag = f"h{attrs.get('level', 1)}"
        elif kind == "orderedList":
            tag = "ol"
        elif kind == "taskList":
            return _element("ul", {**(former or {}), "data-type": TASK_LIST}, self._tasks(node))
        elif kind in _PLAIN:
            tag = former_tag if kind == "paragraph" and _is_for_text(former_tag) else _PLAIN[kind]
        else:
            raise Damaged(f"HTML has no form for a `{kind}`")
        attributes = dict(former or {}) if tag == former_tag else {}
        if kind == "orderedList":
            attributes.pop("start", None)
            attributes |= {"start": str(attrs["start"])} if attrs.get("start", 1) != 1 else {}
        return _element(tag, attributes, self._inside(node))

    def _inside(self, node: Node) -> str:
        children = node.get("content") or []
        if node["type"] in ("paragraph", "heading"):
            return "".join(map(self._inline, children))
        if node["type"] in ("bulletList", "orderedList"):
            return "".join(_element("li", {}, self._inside(item)) for item in children)
        if node["type"] in _ITEM_PARAGRAPHS and not self.style.wraps_paragraphs and _is_short(children):
            return self._inside(children[0]) + "".join(self.block(child) for child in children[1:])
        return "".join(self.block(child) for child in children)

    def _tasks(self, node: Node) -> str:
        return "".join(map(self._task, node.get("content") or []))

    def _task(self, item: Node) -> str:
        is_checked = bool((item.get("attrs") or {}).get("checked"))
        box = f'<label><input type="checkbox"{" checked" if is_checked else ""}><span></span></label>'
        inside = "".join(self.block(child) for child in item.get("content") or [])
        attributes = {"data-checked": "true" if is_checked else "false", "data-type": TASK_ITEM}
        return _element("li", attributes, f"{box}<div>{inside}</div>")

    def _row(self, row: Node) -> str:
        cells = row.get("content") or []
        if any(value not in (None, 1) for cell in cells for value in (cell.get("attrs") or {}).values()):
            raise Damaged("a table with aligned or merged cells cannot be written as HTML")
        return _element("tr", {}, "".join(_element(_cell_tag(cell), {}, self._inside(cell)) for cell in cells))

    def _code(self, node: Node, former: Attributes) -> str:
        language = (node.get("attrs") or {}).get("language") or ""
        text = "".join(child.get("text", "") for child in node.get("content") or [])
        inside = _element(
            "code", {"class": f"{LANGUAGE}{language}"} if language else {}, html.escape(text, quote=False)
        )
        return _element("pre", former, inside)

    def _inline(self, node: Node) -> str:
        marks = node.get("marks") or []
        if node["type"] == "text":
            return self._marked(html.escape(node["text"], quote=False), marks)
        if node["type"] == "hardBreak":
            return "<br>"
        if node["type"] == "image":
            attrs = node.get("attrs") or {}
            stated = {key: str(attrs[key]) for key in ("src", "alt", "title") if attrs.get(key)}
            _check_address(stated.get("src", ""))
            return self._marked(_opening("img", self._with_known("img", stated.get("src", ""), stated)), marks)
        raise Damaged(f"HTML has no form for a `{node['type']}`")

    def _marked(self, inside: str, marks: Sequence[Mark]) -> str:
        for mark in reversed(marks):
            attrs = mark.get("attrs") or {}
            if mark["type"] == "link":
                href = str(attrs.get("href", ""))
                _check_address(href)
                stated = {"href": href} | ({"title": str(attrs["title"])} if attrs.get("title") else {})
                inside = _element("a", self._with_known("a", href, stated), inside)
            elif mark["type"] in _TAGS and not attrs:
                inside = _element(_TAGS[mark["type"]], {}, inside)
            else:
                raise Damaged(f"HTML has no form for a `{mark['type']}` with attributes")
        return inside

    def _with_known(self, tag: str, address: str, stated: Attributes) -> Attributes:
        return {**stated, **self.style.by_address.get((tag, address), {})}


def _cell_tag(cell: Node) -> str:
    return "th" if cell["type"] == "tableHeader" else "td"


def _is_for_text(tag: str) -> bool:
    """Whether an element may hold a paragraph: one with inline contents that is no block of another kind."""
    return tag not in ("", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "blockquote", "pre", "hr", "table")


def _is_short(children: Sequence[Node]) -> bool:
    """Whether only the first of *children* is a paragraph."""
    return [child["type"] == "paragraph" for child in children] == [True] + [False] * (len(children) - 1)


def _check_address(address: str) -> None:
    if is_script(address):
        raise Damaged("an address in it would run a script")
