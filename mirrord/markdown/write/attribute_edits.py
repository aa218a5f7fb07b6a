"""Give a heading another level, or code another language, in its lines, and change nothing else of them."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from mirrord.markdown.schema.document import Node
from mirrord.markdown.write.text_places import LineEdit, TextPlace

SPELLED_ATTRIBUTES: Mapping[str, str] = MappingProxyType({"heading": "level", "codeBlock": "language"})

_OPENING = re.compile(r"(#{1,6})[ \t]+\Z")
_CLOSING = re.compile(r"[ \t](#+)[ \t]*\Z")


def is_attribute_changed(old: Node, new: Node) -> bool:
    """Whether two normal blocks differ in the attribute that is spelled beside their text."""
    return _attribute_of(old) != _attribute_of(new)


def edits_of_attribute(place: TextPlace, lines: Sequence[str], old: Node, new: Node) -> list[LineEdit]:
    """The edits of *lines* for the attribute; none if it is spelled in another way: by an underline, by an indent."""
    if old["type"] == "heading":
        return _edits_of_level(place, lines, int(str(_attribute_of(old))), int(str(_attribute_of(new))))
    if place.token.type != "fence" or not place.lines[0]:
        return []
    number, language, info = place.lines[0] - 1, str(_attribute_of(new) or ""), place.token.info.strip()
    line = lines[number]
    end = len(line.rstrip())
    return [LineEdit(number, end - len(info), number, end, language)] if line.rstrip().endswith(info) else []


def _edits_of_level(place: TextPlace, lines: Sequence[str], old: int, new: int) -> list[LineEdit]:
    number, columns = place.lines[0], place.columns[0]
    line = lines[number]
    opening, closing = _OPENING.search(line[: columns[0]]), _CLOSING.match(line[columns[-1] :])
    if not opening or len(opening[1]) != old:
        return []
    spans = [opening.span(1)]
    if closing and len(closing[1]) == old:
        spans.append((columns[-1] + closing.start(1), columns[-1] + closing.end(1)))
    return [LineEdit(number, start, number, end, "#" * new) for start, end in spans]


def _attribute_of(node: Node) -> object:
    return node.get("attrs", {}).get(SPELLED_ATTRIBUTES.get(node["type"], ""))
