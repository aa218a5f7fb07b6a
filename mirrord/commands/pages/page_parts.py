"""Parts of a page: its outline, and ranges of its lines."""

import re
from dataclasses import dataclass

from mirrord.commands.core.failure import invalid_argument
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_writes
from mirrord.markdown.frontmatter.page_text import line_starts
from mirrord.markdown.read.page_outline import sections_of

_LINES = re.compile(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?")


@dataclass(frozen=True, slots=True)
class Heading:
    """
    A heading of a page. line: its number, from 1 on.

    characters: of its section, subsections included.
    """

    level: int
    title: str
    line: int
    characters: int


@dataclass(frozen=True, slots=True)
class PageOutline:
    """The headings of a page in order. digest: of all its bytes, in hex. total_chars, total_lines: of the file."""

    headings: list[Heading]
    path: str
    page_id: str
    digest: str
    total_chars: int
    total_lines: int


def outline_page(session: Session, path: str) -> PageOutline:
    """The headings of a page with the sizes of their sections. Raises Failed, PAGE_NOT_FOUND."""
    page = page_writes.look_up_page(session, path, allow_open=True)
    if page is None:
        raise page_writes.missing_page(session, path)
    numbers = {start: number for number, start in enumerate(line_starts(page.text), 1)}
    headings = [
        Heading(section.level, section.title, numbers[section.start], section.end - section.start)
        for section in sections_of(page.content)
    ]
    entry = str(page_writes.id_of_page(session, page))
    return PageOutline(headings, page.path, entry, page.digest.hex(), len(page.text), count_lines(page.text))


def range_of_lines(text: str, lines: str) -> tuple[int, int]:
    """
    The characters from the first to the last of *lines*, `10-40` or `10`; lines are counted from 1 on.

    Raises Failed, INVALID_LINES, for another form, and for a first line that the text does not have.
    """
    match = _LINES.fullmatch(lines)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    total = count_lines(text)
    if not 0 < first <= last or first > total:
        sentence = f"{lines!r} is no range of lines of this page, which has {total}."
        raise invalid_argument("INVALID_LINES", sentence, 'Give the first and the last line, such as "10-40".')
    starts = line_starts(text)
    return starts[first - 1], starts[min(last, total)]


def count_lines(text: str) -> int:
    """The number of lines; a line ending at the end begins no further one."""
    return len(line_starts(text)) - 1
