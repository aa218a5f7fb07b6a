"""Give headings other levels, so that sections fit where they go."""

import re
from collections.abc import Mapping
from dataclasses import replace

from mirrord.markdown.frontmatter.page_text import PageText, first_line_ending
from mirrord.markdown.read.page_outline import Section, sections_of

MAX_LEVEL = 6
_MARKS = re.compile(r"([ \t]*)#{1,6}(?=[ \t\r\n]|$)")


def with_levels(page: PageText, levels: Mapping[int, int]) -> PageText:
    """*page* with new levels of headings, by their number; from 1 to MAX_LEVEL."""
    text, ending, pieces, at = page.text, first_line_ending(page.text), list[str](), 0
    for number, section in enumerate(sections_of(page)):
        level = levels.get(number, section.level)
        if level != section.level:
            pieces += [text[at : section.start], _with_level(text, section, level, ending)]
            at = section.content
    return replace(page, text="".join([*pieces, text[at:]])) if pieces else page


def shifted(levels: Mapping[int, int], top: int) -> dict[int, int]:
    """*levels* by number, lowered or raised together so that the topmost is *top*; none below MAX_LEVEL."""
    shift = top - min(levels.values(), default=top)
    return {number: min(level + shift, MAX_LEVEL) for number, level in levels.items()}


def _with_level(text: str, section: Section, level: int, ending: str) -> str:
    lines = text[section.start : section.content]
    if _MARKS.match(lines):
        return _MARKS.sub(lambda match: f"{match[1]}{'#' * level}", lines, count=1)
    return f"{'#' * level} {section.title}{ending}"  # it was underlined
