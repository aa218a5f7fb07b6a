"""
Map the inside of a paragraph to its source: which characters each of its units stands for.

A unit is a character of a text, or an atom such as a hard break or a wikilink.
"""

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import NamedTuple, TypeAlias

from markdown_it.token import Token

from mirrord.markdown.inline.inline_reader import NotInSchemaError, Run, raw_inline, read_runs
from mirrord.markdown.parser.dialect import Surroundings, parse_inline
from mirrord.markdown.parser.inline_spans import Span
from mirrord.markdown.schema.document import Mark, Node
from mirrord.markdown.schema.normal_form import fingerprint, normalize

_BLANKS = (" ", "\t", "\n")
_PLAIN_TEXT_KEYS = {"type", "text"}  # of a node that is its normal form, but for carriage returns
_BREAK = fingerprint({"type": "hardBreak"})

UnitKey: TypeAlias = tuple[str, frozenset[str]]  # a character or the JSON of an atom, and its marks: equal if both are


class Units(NamedTuple):
    """The units of some content. nodes: for each the text or atom that it belongs to."""

    keys: list[UnitKey]
    nodes: list[Node]

    def between(self, start: int, end: int) -> "Units":
        """Those from *start* up to *end*."""
        return Units(self.keys[start:end], self.nodes[start:end])


@dataclass(slots=True, eq=False)
class Element:
    """
    Markup that sets a mark: from start up to end with its delimiters, inside without them.

    first, behind: the units in it, from the first up to the one behind it.
    """

    key: str
    start: int
    inside: Span
    end: int
    first: int
    behind: int


@dataclass(slots=True)
class SourceMap:
    """
    The units of *content*, each with its key, its characters, and the elements around it, the outermost first.

    starts, ends: of the characters of each.
    """

    content: str
    keys: list[UnitKey] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    elements: list[tuple[Element, ...]] = field(default_factory=list)

    def fitted_to(self, keys: Sequence[UnitKey]) -> "SourceMap | None":
        """
        The map of the units with these *keys* alone, if they lack only what the normal form drops.

        That is blanks, and the marks of hard breaks: no emphasis begins or ends at one.
        """
        if keys == self.keys:
            return self
        kept_units: list[int] = []
        for unit, key in enumerate(self.keys):
            if len(kept_units) < len(keys) and _is_normal_form(keys[len(kept_units)], key):
                kept_units.append(unit)
            elif key[0] not in _BLANKS:
                return None
        if len(kept_units) < len(keys):
            return None
        for element in {id(element): element for around in self.elements for element in around}.values():
            element.first, element.behind = (bisect_left(kept_units, at) for at in (element.first, element.behind))
        starts, ends = ([values[unit] for unit in kept_units] for values in (self.starts, self.ends))
        return SourceMap(self.content, list(keys), starts, ends, [self.elements[unit] for unit in kept_units])

    def seams(self, unit: int) -> list[tuple[int, tuple[Element, ...]]]:
        """The positions before a *unit* or, for their number, at the end, each with the elements around it."""
        above = self.elements[unit - 1] if unit else ()
        below = self.elements[unit] if unit < len(self.keys) else ()
        shared = count_shared(above, below)
        result = [(self._start_behind_blanks(unit, shared), above)]
        for depth in range(len(above), shared, -1):
            result.append((above[depth - 1].end, above[: depth - 1]))
        for depth in range(shared, len(below)):
            result.append((below[depth].inside.start, below[: depth + 1]))
        return result

    def _start_behind_blanks(self, unit: int, shared: int) -> int:
        """Where the unit before *unit* ends; behind a break also the blanks end, which the normal form drops."""
        if not unit or unit == len(self.keys) or self.keys[unit - 1][0] != _BREAK:
            return self.ends[unit - 1] if unit else 0
        below = self.elements[unit]
        return below[shared].start if len(below) > shared else self.starts[unit]


def _is_normal_form(normal_key: UnitKey, key: UnitKey) -> bool:
    """Whether the unit with *key* may be the one with *normal_key* in the normal form."""
    return key == normal_key or (key[0] == normal_key[0] == _BREAK and normal_key[1] < key[1])


def count_shared(elements: Sequence[Element], other: Sequence[Element]) -> int:
    """How many elements both have around them."""
    return next(
        (at for at, pair in enumerate(zip(elements, other, strict=False)) if pair[0] is not pair[1]),
        min(len(elements), len(other)),
    )


def units_of(content: Iterable[Node]) -> Units:
    """The units of normal inline *content*."""
    units = Units([], [])
    for node in content:
        count = len(units.keys)
        units.keys.extend(_keys_of(node))
        units.nodes.extend([node] * (len(units.keys) - count))
    return units


def keys_of(content: Iterable[Node]) -> list[UnitKey]:
    """The keys of the units of normal inline *content*."""
    return [key for node in content for key in _keys_of(node)]


def nodes_of(units: Units, inside: frozenset[str]) -> list[Node]:
    """The inline content that *units* make up, without the marks with a key in *inside*."""
    nodes: list[Node] = []
    last: Node | None = None
    for key, node in zip(*units, strict=True):
        if node is last and "text" in node:
            nodes[-1]["text"] += key[0]
            continue
        last = node
        nodes.append(_without_marks({**node, "text": key[0]} if "text" in node else node, inside))
    return nodes


def key_of_mark(mark: Mark) -> str:
    """Equal for equal normal marks."""
    return json.dumps(mark, sort_keys=True)


