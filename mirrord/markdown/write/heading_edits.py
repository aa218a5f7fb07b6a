"""Give a heading another text, and no other byte."""

import re
from collections.abc import Sequence
from dataclasses import replace

from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.page_outline import Section, sections_of

_WITH_MARKS = re.compile(r"([ \t]*#{1,6})(?:([ \t]+)(.*?))?((?:[ \t]+#+)?[ \t]*(?:\r\n|\n|\r)?)")
_UNDERLINED = re.compile(r"([ ]{0,3})(.*?)([ \t]*(?:\r\n|\n|\r)[ ]{0,3}(?:=+|-+)[ \t]*(?:\r\n|\n|\r)?)", re.DOTALL)


def with_heading_text(page: PageText, section: Section, title: str) -> PageText | None:
    """*page* with another text in the heading of *section*; None: no such heading can have it."""
    new = _heading_lines(page.text[section.start : section.content], title)
    if new is None:
        return None
    renamed = replace(page, text=page.text[: section.start] + new + page.text[section.content :])
    expected = [
        (each.level, title if each.start == section.start else each.title, each.start <= section.start)
        for each in sections_of(page)
    ]
    return renamed if _outline(sections_of(renamed), section.start) == expected else None


def _heading_lines(lines: str, title: str) -> str | None:
    if (marked := _WITH_MARKS.fullmatch(lines)) is not None:
        return f"{marked[1]}{marked[2] or ' '}{title}{marked[4]}"
    if (underlined := _UNDERLINED.fullmatch(lines)) is not None:
        return f"{underlined[1]}{title}{underlined[3]}"
    return None


def _outline(sections: Sequence[Section], start: int) -> list[tuple[int, str, bool]]:
    return [(section.level, section.title, section.start <= start) for section in sections]
