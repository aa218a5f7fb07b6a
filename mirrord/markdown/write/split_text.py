"""Sections of a page as texts of their own: headings raised, definitions copied where they are used."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText, first_line_ending
from mirrord.markdown.heading_links import plain_title
from mirrord.markdown.read.page_outline import Section, sections_of
from mirrord.markdown.write.heading_levels import shifted, with_levels
from mirrord.markdown.write.page_edits import put_blocks

_DEFINITION = re.compile(
    r"^ {0,3}\[([^\[\]\r\n]+)\]:[^\r\n]*(?:\r?\n|\Z)(?:(?:[ \t]*\r?\n)*(?: {4}|\t)[^\r\n]*(?:\r?\n|\Z))*", re.MULTILINE
)  # of a footnote or a link


@dataclass(frozen=True, slots=True)
class SplitPart:
    """A section as a text of its own. numbers: of its headings there, by those in the page. block_ids: as in `^id`."""

    title: str
    page: PageText
    numbers: Mapping[int, int]
    block_ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class SplitText:
    """A page without sections, with marks in their places. numbers: of its headings afterwards, by those before."""

    remaining: PageText
    numbers: Mapping[int, int]
    parts: Sequence[SplitPart]


_BLOCK_ID = re.compile(r"(?:^|[ \t])\^([A-Za-z0-9-]+)[ \t]*$", re.MULTILINE)


def split_text(page: PageText, chosen: Sequence[Section]) -> SplitText:
    """
    *page* split into *chosen* sections, which are in order and not within each other, and the rest.

    Raises Damaged if a part by itself would not have the same headings.
    """
    sections = sections_of(page)
    definitions = {match[1].casefold(): (match.start(), match.group()) for match in _DEFINITION.finditer(page.text)}
    parts = [_part_of(page, section, sections, definitions) for section in chosen]
    text = page.text
    for number in reversed(range(len(chosen))):
        text = put_blocks(text, chosen[number].start, chosen[number].end, _mark(number))
    moved = [
        definition for at, definition in definitions.values() if any(each.start <= at < each.end for each in chosen)
    ]
    text = _with_definitions(text, moved)
    moved_numbers = {number for part in parts for number in part.numbers}
    staying = [number for number in range(len(sections)) if number not in moved_numbers]
    remaining = replace(page, text=text)
    _check_titles(remaining, [sections[number] for number in staying])
    return SplitText(remaining, {number: new for new, number in enumerate(staying)}, parts)


def with_marks_replaced(page: PageText, texts: Sequence[str]) -> PageText:
    """*page* with *texts* in the places of the sections that were taken out."""
    text = page.text
    for number, new in enumerate(texts):
        text = text.replace(_mark(number), new, 1)
    return replace(page, text=text)


def _part_of(
    page: PageText, section: Section, sections: Sequence[Section], definitions: Mapping[str, tuple[int, str]]
) -> SplitPart:
    ending = first_line_ending(page.text)
    numbers = [number for number, each in enumerate(sections) if section.start <= each.start < section.end]
    text = page.text[section.start : section.end]
    elsewhere = [source for at, source in definitions.values() if not section.start <= at < section.end]
    full_text = _with_definitions(text.strip("\r\n") + ending, elsewhere)
    levels = shifted({new: sections[number].level for new, number in enumerate(numbers)}, 1)
    part = with_levels(replace(page, text=full_text), levels)
    _check_titles(part, [sections[number] for number in numbers])
    block_ids = frozenset(match[1] for match in _BLOCK_ID.finditer(text))
    return SplitPart(plain_title(section.title), part, {number: new for new, number in enumerate(numbers)}, block_ids)


def _with_definitions(text: str, candidates: Sequence[str]) -> str:
    """*text* with those of *candidates* at its end that it uses and does not define."""
    ending, folded = first_line_ending(text), text.casefold()
    needed = [source for source in candidates if _label_of(source) in _used_labels(folded)]
    if not needed:
        return text
    return f"{text.rstrip()}{ending * 2}{''.join(source.rstrip() + ending for source in needed)}"


def _used_labels(text: str) -> set[str]:
    own_labels = {match[1] for match in _DEFINITION.finditer(text)}
    return set(_labels_in(text)) - own_labels


def _labels_in(text: str) -> Iterator[str]:
    return (match[1] for match in re.finditer(r"\[([^\[\]\r\n]+)\]", text))


def _label_of(definition: str) -> str:
    return definition.lstrip()[1:].partition("]")[0].casefold()


def _check_titles(page: PageText, sections: Sequence[Section]) -> None:
    if [section.title for section in sections_of(page)] != [section.title for section in sections]:
        raise Damaged("a section cannot stand by itself: perhaps it is within a block that is not closed")


def _mark(number: int) -> str:
    return f"\ue000section {number}\ue000"
