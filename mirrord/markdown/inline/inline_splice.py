"""
Change the inside of a paragraph in its source: equal runs keep their characters, only changed ones are written.

Each result is read back; another parser, which knows CommonMark alone, has to see no other change than a text.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from typing import NamedTuple

from markdown_it import MarkdownIt

from mirrord.markdown.inline.inline_reader import NotInSchemaError, merge_texts, raw_inline, read_runs
from mirrord.markdown.inline.inline_writer import write_inline, write_run
from mirrord.markdown.inline.source_map import (
    Element,
    SourceMap,
    Units,
    keys_of,
    map_plain_text,
    map_source,
    nodes_of,
    units_of,
)
from mirrord.markdown.inline.source_style import Style
from mirrord.markdown.inline.unit_diff import Hunk, changed_runs
from mirrord.markdown.parser.dialect import Surroundings, parse_inline
from mirrord.markdown.parser.work_limit import PARSER_ERRORS
from mirrord.markdown.schema.document import Node, parse_json_or_none, text_node
from mirrord.markdown.schema.normal_form import fingerprint, normalize

_MAX_LOOKS_ELSEWHERE = 10_000  # characters of a text that the other parser, whose steps are not counted, looks at
_CODE_KEY = '{"type": "code"}'
_TAG = re.compile(r"<[^>]*>")
_MARKUP = re.compile(r"[*_`~\[<\\]|  \n")  # what CommonMark and strikethrough need for any tag in a line
_NOT_TEXT = re.compile(r"[<&]|!\[|\]\(")  # what letters behind it may belong to
_SIMPLE_ADDRESS = re.compile(r"\]\([^()\[\]!\s\"'<>\\]*\)")
_SIGN = re.compile(r"[^\w \n.,:?%+=/-]|_|  ")  # and characters that are no letters, which might be signs
_IMAGE_BY_LABEL = re.compile(r"!\[([^\[\]\\]+)\](?:\[([^\[\]\\]*)\])?")
_END_OF_DESCRIPTION = re.compile(r"(?<!\\)\]\(")


class TextEdit(NamedTuple):
    """The characters from start up to end become *text*."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class _Attempt:
    """
    What is to be written.

    with_labels: links by the label that was their text get it behind the new one. is_outermost: complete marks.
    """

    hunks: Sequence[Hunk]
    with_labels: bool = False
    is_outermost: bool = False


@dataclass(frozen=True, slots=True)
class InlineSource:
    """
    The inside of a paragraph, a heading or a cell as written.

    surroundings: of its page. is_one_line: it cannot hold line breaks. is_read_later: with its page, so not alone.
    """

    content: str
    surroundings: Surroundings
    style: Style
    is_one_line: bool = False
    is_read_later: bool = False


def splice_inline(source: InlineSource, old: Sequence[Node], new: Sequence[Node]) -> list[TextEdit]:
    """
    The edits that turn *source*, which was read as the normal content *old*, into the normal content *new*.

    They are in order and apart. None if *source* means something else, or no edits of it mean *new*.
    """
    try:
        return next(_verified_edits(source, old, new), [])
    except PARSER_ERRORS:
        return []


def apply_edits(content: str, edits: Sequence[TextEdit]) -> str:
    """*content* with *edits*, which are in order and apart."""
    for start, end, text in reversed(edits):
        content = content[:start] + text + content[end:]
    return content


def _verified_edits(source: InlineSource, old: Sequence[Node], new: Sequence[Node]) -> Iterator[list[TextEdit]]:
    """Edits that are read back as *new*; first those of which every parser sees a text change only."""
    splice = _open_splice(source, old, new)
    if splice is None:
        return
    doubtful, tried = list[list[TextEdit]](), {source.content}
    for attempt, is_wary in product(splice.attempts(), (False, True)):
        edits = splice.edits_of(attempt, is_wary)
        result = apply_edits(source.content, edits)
        if result in tried:
            continue
        tried.add(result)
        if not source.is_read_later and not splice.is_read_back(result):
            continue
        if splice.is_text_alone(attempt.hunks) and not _is_text_change(source, edits, result):
            doubtful.append(edits)
        else:
            yield edits
    yield from doubtful


def _open_splice(source: InlineSource, old: Sequence[Node], new: Sequence[Node]) -> "_Splice | None":
    """The splice, without what both contents begin with and *source* has not: the box of a task."""
    is_plain = list(old) == [text_node(source.content)]  # markup is longer than what it stands for
    source_map = map_plain_text(source.content) if is_plain else map_source(source.content, source.surroundings)
    new_units, old_keys = units_of(new), keys_of(old)
    for box in (0, 1, 2) if old_keys != new_units.keys else ():
        fitted = source_map.fitted_to(old_keys[box:]) if old_keys[:box] == new_units.keys[:box] else None
        if fitted:
            return _Splice(source, fitted, new_units.between(box, len(new_units.keys)))
    return None


