"""Write the inside of a paragraph as Markdown; the renderer verifies the result."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from markdown_it.common.utils import MD_TRIM_CHARS, isValidEntityCode, isWhiteSpace

from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.inline.escaping import escape_text, write_destination, write_title
from mirrord.markdown.inline.html_tags import TAGS_OF_DELIMITERS, tag_of, tags_of
from mirrord.markdown.inline.source_style import Style
from mirrord.markdown.schema.document import Mark, Node
from mirrord.markdown.schema.node_rules import is_native
from mirrord.markdown.schema.sized_images import SIZES, join_size, write_image_tag

_AUTOLINK = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^<>\x00-\x20]*")
# of a text that ends here; other parsers take a backslash behind it for a part of it
_BARE_URL = re.compile(r"(?<![\w(<])(?:[a-z]{2,5}://|www\.)[^\s<]+\Z", re.IGNORECASE)
_ALT_OF_TAGS = re.compile(r"\A[^\S ]|[^\S ]\Z|\s\n|\n\s")  # between brackets these blanks would go
_LONE_IMAGE = re.compile(r"\A(<img [^<>]*>)(?=\n)")
_INDENT_OF_TAG = "    "  # with it no tag in a further line begins a block of HTML, which would end the paragraph
_BACKTICKS = re.compile(r"`+")
_CODE_MARK: Mark = {"type": "code"}


@dataclass(frozen=True, slots=True)
class _Piece:
    """
    A piece of output. kind: `text` is still to be escaped, `open` and `close` are delimiters of
    emphasis, `break` is a hard break, `math` and `markup` are final.
    """

    kind: str
    text: str


def write_inline(content: Sequence[Node], style: Style, *, one_line: bool = False) -> str:
    """Markdown of normal inline *content*; *one_line*: line breaks are not possible there."""
    written = _escape_edges(write_run(content, style, ("", ""), one_line=one_line))
    # a tag alone in the first line would begin a block of HTML
    return _LONE_IMAGE.sub(r"\1&#32;", written) if style.wary else written


def write_run(content: Sequence[Node], style: Style, edges: tuple[str, str], *, one_line: bool = False) -> str:
    """Markdown of normal inline *content* that stands between *edges*: the sources before and after it."""
    pieces = list(_with_entities(_with_tags(list(_collect_pieces(content, style)))))
    above, below = edges
    written = above
    for index, piece in enumerate(pieces):
        after = pieces[index + 1].text[:1] if index + 1 < len(pieces) else below[:1]
        if piece.kind == "text":
            written += escape_text(piece.text, written, after, wary=style.wary)
        elif piece.kind == "break":
            written += _write_break(written, index + 1 == len(pieces) and not below, style, one_line)
        else:
            is_indented = style.wary and not one_line and written.endswith("\n") and piece.text.startswith("<")
            written += (_INDENT_OF_TAG if is_indented else "") + piece.text
    run = written[len(above) :]
    return run.replace("\n", "&#10;") if one_line else run


def _write_break(written: str, last: bool, style: Style, one_line: bool) -> str:
    if last or one_line:
        return "<br>"
    at_start = written in ("", "\n") or written.endswith("\n")
    return "  \n" if (style.spaces and not at_start) or _BARE_URL.search(written) else "\\\n"


def _escape_edges(written: str) -> str:
    """Replace white space at the edges that a parser would trim (no-break spaces too) by entities."""
    if written[:1] in MD_TRIM_CHARS:
        written = _entity_of(written[:1]) + written[1:]
    if written[-1:] in MD_TRIM_CHARS:
        written = written[:-1] + _entity_of(written[-1:])
    return written


def _entity_of(char: str) -> str:
    return f"&#{ord(char)};" if char and isValidEntityCode(ord(char)) else char


def _collect_pieces(content: Sequence[Node], style: Style) -> Iterator[_Piece]:
    index = 0
    while index < len(content):
        mark, end = _outermost_mark(content, index)
        if mark is None:
            yield _write_leaf(content[index], style)
            index += 1
            continue
        inner = [_without_mark(node, mark) for node in content[index:end]]
        if (short := _write_autolink(mark, inner)) is not None:
            yield _Piece("markup", short)
        else:
            opening, closing = _delimiters(mark, style)
            yield opening
            yield from _collect_pieces(inner, style)
            yield closing
        index = end


def _outermost_mark(content: Sequence[Node], index: int) -> tuple[Mark | None, int]:
    """The mark to open at *index*, the one with the furthest end, and that end. Code is innermost."""
    best: Mark | None = None
    reach = index
    for mark in content[index].get("marks", []):
        end = index
        while end < len(content) and mark in content[end].get("marks", []):
            end += 1
        if mark != _CODE_MARK and end > reach:
            best, reach = mark, end
    return best, reach


def _without_mark(node: Node, mark: Mark) -> Node:
    other_marks = [other for other in node["marks"] if other != mark]
    result: Node = {**node, "marks": other_marks}
    if not other_marks:
        del result["marks"]
    return result


def _delimiters(mark: Mark, style: Style) -> tuple[_Piece, _Piece]:
    name = mark["type"]
    if tags := tags_of(mark):
        return _Piece("markup", tags[0]), _Piece("markup", tags[1])
    if name == "link":
        attrs = mark.get("attrs", {})
        target, hint = _text_or_empty(attrs.get("href")), write_title(_text_or_empty(attrs.get("title")))
        return _Piece("markup", "["), _Piece("markup", f"]({write_destination(target)}{hint})")
    if name == "highlight":
        return _Piece("markup", "=="), _Piece("markup", "==")
    text = {"italic": style.emphasis, "bold": style.strong, "strike": "~~"}[name]
    return _Piece("open", text), _Piece("close", text)


def _write_autolink(mark: Mark, inner: Sequence[Node]) -> str | None:
    attrs = mark.get("attrs", {})
    if mark["type"] != "link" or not is_native(mark) or "title" in attrs or len(inner) != 1 or "marks" in inner[0]:
        return None
    text, href = inner[0].get("text", ""), attrs.get("href")
    if (text == href and _AUTOLINK.fullmatch(text)) or f"mailto:{text}" == href:
        return f"<{text}>"
    return None


def _write_leaf(node: Node, style: Style) -> _Piece:
    if "text" in node:
        return _Piece("markup", _write_code(node["text"])) if "marks" in node else _Piece("text", node["text"])
    if not is_native(node):
        return _Piece("markup", tag_of(node))
    if node["type"] == "hardBreak":
        return _Piece("break", "")
    if node["type"] == "mathInline":
        return _Piece("math", _write_math(node.get("attrs", {})))
    return _Piece("markup", _ATOMS[node["type"]](node.get("attrs", {}), style))


def _write_code(text: str) -> str:
    runs = {len(run) for run in _BACKTICKS.findall(text)}
    fence = "`" * next(length for length in range(1, len(runs) + 2) if length not in runs)
    padded = text[:1] == "`" or text[-1:] == "`" or (text[:1] == text[-1:] == " " and text.strip(" ") != "")
    return f"{fence} {text} {fence}" if padded else f"{fence}{text}{fence}"


def _write_image(attrs: Mapping[str, Json], style: Style) -> str:
    size = join_size(attrs) if style.size_in_alt else None
    if (size is None and not attrs.keys().isdisjoint(SIZES)) or _ALT_OF_TAGS.search(_text_or_empty(attrs.get("alt"))):
        return write_image_tag(attrs)
    alt = escape_text(_text_or_empty(attrs.get("alt")), "[", "]", wary=style.wary)
    destination = write_destination(_text_or_empty(attrs.get("src")))
    return f"![{alt}{size or ''}]({destination}{write_title(_text_or_empty(attrs.get('title')))})"


def _write_mention(attrs: Mapping[str, Json], style: Style) -> str:
    label = escape_text(_text_or_empty(attrs.get("label")), "[@", "]", wary=style.wary)
    return f"[@{label}]({write_destination('mention:' + _text_or_empty(attrs.get('id')))})"


def _write_wikilink(attrs: Mapping[str, Json], style: Style) -> str:
    heading, alias = attrs.get("heading"), attrs.get("alias")
    link = _text_or_empty(attrs.get("target"))
    link += f"#{heading}" if heading is not None else ""
    return f"[[{link}|{alias}]]" if alias is not None else f"[[{link}]]"


def _write_math(attrs: Mapping[str, Json]) -> str:
    fence = "$$" if attrs.get("display") else "$"
    return fence + _text_or_empty(attrs.get("latex")) + fence


def _text_or_empty(value: Json) -> str:
    return value if isinstance(value, str) else ""


_ATOMS: Mapping[str, Callable[[Mapping[str, Json], Style], str]] = MappingProxyType(
    {
        "wikilink": _write_wikilink,
        "embed": lambda attrs, style: "!" + _write_wikilink(attrs, style),
        "image": _write_image,
        "mention": _write_mention,
        "footnoteRef": lambda attrs, style: f"[^{_text_or_empty(attrs.get('label'))}]",
        "rawInline": lambda attrs, style: _text_or_empty(attrs.get("raw")),
    }
)


def _with_tags(pieces: Sequence[_Piece]) -> list[_Piece]:
    """
    The pieces, with tags in place of delimiters that would open or close nothing.

    A delimiter between a letter and punctuation does neither (CommonMark 0.31.2 §6.2), as in Chinese, where no blank
    is beside bold text.
    """
    partners = _partners_of(pieces)
    tagged: set[int] = set()
    for index, piece in enumerate(pieces):
        if piece.kind == "text":
            for step in (-1, 1):
                blocked = _blocked_delimiters(pieces, index, step)
                tagged |= {at for at in blocked if pieces[at].text in TAGS_OF_DELIMITERS}
    tagged |= {partners[index] for index in tagged}
    return [_to_tag(piece) if index in tagged else piece for index, piece in enumerate(pieces)]


def _partners_of(pieces: Sequence[_Piece]) -> dict[int, int]:
    """For each delimiter the one that closes or opens it."""
    partners: dict[int, int] = {}
    open_indexes: list[int] = []
    for index, piece in enumerate(pieces):
        if piece.kind == "open":
            open_indexes.append(index)
        elif piece.kind == "close":
            opening = open_indexes.pop()
            partners |= {index: opening, opening: index}
    return partners


def _to_tag(piece: _Piece) -> _Piece:
    slash = "/" if piece.kind == "close" else ""
    return _Piece("markup", f"<{slash}{TAGS_OF_DELIMITERS[piece.text]}>")


def _with_entities(pieces: Sequence[_Piece]) -> Iterator[_Piece]:
    """
    The pieces, with the first or last character of a text as an entity if it would break its neighbour.

    A dollar beside a digit is money, before a letter a variable; a delimiter without a tag may open or close nothing.
    """
    for index, piece in enumerate(pieces):
        text = piece.text
        if piece.kind != "text":
            yield piece
            continue
        if _is_blocked(pieces, index, -1):
            yield _Piece("markup", _entity_of(text[0]))
            text = text[1:]
        end = _entity_of(text[-1:]) if _is_blocked(pieces, index, 1) else ""
        if text[: len(text) - bool(end)]:
            yield _Piece("text", text[: len(text) - bool(end)])
        if end:
            yield _Piece("markup", end)


def _is_blocked(pieces: Sequence[_Piece], index: int, step: int) -> bool:
    """Whether a text has a character beside a formula or a delimiter that may not stand there."""
    edge = pieces[index].text[0 if step < 0 else -1]
    if not 0 <= index + step < len(pieces) or pieces[index + step].kind != "math":
        return bool(_blocked_delimiters(pieces, index, step))
    return edge.isdigit() or (step < 0 and edge.isascii() and edge.isalpha())


def _blocked_delimiters(pieces: Sequence[_Piece], index: int, step: int) -> list[int]:
    """The delimiters beside a text that close before it, or open after it, on punctuation, so that they fail."""
    edge, kind = pieces[index].text[0 if step < 0 else -1], "close" if step < 0 else "open"
    beside: list[int] = []
    index += step
    while 0 <= index < len(pieces) and pieces[index].kind in ("open", "close"):
        beside.append(index)
        index += step
    failing = [at for at in beside if pieces[at].kind == kind]
    if not failing or not 0 <= index < len(pieces):
        return []
    beyond = pieces[index].text[-1:] if step < 0 else pieces[index].text[:1]
    is_failing = _is_punctuation(beyond) and not _is_blank(edge) and not _is_punctuation(edge)
    return failing if is_failing else []


def _is_blank(char: str) -> bool:
    """As CommonMark has it, to which a vertical tab is none."""
    return isWhiteSpace(ord(char)) and char != "\x0b"


def _is_punctuation(char: str) -> bool:
    return bool(char) and unicodedata.category(char)[0] in "PS"
