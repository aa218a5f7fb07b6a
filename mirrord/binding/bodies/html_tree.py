"""HTML as a tree of elements with their places in the source. Every source is read once, from front to back. Pure."""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mirrord.errors import Damaged

COMMENT = "!"  # the tag of comments and declarations
MAX_DEPTH = 100  # elements inside elements
MAX_ELEMENTS = 250_000  # of one source; each takes a kilobyte as a block of a document
VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_VERBATIM = frozenset(["script", "style", "textarea", "title"])  # no tags inside, but for their own end
BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol p pre section summary table tbody td tfoot th "
    "thead tr ul".split()
)
# An element that ends where another of these begins, although its end is not written.
_ENDED_BY: Mapping[str, frozenset[str]] = {
    "p": BLOCKS,
    "li": frozenset(["li"]),
    "dt": frozenset(["dt", "dd"]),
    "dd": frozenset(["dt", "dd"]),
    "td": frozenset(["td", "th", "tr"]),
    "th": frozenset(["td", "th", "tr"]),
    "tr": frozenset(["tr"]),
}
_NAME = re.compile(r"[A-Za-z][^\s/>]*+")
_ATTRIBUTE = re.compile(r"""[\s/]*+([^\s"'<>/=]++)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'<>`]++))?+""")
_TAG_END = re.compile(r"[\s/]*+>")


@dataclass(slots=True)
class Text:
    """Text, without entities. start, end: of its source."""

    text: str
    start: int
    end: int


@dataclass(slots=True)
class Element:
    """An element, or a comment. attributes: without entities. start, end: of its source, its tags included."""

    tag: str
    attributes: Mapping[str, str]
    start: int
    end: int
    children: list["Child"] = field(default_factory=list)


Child = Element | Text


@dataclass(frozen=True, slots=True)
class Tree:
    """All of an HTML source. is_sound: every tag fits, so that each element is where its source says."""

    children: list[Child]
    is_sound: bool


def parse_tree(source: str) -> Tree:
    """
    The tree of *source*, which may be any text.

    Raises:
        Damaged: it is nested too deep, or has too many elements.
    """
    builder = _Builder(source)
    for event in _events_of(source):
        builder.add(event)
    return builder.finish()


@dataclass(frozen=True, slots=True)
class _Event:
    """kind: `text`, `start`, `end`, `verbatim`, which has its end, or `comment`. is_broken: it does not end."""

    kind: str
    name: str
    start: int
    end: int
    attributes: Mapping[str, str] = field(default_factory=dict)
    is_broken: bool = False


def _events_of(source: str) -> Iterator[_Event]:
    position = 0
    while position < len(source):
        if (event := _markup_at(source, position)) is None:
            end = source.find("<", position + 1)
            event = _Event("text", "", position, end if end != -1 else len(source))
        yield event
        position = event.end


def _markup_at(source: str, position: int) -> _Event | None:
    """The tag, comment or declaration at *position*; None: there is text."""
    if source[position] != "<" or position + 1 == len(source):
        return None
    following = source[position + 1]
    if following in "!?" or (following == "/" and not source[position + 2 : position + 3].isalpha()):
        closing = "-->" if source.startswith("<!--", position) else ">"
        end, is_broken = _end_of(source, closing, position + len(closing))
        return _Event("comment", COMMENT, position, end, is_broken=is_broken)
    name = _NAME.match(source, position + (2 if following == "/" else 1))
    if name is None:
        return None
    if following == "/":
        end, is_broken = _end_of(source, ">", name.end())
        return _Event("end", name[0].lower(), position, end, is_broken=is_broken)
    return _opening(source, position, name)


def _end_of(source: str, closing: str, start: int) -> tuple[int, bool]:
    """Where *closing* ends, and whether it is missing."""
    position = source.find(closing, start)
    return (len(source), True) if position == -1 else (position + len(closing), False)


def _opening(source: str, position: int, name: re.Match[str]) -> _Event:
    tag, end, attributes = name[0].lower(), name.end(), dict[str, str]()
    is_doubled = False
    while match := _ATTRIBUTE.match(source, end):
        key, value = match[1].lower(), match[2] or ""
        value = value[1:-1] if value[:1] in ('"', "'") else value
        is_doubled |= key in attributes
        attributes.setdefault(key, html.unescape(value))
        end = match.end()
    closing = _TAG_END.match(source, end)
    if closing is None:
        end, _ = _end_of(source, ">", end)
        return _Event("start", tag, position, end, attributes, is_broken=True)
    if tag not in _VERBATIM:
        return _Event("start", tag, position, closing.end(), attributes, is_doubled)
    own_end = re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE).search(source, closing.end())
    end, is_broken = _end_of(source, ">", own_end.end()) if own_end is not None else (len(source), True)
    return _Event("verbatim", tag, position, end, attributes, is_broken)


class _Builder:
    def __init__(self, source: str) -> None:
        self._source = source
        self._root = Element("", {}, 0, len(source))
        self._open = [self._root]
        self._count = 0
        self._is_sound = True

    def add(self, event: _Event) -> None:
        self._is_sound &= not event.is_broken
        if event.kind == "text":
            text = html.unescape(self._source[event.start : event.end])
            self._open[-1].children.append(Text(text, event.start, event.end))
        elif event.kind == "end":
            self._close(event)
        else:
            self._start(event)

    def finish(self) -> Tree:
        self._is_sound &= len(self._open) == 1
        for element in self._open:
            element.end = len(self._source)
        return Tree(self._root.children, self._is_sound)

    def _start(self, event: _Event) -> None:
        while event.name in _ENDED_BY.get(self._open[-1].tag, ()):
            self._open.pop().end = event.start
            self._is_sound = False
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise Damaged("its body has too many elements")
        element = Element(event.name, event.attributes, event.start, event.end)
        self._open[-1].children.append(element)
        if event.kind == "start" and event.name not in VOID:
            if len(self._open) > MAX_DEPTH:
                raise Damaged("its body is nested too deep")
            self._open.append(element)

    def _close(self, event: _Event) -> None:
        depth = next((at for at in range(len(self._open) - 1, 0, -1) if self._open[at].tag == event.name), None)
        if depth is None:
            self._is_sound = False
            return
        self._is_sound &= depth == len(self._open) - 1
        for element in self._open[depth + 1 :]:
            element.end = event.start
        self._open[depth].end = event.end
        del self._open[depth:]