class _Splice:
    """A change of *source* that makes it mean *units*."""

    def __init__(self, source: InlineSource, source_map: SourceMap, units: Units) -> None:
        self._source, self._map, self._units = source, source_map, units
        self._new_keys = units.keys

    def attempts(self) -> Iterator[_Attempt]:
        """The changed runs, then ever more."""
        hunks = changed_runs(self._map.keys, self._new_keys)
        joined = [Hunk(hunks[0].start, hunks[-1].end, hunks[0].new_start, hunks[-1].new_end)]
        yield _Attempt(hunks)
        yield _Attempt(hunks, with_labels=True)
        yield _Attempt(joined)
        yield _Attempt(joined, with_labels=True)
        yield _Attempt(hunks, is_outermost=True)
        yield _Attempt(joined, is_outermost=True)
        yield _Attempt([Hunk(0, len(self._map.keys), 0, len(self._new_keys))])

    def edits_of(self, attempt: _Attempt, is_wary: bool) -> list[TextEdit]:
        """The edits for an attempt; none if two of them need the same markup."""
        edits: list[TextEdit] = []
        for hunk in attempt.hunks:
            wide, elements = self._balanced(hunk, attempt.is_outermost)
            if wide.start == wide.end:
                start, elements = self._place_of(wide, attempt.is_outermost)
                end = start
            else:
                start, end = self._outer_start(wide.start, elements), self._outer_end(wide.end - 1, elements)
            text = self._text_of(wide, elements, (start, end), is_wary)
            added = [TextEdit(start, end, self._with_label(wide, self._source.content[start:end], text) or text)]
            added += self._labels(elements) if attempt.with_labels else []
            if edits and edits[-1].end > start:
                return []
            edits += added
        return edits

    def _with_label(self, hunk: Hunk, before: str, text: str) -> str:
        """The image *text* by the label of *before*, which only its description differs from; else none."""
        match = _IMAGE_BY_LABEL.fullmatch(before)
        if match is None or (hunk.end - hunk.start, hunk.new_end - hunk.new_start) != (1, 1):
            return ""
        (old, marks), (new, new_marks) = self._map.keys[hunk.start], self._new_keys[hunk.new_start]
        if marks != new_marks or not _is_redescribed(old, new):
            return ""
        end = _END_OF_DESCRIPTION.search(text)
        return f"{text[: end.start()]}][{match[2] or match[1]}]" if end else ""

    def _labels(self, elements: Sequence[Element]) -> Iterator[TextEdit]:
        """The label of a link that was its text, written after it: `[text]` becomes `[new][text]`."""
        content = self._source.content
        for element in elements:
            if content[element.start] == "[" and content[element.inside.end : element.end] in ("]", "][]"):
                label = content[element.inside.start : element.inside.end]
                yield TextEdit(element.inside.end, element.end, f"][{label}]")

    def is_read_back(self, result: str) -> bool:
        """Whether *result* means the wanted units."""
        tokens, _ = parse_inline(result, self._source.surroundings)
        try:
            nodes = merge_texts([run.node for run in read_runs(tokens)])
        except NotInSchemaError:
            nodes = [raw_inline(result)]
        return keys_of(nodes) == self._new_keys or _meaning_of(nodes) == self._meaning

    @cached_property
    def _meaning(self) -> str:
        return _meaning_of(nodes_of(self._units, frozenset()))

    def is_text_alone(self, hunks: Sequence[Hunk]) -> bool:
        """Whether in each of *hunks* a text becomes another one with the same marks."""
        return all(self._is_text(hunk) for hunk in hunks)

    def _is_text(self, hunk: Hunk) -> bool:
        keys = [*self._map.keys[hunk.start : hunk.end], *self._new_keys[hunk.new_start : hunk.new_end]]
        return len({marks for _, marks in keys}) == 1 and all(len(value) == 1 for value, _ in keys)

    def _balanced(self, hunk: Hunk, is_outermost: bool) -> tuple[Hunk, tuple[Element, ...]]:
        """*hunk* widened to complete elements, and the elements around it that stay: none if *is_outermost*."""
        if hunk.start == hunk.end:
            return hunk, ()
        start, end, new_start, new_end = hunk
        marks = [key[1] for key in self._new_keys[new_start:new_end]]
        shared = () if is_outermost else self._shared(start, end)
        while shared and not self._stays(shared[-1], hunk, marks):
            shared = shared[:-1]
        while True:
            inner = [around[len(shared)] for around in self._map.elements[start:end] if len(around) > len(shared)]
            first, behind = min([start, *(each.first for each in inner)]), max([end, *(each.behind for each in inner)])
            if (first, behind) == (start, end):
                return Hunk(start, end, new_start, new_end), shared
            new_start, new_end = new_start - (start - first), new_end + (behind - end)
            start, end = first, behind

    def _shared(self, start: int, end: int) -> tuple[Element, ...]:
        """The elements around all units from *start* up to *end*."""
        shared = self._map.elements[start]
        return tuple(element for element in shared if element.behind >= end)

    def _stays(self, element: Element, hunk: Hunk, marks: Sequence[frozenset[str]]) -> bool:
        """Whether *element* goes on around the new units, and around at least one unit."""
        if not marks:
            return element.first < hunk.start or element.behind > hunk.end
        return all(element.key in each for each in marks)

    def _text_of(self, hunk: Hunk, elements: Sequence[Element], span: tuple[int, int], is_wary: bool) -> str:
        """The Markdown of the new units of *hunk* that takes the place of *span* within *elements*."""
        keys = frozenset(element.key for element in elements)
        content = nodes_of(self._units.between(hunk.new_start, hunk.new_end), keys)
        if _CODE_KEY in keys:
            return "".join(node.get("text", "") for node in content)
        return self._write(content, *span, is_wary)

    def _place_of(self, hunk: Hunk, is_outermost: bool) -> tuple[int, tuple[Element, ...]]:
        """The place before a unit where most marks of the new units of *hunk* are set, and no other."""
        marks = frozenset.intersection(*(marks for _, marks in self._new_keys[hunk.new_start : hunk.new_end]))
        marks = frozenset() if is_outermost else marks
        seams = self._map.seams(hunk.start)
        places = [seam for seam in seams if marks.issuperset(element.key for element in seam[1])]
        return max(places, key=lambda seam: len(seam[1]), default=(seams[0][0], ()))

    def _outer_start(self, unit: int, elements: Sequence[Element]) -> int:
        around = self._map.elements[unit]
        return around[len(elements)].start if len(around) > len(elements) else self._map.starts[unit]

    def _outer_end(self, unit: int, elements: Sequence[Element]) -> int:
        around = self._map.elements[unit]
        return around[len(elements)].end if len(around) > len(elements) else self._map.ends[unit]

    def _write(self, content: Sequence[Node], start: int, end: int, is_wary: bool) -> str:
        source = self._source
        style = replace(source.style, wary=True) if is_wary else source.style
        if (start, end) == (0, len(source.content)):
            return write_inline(content, style, one_line=source.is_one_line)
        edges = source.content[:start], source.content[end:]
        return write_run(content, style, edges, one_line=source.is_one_line)


