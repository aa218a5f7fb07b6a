"""
Documents as HTML for people without scripts: text is escaped, and only tags of a list are written. Pure.

What a reader of the page is not meant to see is left out: comments, HTML, definitions of links, front matter.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

from markupsafe import Markup, escape

from mirrord.markdown.schema.column_widths import Widths, to_width
from mirrord.markdown.schema.document import MAX_DEPTH
from mirrord.web.media_types import is_picture

_Node = Mapping[str, Any]
_Renderer = Callable[[_Node, Any], Markup]

_BLOCK_TAGS: Mapping[str, str] = MappingProxyType(
    {
        "paragraph": "p",
        "bulletList": "ul",
        "listItem": "li",
        "blockquote": "blockquote",
        "detailsSummary": "summary",
        "detailsContent": "div",
        "tableRow": "tr",
    }
)
_MARK_TAGS: Mapping[str, str] = MappingProxyType(
    {
        "bold": "strong",
        "italic": "em",
        "strike": "s",
        "code": "code",
        "highlight": "mark",
        "underline": "u",
        "subscript": "sub",
        "superscript": "sup",
    }
)
_LINK_SCHEMES = ("http", "https", "mailto")
_ALIGNMENTS = ("left", "center", "right")
_MAX_SPAN = 1000  # rows or columns of a cell
_MAX_HEADING = 6
_MAX_LABEL_CHARACTERS = 200  # of the box of a task
# Comments of Markdown and of other programs, tags, properties of Logseq, and lines that load parts of a page.
_HIDDEN_TEXT = re.compile(
    r"""<!--.*?(?:-->|\Z) | %%.*?(?:%%|\Z) | \{\{?/\*.*?(?:\*/\}\}?|\Z) | \{\#.*?\#\}
    | ^[ \t]*\#\+BEGIN_COMMENT\b.*?(?:^[ \t]*\#\+END_COMMENT\b|\Z)
    | ^[ \t]*[\w./-]+::(?=\s|\Z)[^\n]* | ^(?:import|export)[ \t][^\n]*
    | ^[ \t]*%[^\n]* | ^[ \t]*\([^()\n]+\)=[ \t]*$
    | </?[A-Za-z!?][^>]*(?:>|\Z)""",
    re.DOTALL | re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
# Comments of Jekyll and Hugo begin and end in nodes of their own, with what they hide between them.
_COMMENT_BEGIN = re.compile(r"\{%-?\s*comment\b|\{\{[%<]\s*comment\b")
_COMMENT_END = re.compile(r"\{%-?\s*endcomment\b|\{\{[%<]\s*/\s*comment\b")
_DEFINITION = re.compile(r"\s*\[[^\]]*\]:")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class ReadableLinks:
    """Where links of a page lead for this reader, by (kind, target); links that are in neither are text."""

    pages: Mapping[tuple[str, str], str] = field(default_factory=dict)
    files: Mapping[tuple[str, str], str] = field(default_factory=dict)


def render_document(document: _Node | None, links: ReadableLinks) -> Markup:
    """The blocks of a document; nothing for None."""
    return _children_of(_with_headings_in_order(document or {}, [], 0), links, 0)


def _with_headings_in_order(node: _Node, above: list[int], depth: int) -> _Node:
    """
    *node* with headings that are one level below the one that they are under, however many levels the page leaves out.

    above: the levels in the page of the headings that the next one may be under.
    """
    if node.get("type") == "heading":
        attributes = node["attrs"] if isinstance(node.get("attrs"), dict) else {}
        level = _number_of(attributes.get("level"), 1)
        while above and above[-1] >= level:
            above.pop()
        above.append(level)
        return {**node, "attrs": {**attributes, "level": len(above)}}
    children = node.get("content")
    if not isinstance(children, list) or depth > MAX_DEPTH:
        return node
    nodes = [
        _with_headings_in_order(child, above, depth + 1) if isinstance(child, dict) else child for child in children
    ]
    return {**node, "content": nodes}


def without_title(document: _Node | None, title: str) -> _Node | None:
    """*document* without a first heading that only repeats the title of its page."""
    blocks = document.get("content") if document else None
    if not isinstance(blocks, list) or not blocks or not isinstance(blocks[0], dict):
        return document
    is_repeated = blocks[0].get("type") == "heading" and _html_of(blocks[0], ReadableLinks(), 0).striptags() == title
    return {"content": blocks[1:]} if is_repeated else document


def heading_anchor(text: str) -> str:
    """The id of a heading, which links to it end with."""
    return "h-" + _BLANKS.sub("-", text.strip().casefold())


def _children_of(node: _Node, links: ReadableLinks, depth: int) -> Markup:
    children = node.get("content")
    if not isinstance(children, list) or depth > MAX_DEPTH:
        return Markup()
    nodes = [child for child in children if isinstance(child, dict)]
    return Markup().join(_html_of(child, links, depth + 1) for child in _without_comments(nodes))


def _without_comments(nodes: Sequence[_Node]) -> Iterator[_Node]:
    """Those of *nodes* that are in no comment, which begins in one of them and ends in another."""
    is_comment = False
    for node in nodes:
        attributes = node.get("attrs")
        raw = _word_of(attributes.get("raw")) if isinstance(attributes, dict) else ""
        is_comment |= _COMMENT_BEGIN.search(raw) is not None
        if not is_comment:
            yield node
        is_comment &= _COMMENT_END.search(raw) is None


def _html_of(node: _Node, links: ReadableLinks, depth: int) -> Markup:
    kind, attributes = _word_of(node.get("type")), node.get("attrs")
    attributes = attributes if isinstance(attributes, dict) else {}
    if kind == "text":
        return _text_of(node, links)
    if kind in _LEAVES:
        return _LEAVES[kind](attributes, links)
    inner = _children_of(node, links, depth)
    if kind == "table":
        return _table(node, inner)
    if kind in _CONTAINERS:
        return _CONTAINERS[kind](attributes, inner)
    if kind in _BLOCK_TAGS:
        return _element(_BLOCK_TAGS[kind], inner)
    return inner  # of an app's own node, what is inside


def _element(tag: str, inner: Markup, **attributes: object) -> Markup:
    """An element; attributes whose value is None are left out. tag: one of this module's."""
    written = (
        Markup(' {}="{}"').format(name.rstrip("_"), value) for name, value in attributes.items() if value is not None
    )
    return Markup("<{0}{1}>{2}</{0}>").format(tag, Markup().join(written), inner)


def _text_of(node: _Node, links: ReadableLinks) -> Markup:
    html, marks = escape(_word_of(node.get("text"))), node.get("marks")
    for mark in marks if isinstance(marks, list) else ():
        facts = mark if isinstance(mark, dict) else {}
        kind = _word_of(facts.get("type"))
        if kind in _MARK_TAGS:
            html = _element(_MARK_TAGS[kind], html)
        elif kind == "link":
            html = _linked(html, _href_of(facts.get("attrs"), links))
    return html


def _linked(html: Markup, href: str | None) -> Markup:
    if href is None:
        return html
    return _element("a", html, href=href, rel="noopener noreferrer nofollow" if _ADDRESS.match(href) else None)


def _href_of(attributes: object, links: ReadableLinks) -> str | None:
    written = _word_of(attributes.get("href")) if isinstance(attributes, dict) else ""
    if _ADDRESS.match(written):
        try:
            return written if urlsplit(written).scheme.lower() in _LINK_SCHEMES else None
        except ValueError:
            return None
    return _find_place(links, "markdown", *_parts_of(written))


def _parts_of(written: str) -> tuple[str, str]:
    """Target and heading of a Markdown link, as links of pages have them."""
    path, _, heading = written.partition("#")
    return unquote(path), unquote(heading)


def _find_place(links: ReadableLinks, kind: str, target: str, heading: str) -> str | None:
    """Where a link within the tree leads; None: nowhere that this reader may see."""
    fragment = f"#{heading_anchor(heading)}" if heading and not heading.startswith("^") else ""
    if not target:
        return fragment or None
    if (page := links.pages.get((kind, target))) is not None:
        return page + fragment
    return links.files.get((kind, target))


def _wikilink(attributes: _Node, links: ReadableLinks, kind: str = "wikilink") -> Markup:
    target, heading = _word_of(attributes.get("target")), _word_of(attributes.get("heading"))
    label = _word_of(attributes.get("alias")) or (f"{target} › {heading}" if target and heading else target or heading)
    file = links.files.get((kind, target))
    if kind == "embed" and file is not None and is_picture(target):
        return _picture(file, _word_of(attributes.get("alias")))
    return _linked(escape(label), _find_place(links, kind, target, heading))


def _image(attributes: _Node, links: ReadableLinks) -> Markup:
    """A picture; one from elsewhere is its description, because it would tell its site who reads the page."""
    target, _ = _parts_of(_word_of(attributes.get("src")))
    file, alt = links.files.get(("image", target)), _word_of(attributes.get("alt"))
    return _picture(file, alt) if file is not None else escape(alt)


def _picture(file: str, alt: str) -> Markup:
    return Markup('<img src="{}" alt="{}" loading="lazy">').format(file, alt)


def _raw(attributes: _Node, _: ReadableLinks) -> Markup:
    """Markdown that has no form here, without tags, comments and definitions of links."""
    written = _word_of(attributes.get("raw"))
    text = "" if _DEFINITION.match(written) else _HIDDEN_TEXT.sub("", written).strip()
    return _element("code", escape(text)) if text else Markup()


def _math(attributes: _Node, _: ReadableLinks) -> Markup:
    return _element("code", escape(_word_of(attributes.get("latex"))))


def _mention(attributes: _Node, _: ReadableLinks) -> Markup:
    return escape(_word_of(attributes.get("label")))


def _footnote_reference(attributes: _Node, _: ReadableLinks) -> Markup:
    label = _word_of(attributes.get("label"))
    return _element("sup", _element("a", escape(label), href=f"#{_footnote_anchor(label)}"))


def _footnote_anchor(label: str) -> str:
    return "fn-" + _BLANKS.sub("-", label)


def _heading(attributes: _Node, inner: Markup) -> Markup:
    """A heading, one level below that of the page's title."""
    level = min(_MAX_HEADING, _number_of(attributes.get("level"), 1) + 1)
    return _element(f"h{level}", inner, id=heading_anchor(inner.striptags()))


def _ordered_list(attributes: _Node, inner: Markup) -> Markup:
    return _element("ol", inner, start=_number_of(attributes.get("start"), 1))


def _task(attributes: _Node, inner: Markup) -> Markup:
    words = Markup(inner[: inner.find("</p>")]).striptags()[:_MAX_LABEL_CHARACTERS]
    checked = Markup(" checked") if attributes.get("checked") else ""
    box = Markup('<input type="checkbox" disabled{} aria-label="{}">').format(checked, words or "☐")
    return _element("li", box + _element("div", inner), class_="task")


def _callout(attributes: _Node, inner: Markup) -> Markup:
    title = _word_of(attributes.get("title")) or _word_of(attributes.get("type")).capitalize()
    head = _element("strong", escape(title))
    if fold := attributes.get("fold"):
        return _element("details", _element("summary", head) + inner, open="" if fold == "+" else None)
    return _element("blockquote", _element("p", head) + inner)


def _details(attributes: _Node, inner: Markup) -> Markup:
    return _element("details", inner, open="" if attributes.get("open") else None)


def _table(node: _Node, inner: Markup) -> Markup:
    widths = _widths_of(node)
    total = sum(width for width in widths if width is not None) if None not in widths else None
    columns = Markup().join(Markup('<col width="{}">').format(width) if width else Markup("<col>") for width in widths)
    content = (_element("colgroup", columns) if widths else Markup()) + _element("tbody", inner)
    return _element("div", _element("table", content, width=total if widths else None), class_="table", tabindex="0")


def _widths_of(table: _Node) -> Widths:
    """The widths of the columns of a table; () if it has none, or merged cells."""
    rows = [row for row in _nodes_in(table) if row.get("type") == "tableRow"]
    cells = [cell for row in rows[:1] for cell in _nodes_in(row)]
    attributes = [cell["attrs"] if isinstance(cell.get("attrs"), dict) else {} for cell in cells]
    if any(_number_of(each.get("colspan"), 1) != 1 for each in attributes):
        return ()
    widths = tuple(to_width(each.get("colwidth")) for each in attributes)
    return widths if any(widths) else ()


def _nodes_in(node: _Node) -> Iterator[_Node]:
    content = node.get("content")
    return (child for child in (content if isinstance(content, list) else ()) if isinstance(child, dict))


def _cell(tag: str, attributes: _Node, inner: Markup) -> Markup:
    align = attributes.get("align")
    spans = {name: _number_of(attributes.get(name), 1) for name in ("colspan", "rowspan")}
    merged = {name: span for name, span in spans.items() if 1 < span <= _MAX_SPAN}
    return _element(tag, inner, class_=f"{align}" if align in _ALIGNMENTS else None, **merged)


def _footnote(attributes: _Node, inner: Markup) -> Markup:
    label = _word_of(attributes.get("label"))
    return _element("section", _element("sup", escape(label)) + inner, id=_footnote_anchor(label), class_="footnote")


def _word_of(value: object) -> str:
    """An attribute as text; anything but text, which apps may have stored, as nothing."""
    return value if isinstance(value, str) else ""


def _number_of(value: object, other: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else other


_LEAVES: Mapping[str, _Renderer] = MappingProxyType(
    {
        "hardBreak": lambda *_: Markup("<br>"),
        "horizontalRule": lambda *_: Markup("<hr>"),
        "image": _image,
        "wikilink": _wikilink,
        "embed": lambda attributes, links: _wikilink(attributes, links, "embed"),
        "rawBlock": lambda attributes, links: _element("div", _raw(attributes, links)),
        "rawInline": _raw,
        "mathBlock": lambda attributes, links: _element("p", _math(attributes, links)),
        "mathInline": _math,
        "mention": _mention,
        "footnoteRef": _footnote_reference,
    }
)
_CONTAINERS: Mapping[str, _Renderer] = MappingProxyType(
    {
        "heading": _heading,
        "orderedList": _ordered_list,
        "taskList": lambda _, inner: _element("ul", inner, class_="tasks"),
        "taskItem": _task,
        "codeBlock": lambda _, inner: _element("pre", inner, tabindex="0"),  # for keys that scroll
        "callout": _callout,
        "details": _details,
        "tableHeader": lambda attributes, inner: _cell("th", attributes, inner),
        "tableCell": lambda attributes, inner: _cell("td", attributes, inner),
        "footnoteDef": _footnote,
    }
)
