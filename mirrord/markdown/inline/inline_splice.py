"""
Change the inside of a paragraph in its source: equal runs keep their characters, only changed ones are written.

Each result is read back; another parser, which knows CommonMark alone, has to see no other change than a text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache
from typing import Any, NamedTuple

from markdown_it import MarkdownIt

from mirrord.markdown.inline.inline_reader import NotInSchemaError, merge_texts, raw_inline, read_runs
from mirrord.markdown.inline.inline_writer import write_inline, write_run
from mirrord.markdown.inline.source_map import Element, SourceMap, Unit, UnitKey, map_source, nodes_of, units_of
from mirrord.markdown.inline.source_style import Style
from mirrord.markdown.parser.dialect import parse_inline
from mirrord.markdown.parser.work_limit import PARSER_ERRORS
from mirrord.markdown.schema.block import count_common_ends
from mirrord.markdown.schema.document import Node
from mirrord.markdown.schema.normal_form import fingerprint, normalize

_MAX_COMPARED_WORDS = 250_000  # pairs of words; longer runs are one change
_MAX_LOOKS_ELSEWHERE = 10_000  # characters of a text that the other parser, whose steps are not counted, looks at
_CODE_KEY = '{"type": "code"}'
_PARTS_OF_HTML = re.compile(r"<[^>]*>|&\w+;|.", re.DOTALL)


class Hunk(NamedTuple):
    """Units that changed: the old ones from start up to end, and the new ones in their place."""

    start: int
    end: int
    new_start: int
    new_end: int


class TextEdit(NamedTuple):
    """The characters from start up to end become *text*."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class InlineSource:
    """
    The inside of a paragraph, a heading or a cell as written.

    references: the definitions of its page. is_one_line: it cannot hold line breaks.
    """

    content: str
    references: Mapping[str, Any]
    style: Style
    is_one_line: bool = False


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


def changed_runs(old: Sequence[UnitKey], new: Sequence[UnitKey]) -> list[Hunk]:
    """The runs of units that differ, as few as the words between them allow."""
    start, end = count_common_ends(old, new)
    middle = Hunk(start, len(old) - end, start, len(new) - end)
    before, after = _words_of(old[middle.start : middle.end]), _words_of(new[middle.new_start : middle.new_end])
    if not before or not after or len(before) * len(after) > _MAX_COMPARED_WORDS:
        return [middle]
    hunks, at, new_at = list[Hunk](), start, start
    for name, first, behind, new_first, new_behind in SequenceMatcher(None, before, after, False).get_opcodes():
        width, new_width = sum(map(len, before[first:behind])), sum(map(len, after[new_first:new_behind]))
        if name != "equal":
            hunks.append(_trimmed(old, new, Hunk(at, at + width, new_at, new_at + new_width)))
        at, new_at = at + width, new_at + new_width
    return hunks


def _words_of(keys: Sequence[UnitKey]) -> list[tuple[UnitKey, ...]]:
    """Runs of letters and digits with the same marks; every other unit by itself."""
    words: list[tuple[UnitKey, ...]] = []
    start = 0
    for at in range(1, len(keys) + 1):
        is_word = at < len(keys) and keys[at][1] == keys[start][1] and _is_letter(keys[at]) and _is_letter(keys[start])
        if not is_word:
            words.append(tuple(keys[start:at]))
            start = at
    return words


def _is_letter(key: UnitKey) -> bool:
    return len(key[0]) == 1 and key[0].isalnum()


def _trimmed(old: Sequence[UnitKey], new: Sequence[UnitKey], hunk: Hunk) -> Hunk:
    """*hunk* without the units that both of its sides begin or end with."""
    start, end = count_common_ends(old[hunk.start : hunk.end], new[hunk.new_start : hunk.new_end])
    return Hunk(hunk.start + start, hunk.end - end, hunk.new_start + start, hunk.new_end - end)


def _verified_edits(source: InlineSource, old: Sequence[Node], new: Sequence[Node]) -> Iterator[list[TextEdit]]:
    """Edits that are read back as *new*; first those of which every parser sees a text change only."""
    splice = _open_splice(source, old, new)
    if splice is None:
        return
    doubtful, tried = list[list[TextEdit]](), {source.content}
    for hunks in splice.ladder():
        for is_wary in (False, True):
            edits = splice.edits_of(hunks, is_wary)
            result = apply_edits(source.content, edits)
            if result in tried:
                continue
            tried.add(result)
            if not splice.is_read_back(result):
                continue
            if splice.is_text_alone(hunks) and not _is_text_change(source, result):
                doubtful.append(edits)
            else:
                yield edits
    yield from doubtful


def _open_splice(source: InlineSource, old: Sequence[Node], new: Sequence[Node]) -> "_Splice | None":
    """The splice, without what both contents begin with and *source* has not: the box of a task."""
    source_map = map_source(source.content, source.references)
    old_units, new_units = units_of(old), units_of(new)
    old_keys = [unit.key for unit in old_units]
    box = len(old_keys) - len(source_map.keys)
    new_keys = [unit.key for unit in new_units]
    if box < 0 or old_keys[box:] != source_map.keys or old_keys[:box] != new_keys[:box] or old_keys == new_keys:
        return None
    return _Splice(source, source_map, new_units[box:])