def _is_redescribed(old: str, new: str) -> bool:
    """Whether two units are images that differ in their descriptions only."""
    nodes = [parse_json_or_none(unit) for unit in (old, new)]
    images = [node for node in nodes if isinstance(node, dict) and node.get("type") == "image"]
    attributes = [dict(image.get("attrs") or {}, alt="") for image in images]
    return len(images) == 2 and attributes[0] == attributes[1]


def _meaning_of(content: Sequence[Node]) -> str:
    return fingerprint(normalize({"type": "paragraph", "content": list(content)}))


def may_touch_markup(source: InlineSource, edits: Sequence[TextEdit]) -> bool:
    """Whether an edit may be at a sign, or inside of what could be a label, an address, a tag or an entity."""
    content = source.content
    above = _SIMPLE_ADDRESS.sub("]", content[: edits[-1].start])
    if source.surroundings.references or _NOT_TEXT.search(above):
        return True
    return any(
        _SIGN.search(content[max(start - 2, 0) : end + 2])
        or _SIGN.search(content[max(start - 2, 0) : start] + text + content[end : end + 2])
        for start, end, text in edits
    )


@cache
def _plain_parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("strikethrough")


def _is_text_change(source: InlineSource, edits: Sequence[TextEdit], result: str) -> bool:
    """Whether a parser that knows CommonMark alone sees the same markup in *result*, around other text."""
    if len(result) > _MAX_LOOKS_ELSEWHERE or not (_MARKUP.search(source.content) or _MARKUP.search(result)):
        return True
    if not may_touch_markup(source, edits):
        return True
    before, after = (
        _TAG.findall(_plain_parser().renderInline(text, {"references": dict(source.surroundings.references)}))
        for text in (source.content, result)
    )
    return before == after