def _without_marks(node: Node, inside: frozenset[str]) -> Node:
    marks = [mark for mark in node.get("marks", []) if key_of_mark(mark) not in inside]
    result: Node = {**node, "marks": marks}
    if not marks:
        del result["marks"]
    return result


def _keys_of(node: Node) -> Iterator[UnitKey]:
    marks = frozenset(map(key_of_mark, node.get("marks", [])))
    if "text" in node:
        return zip(node["text"], repeat(marks))
    return iter([(fingerprint({key: value for key, value in node.items() if key != "marks"}), marks)])  # type: ignore[arg-type]


def map_source(content: str, surroundings: Surroundings) -> SourceMap:
    """
    The map of the *content* of an `inline` token.

    surroundings: of the page.

    Raises:
        PARSER_ERRORS: of `work_limit`; also for markup of which the places are not known.
    """
    tokens, spans = parse_inline(content, surroundings)
    try:
        runs = list(read_runs(tokens))
    except NotInSchemaError:
        atom = normalize(raw_inline(content))
        return SourceMap(content, [*_keys_of(atom)], [0], [len(content)], [()])
    builder = _MapBuilder(SourceMap(content), tokens, spans)
    for run in runs:
        builder.add_run(run)
    return builder.finish()


def map_plain_text(content: str) -> SourceMap:
    """The map of a *content* that is read as itself: each of its characters stands for itself."""
    count, keys = len(content), list(zip(content, repeat(frozenset[str]())))
    return SourceMap(content, keys, list(range(count)), list(range(1, count + 1)), [()] * count)


class _MapBuilder:
    def __init__(self, result: SourceMap, tokens: Sequence[Token], spans: Sequence[Span]) -> None:
        self._map, self._tokens, self._spans = result, tokens, spans
        self._open: list[tuple[Mark, Element]] = []
        self._behind = 0  # the first token after the last run

    def add_run(self, run: Run) -> None:
        is_code = self._tokens[run.start].type == "code_inline"
        marks = run.node.get("marks", [])
        self._change_elements(marks[:-1] if is_code else marks, run.start)
        span = Span(self._spans[run.start].start, self._spans[run.end - 1].end)
        node = run.node if run.node.keys() == _PLAIN_TEXT_KEYS and "\r" not in run.node["text"] else normalize(run.node)
        keys = list(_keys_of(node))
        elements = tuple(element for _, element in self._open)
        if is_code:
            code = self._code_element(self._tokens[run.start], span, len(keys), key_of_mark(marks[-1]))
            elements, span = (*elements, code), code.inside
        starts, ends = _ends_of_units(span, len(keys))
        self._map.starts += starts
        self._map.ends += ends
        self._map.keys += keys
        self._map.elements += [elements] * len(keys)
        self._behind = run.end

    def finish(self) -> SourceMap:
        self._change_elements([], len(self._tokens))
        return self._map

    def _change_elements(self, marks: Sequence[Mark], end: int) -> None:
        """Close and open elements up to the token *end*, where these *marks* are set."""
        pairs = list(zip(self._open, marks, strict=False))
        count = next((at for at, ((mark, _), other) in enumerate(pairs) if mark is not other), len(pairs))
        delimiters = _delimiters(self._tokens[self._behind : end], self._spans[self._behind : end])
        if len(delimiters) != len(self._open) - count + len(marks) - count:
            raise LookupError("delimiters without a mark")
        unit = len(self._map.keys)
        while len(self._open) > count:
            element = self._open.pop()[1]
            closing = delimiters.pop(0)
            element.inside, element.end, element.behind = Span(element.inside.start, closing.start), closing.end, unit
        for mark, opening in zip(marks[count:], delimiters, strict=True):
            key = key_of_mark(normalize({"type": "text", "text": " ", "marks": [mark]}).get("marks", [mark])[0])
            inside = Span(opening.end, opening.end)
            self._open.append((mark, Element(key, opening.start, inside, opening.end, unit, unit)))

    def _code_element(self, token: Token, span: Span, length: int, key: str) -> Element:
        """The element of code: `length` characters between backticks, and perhaps a blank on each side."""
        padding = (len(self._map.content[span.start : span.end]) - 2 * len(token.markup) - length) // 2
        inside = Span(span.start + len(token.markup) + padding, span.end - len(token.markup) - padding)
        first = len(self._map.keys)
        return Element(key, span.start, inside, span.end, first, first + length)


def _delimiters(tokens: Sequence[Token], spans: Sequence[Span]) -> list[Span]:
    """The spans of delimiters; the parser leaves an empty text for the outer half of each double one."""
    result: list[Span] = []
    half: int | None = None
    is_half_closed = False
    for token, span in zip(tokens, spans, strict=True):
        if token.type != "text":
            result.append(Span(span.start if half is None else half, span.end))
            half, is_half_closed = None, token.type == "strong_close"
        elif is_half_closed:
            result[-1], is_half_closed = Span(result[-1].start, span.end), False
        else:
            half = span.start
    return result


def _ends_of_units(span: Span, count: int) -> tuple[Sequence[int], Sequence[int]]:
    """The starts and ends of *count* units: a character each, or all of them for the first, as of an entity."""
    if span.end - span.start == count:
        return range(span.start, span.end), range(span.start + 1, span.end + 1)
    return [span.start, *[span.end] * (count - 1)][:count], [span.end] * count