class _Splice:
    """A change of *source* that makes it mean *units*."""

    def __init__(self, source: InlineSource, source_map: SourceMap, units: Sequence[Unit]) -> None:
        self._source, self._map, self._units = source, source_map, units
        self._new_keys = [unit.key for unit in units]
        self._meaning = _meaning_of(nodes_of(units, frozenset()))

    def ladder(self) -> Iterator[list[Hunk]]:
        """The changed runs, then ever wider ones."""
        hunks = changed_runs(self._map.keys, self._new_keys)
        yield hunks
        first, last = hunks[0], hunks[-1]
        if len(hunks) > 1:
            yield [Hunk(first.start, last.end, first.new_start, last.new_end)]
        yield [Hunk(0, len(self._map.keys), 0, len(self._units))]

    def edits_of(self, hunks: Sequence[Hunk], is_wary: bool) -> list[TextEdit]:
        """The edits for *hunks*; none if two of them need the same markup."""
        edits: list[TextEdit] = []
        for hunk in hunks:
            wide, elements = self._balanced(hunk)
            edit = self._edit_of(wide, elements, is_wary)
            if edits and edits[-1].end > edit.start:
                return []
            edits.append(edit)
        return edits

    def is_read_back(self, result: str) -> bool:
        """Whether *result* means the wanted units."""
        tokens, _ = parse_inline(result, self._source.references)
        try:
            nodes = merge_texts([run.node for run in read_runs(tokens)])
        except NotInSchemaError:
            nodes = [raw_inline(result)]
        return _meaning_of(nodes) == self._meaning

    def is_text_alone(self, hunks: Sequence[Hunk]) -> bool:
        """Whether a single run of text with the same marks becomes another one."""
        if len(hunks) != 1:
            return False
        hunk = hunks[0]
        keys = [*self._map.keys[hunk.start : hunk.end], *self._new_keys[hunk.new_start : hunk.new_end]]
        return len({marks for _, marks in keys}) == 1 and all(len(value) == 1 for value, _ in keys)

    def _balanced(self, hunk: Hunk) -> tuple[Hunk, tuple[Element, ...]]:
        """*hunk* widened to complete elements, and the elements around it that stay."""
        if hunk.start == hunk.end:
            return hunk, ()
        start, end, new_start, new_end = hunk
        marks = [key[1] for key in self._new_keys[new_start:new_end]]
        shared = self._shared(start, end)
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

    def _edit_of(self, hunk: Hunk, elements: tuple[Element, ...], is_wary: bool) -> TextEdit:
        units = self._units[hunk.new_start : hunk.new_end]
        if hunk.start == hunk.end:
            start, elements = self._place_of(hunk.start, units)
            end = start
        else:
            start, end = self._outer_start(hunk.start, elements), self._outer_end(hunk.end - 1, elements)
        keys = frozenset(element.key for element in elements)
        content = nodes_of(units, keys)
        if _CODE_KEY in keys:
            return TextEdit(start, end, "".join(node.get("text", "") for node in content))
        return TextEdit(start, end, self._write(content, start, end, is_wary))

    def _place_of(self, unit: int, units: Sequence[Unit]) -> tuple[int, tuple[Element, ...]]:
        """The place before a *unit* where most marks of the new *units* are set, and no other."""
        marks = frozenset.intersection(*(each.key[1] for each in units))
        places = [seam for seam in self._map.seams(unit) if marks.issuperset(element.key for element in seam[1])]
        return max(places, key=lambda seam: len(seam[1]), default=(self._map.seams(unit)[0][0], ()))

    def _outer_start(self, unit: int, elements: Sequence[Element]) -> int:
        around = self._map.elements[unit]
        return around[len(elements)].start if len(around) > len(elements) else self._map.spans[unit].start

    def _outer_end(self, unit: int, elements: Sequence[Element]) -> int:
        around = self._map.elements[unit]
        return around[len(elements)].end if len(around) > len(elements) else self._map.spans[unit].end

    def _write(self, content: Sequence[Node], start: int, end: int, is_wary: bool) -> str:
        source = self._source
        style = replace(source.style, wary=True) if is_wary else source.style
        if (start, end) == (0, len(source.content)):
            return write_inline(content, style, one_line=source.is_one_line)
        edges = source.content[:start], source.content[end:]
        return write_run(content, style, edges, one_line=source.is_one_line)


def _meaning_of(content: Sequence[Node]) -> str:
    return fingerprint(normalize({"type": "paragraph", "content": list(content)}))


@cache
def _plain_parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("strikethrough")


def _is_text_change(source: InlineSource, result: str) -> bool:
    """Whether a parser that knows CommonMark alone sees other text in *result*, and the same markup."""
    if len(result) > _MAX_LOOKS_ELSEWHERE:
        return True
    before, after = (
        _PARTS_OF_HTML.findall(_plain_parser().renderInline(text, {"references": dict(source.references)}))
        for text in (source.content, result)
    )
    start, end = count_common_ends(before, after)
    return not any(
        part.startswith("<") for part in [*before[start : len(before) - end], *after[start : len(after) - end]]
    )
